package handover

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

const controller = "github.com/aws/karpenter-provider-aws/cmd/controller"

// build compiles a package into a folder of the test's own.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(pkg))
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, pkg)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// karpenter is Karpenter's controller, which runs with the rights of the account's root and of the cluster's administrator.
type karpenter struct {
	binary  string
	stack   *stack.Stack
	process *child.Process
	runs    int
}

// start starts the controller, and waits until it leads.
func (k *karpenter) start(t *testing.T) {
	t.Helper()
	k.runs++
	credentials, err := k.stack.Cloud.Config().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(k.stack.Dir(), "logs", fmt.Sprintf("karpenter-%d.log", k.runs))
	env := append(os.Environ(),
		"KUBECONFIG="+k.stack.Kube.KubeconfigPath(), "CLUSTER_NAME="+k.stack.Options.Cluster, "SYSTEM_NAMESPACE=kube-system", "LEADER_ELECTION_NAMESPACE=kube-system",
		fmt.Sprintf("METRICS_PORT=%d", freePort(t)), fmt.Sprintf("HEALTH_PROBE_PORT=%d", freePort(t)), "EKS_CONTROL_PLANE=true",
		"AWS_REGION="+k.stack.Cloud.Region(), "AWS_ENDPOINT_URL="+k.stack.Cloud.Endpoint(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_ACCESS_KEY_ID="+credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+credentials.SecretAccessKey)
	if k.process, err = child.Start(child.Spec{Name: "karpenter", Path: k.binary, Env: env, LogPath: log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.process.Kill)
	t.Cleanup(func() {
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			t.Logf("the last Karpenter said:\n%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	})
	await(t, 3*time.Minute, "Karpenter leads", func(ctx context.Context) string {
		select {
		case <-k.process.Done():
			t.Fatalf("Karpenter ended: %v", k.process.Err())
		default:
		}
		holder, said, err := k.stack.Kube.Kubectl(ctx, nil, "get", "lease", "karpenter-leader-election", "-n", "kube-system", "-o", "jsonpath={.spec.holderIdentity}")
		if err != nil || strings.TrimSpace(holder) == "" {
			return fmt.Sprintf("no leader: %v %s", err, said)
		}
		return ""
	})
}

// stop ends the controller as a Deployment that is scaled to 0 does. It gives its lease up.
func (k *karpenter) stop(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(k.process.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-k.process.Done():
	case <-time.After(time.Minute):
		t.Fatal("Karpenter does not end")
	}
}

// await waits until a condition is empty.
func await(t *testing.T, within time.Duration, what string, condition func(ctx context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for {
		why := condition(ctx)
		if why == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s: %s", within, what, why)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
