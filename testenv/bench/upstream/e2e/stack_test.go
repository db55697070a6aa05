package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a shell script that stands in for testenv/test/up.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "up")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStackSaysWhereEverythingIs(t *testing.T) {
	dir := t.TempDir()
	log, args := filepath.Join(dir, "log"), filepath.Join(dir, "args")
	up := program(t, `echo "$@" >`+args+`
trap 'echo stopping; exit 0' TERM
echo "starting"
echo '{"kubeconfig": "/there", "cluster": "shop", "notices": "http://127.0.0.1:1/123456789012/notices"}'
while true; do sleep 0.1; done
`)
	s, err := StartStack(t.Context(), up, dir, filepath.Join(dir, "stack"), log, Setup{Settings: []string{"JOINER_MIN_VALUES_POLICY=BestEffort"}, Addons: []string{"vpc-cni"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.Place.Kubeconfig != "/there" || s.Place.Cluster != "shop" {
		t.Errorf("it is at %+v", s.Place)
	}
	env := strings.Join(s.Place.Environment(), "\n")
	if !strings.Contains(env, "\nKUBECONFIG=/there\n") || !strings.Contains(env, "\nINTERRUPTION_QUEUE=notices\n") {
		t.Errorf("suites are told %s", env)
	}
	said, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{"-empty", "-set JOINER_MIN_VALUES_POLICY=BestEffort", "-addon vpc-cni"}, Settings...) {
		if !strings.Contains(string(said), want) {
			t.Errorf("it was started with %s, without %s", said, want)
		}
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "starting\n") || !strings.Contains(string(text), "stopping\n") {
		t.Errorf("its log is %q (%v)", text, err)
	}
}

func TestStackThatDoesNotStartIsAnError(t *testing.T) {
	dir := t.TempDir()
	_, err := StartStack(t.Context(), program(t, "echo no room; exit 1\n"), dir, filepath.Join(dir, "stack"), filepath.Join(dir, "log"), Setup{})
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") {
		t.Errorf("error is %v", err)
	}
}
