package console

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

func TestMain(m *testing.M) { os.Exit(kube.Alone(m.Run)) }

// browser returns what scripts of browser/ need. Where it is not there the test is skipped, unless JOINER_BROWSER says that it must be.
func browser(t *testing.T) (chromium string) {
	t.Helper()
	lacks := func(what string) {
		if os.Getenv("JOINER_BROWSER") != "" {
			t.Fatalf("%s; make console-test installs it where it can", what)
		}
		t.Skipf("NOT TRIED in a browser: %s; make console-test installs it where it can", what)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		lacks("there is no node")
	}
	if _, err := os.Stat("browser/node_modules/playwright-core"); err != nil {
		lacks("Playwright is not installed in testenv/test/console/browser")
	}
	if chromium == "" {
		lacks("there is no chromium")
	}
	return chromium
}

// script prepares node for a script of browser/.
func script(ctx context.Context, chromium, url string, args []string, env ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "node", args...)
	command.Dir = "browser"
	command.Env = append(append(os.Environ(), "CHROMIUM="+chromium, "CONSOLE_URL="+url), env...)
	return command
}

// started is a console that ends with the test.
func started(t *testing.T, args ...string) *Console {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, err := Start(ctx, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// TestThePageOfFiles: what the page says of a cluster given as files, by pointer and by keys alone, in both themes, on a desk and on a
// telephone; nothing is loaded from elsewhere, and WCAG 2.1 AA holds as far as axe can tell.
func TestThePageOfFiles(t *testing.T) {
	chromium := browser(t)
	c := started(t, "-f", "../../../cmd/joiner/testdata/night", "--now", "2026-03-01T02:00:00Z")
	args := []string{"--test", "--test-concurrency=1", "--test-reporter=spec", "files.test.mjs", "glance.test.mjs"}
	out, err := script(t.Context(), chromium, c.URL, args).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheMainJobIsSeen: pods that wait, nodes on their way, pods bound, and the decision opened and made once more, byte for byte; against
// the real control plane and functions.
func TestTheMainJobIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	chromium := browser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{Cluster: "joiner-demo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := started(t, "--testenv", s.Cloud.Endpoint(), "--every", "250ms")
	if err := s.Kube.Apply(ctx, examples.NodePool, examples.Inflate); err != nil {
		t.Fatal(err)
	}
	const pods = 20
	failed := filepath.Join(t.TempDir(), "failed.png")
	run := script(ctx, chromium, c.URL, []string{"mainjob.mjs"}, fmt.Sprint("PODS=", pods), "FAILED="+failed)
	said, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	run.Stderr = &errs
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	done := false
	for lines := bufio.NewScanner(said); lines.Scan(); {
		switch line := strings.TrimSpace(lines.Text()); line {
		case "scale":
			if err := scale(ctx, s, pods); err != nil {
				t.Error(err)
			}
		case "done":
			done = true
		}
	}
	if err := errors.Join(run.Wait(), ctx.Err()); err != nil || !done {
		if picture, err := os.ReadFile(failed); err == nil {
			kept := filepath.Join(os.TempDir(), "joiner-console-failed.png")
			if err := os.WriteFile(kept, picture, 0o600); err == nil {
				t.Logf("the page as it was: %s", kept)
			}
		}
		t.Fatalf("%v\n%s", err, errs.String())
	}
}

func scale(ctx context.Context, s *stack.Stack, pods int32) error {
	client, err := kubernetes.NewForConfig(s.Kube.Config())
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "inflate", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: pods}}
	_, err = client.AppsV1().Deployments("default").UpdateScale(ctx, "inflate", scale, metav1.UpdateOptions{})
	return err
}
