package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// driven is a batch of one spec that passes if the driver runs, whose script writes to $STATE where it is.
func driven(t *testing.T, driver, suite string) (b Batch, state string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "state")
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(state); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(served.Close)
	t.Setenv("STATE", state)
	return Batch{
		Suite:   Suite{Name: "core/dra", Driver: Driver{Package: "example.com/driver", Ready: served.URL}},
		Program: suiteProgram(t, suite), Driver: program(t, driver), Description: "S", Specs: []string{"a"},
		Folder: t.TempDir(), Dir: t.TempDir(), Name: "batch", Within: time.Minute,
	}, state
}

func TestADriverRunsBesideItsSpecs(t *testing.T) {
	b, state := driven(t, `trap 'echo ended >"$STATE"; exit 0' TERM
[ "$KUBECONFIG" = /there ] && echo runs >"$STATE"
while true; do sleep 0.1; done
`, `grep -q runs "$STATE" || exit 1`)
	outcomes, err := b.Run(t.Context(), Place{Kubeconfig: "/there"})
	if err != nil || len(outcomes) != 1 || !outcomes[0].Passed {
		t.Fatalf("%+v %v", outcomes, err)
	}
	if text, err := os.ReadFile(state); err != nil || string(text) != "ended\n" {
		t.Errorf("after its specs the driver %q %v", text, err)
	}
	if !b.exclusive() {
		t.Error("two drivers may listen on one port")
	}
}

func TestADriverThatDoesNotStartIsAnError(t *testing.T) {
	b, _ := driven(t, "echo no port; exit 2\n", "")
	outcomes, err := b.Run(t.Context(), Place{})
	if err == nil || !strings.Contains(err.Error(), "before it was ready (exit status 2)") {
		t.Errorf("%+v, error is %v", outcomes, err)
	}
}

// Specs that pass without what they count on prove nothing.
func TestASpecWhoseDriverEndsHasFailed(t *testing.T) {
	b, _ := driven(t, `echo runs >"$STATE"; sleep 0.5; exit 3`, "sleep 2")
	outcomes, err := b.Run(t.Context(), Place{})
	if err != nil || len(outcomes) != 1 || outcomes[0].Passed {
		t.Fatalf("%+v %v", outcomes, err)
	}
	if !strings.Contains(outcomes[0].Failure, "ended by itself (exit status 3)") {
		t.Errorf("it failed because %s", outcomes[0].Failure)
	}
}

func TestASetupHasTypesSold(t *testing.T) {
	got := Setups["kwok"].stack()
	if !strings.Contains(got, "-sell c-4x-amd64-linux=c5.xlarge") || got == Setups[""].stack() {
		t.Errorf("a stack is started with %q", got)
	}
}

// A suite that waits for the end of a NodeClass before it deletes nodes would wait for ever.
func TestNodesOfANodeClassThatIsDeletedGo(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	kubectl := program(t, `case "$*" in
*" get ec2nodeclasses "*) [ -e `+said+` ] || echo default-x;;
*) echo "$@" >>`+said+`;;
esac`)
	b := Batch{
		Suite: Suite{Name: "core/dra", Classes: true}, Description: "S", Specs: []string{"a"}, Folder: t.TempDir(),
		Program: suiteProgram(t, "for i in $(seq 100); do [ -e "+said+" ] && break; sleep 0.1; done"),
		Dir:     t.TempDir(), Name: "batch", Within: time.Minute,
	}
	outcomes, err := b.Run(t.Context(), Place{Kubectl: kubectl, Kubeconfig: "/there"})
	if err != nil || !outcomes[0].Passed {
		t.Fatalf("%+v %v", outcomes, err)
	}
	want := "--kubeconfig /there delete nodepools,nodeclaims -l testing/cluster --wait=false\n"
	if text, err := os.ReadFile(said); err != nil || string(text) != want {
		t.Errorf("kubectl was told %q (%v), want %q", text, err, want)
	}
}
