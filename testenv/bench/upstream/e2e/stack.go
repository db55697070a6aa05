package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Place is where everything of a stack is, as `go run ./testenv/test/up -empty` says.
type Place struct {
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
	Endpoint   string `json:"endpoint"`
	Region     string `json:"region"`
	AccessKey  string `json:"accessKey"`
	SecretKey  string `json:"secretKey"`
	Cluster    string `json:"cluster"`
	APIServer  string `json:"apiServer"`
	Notices    string `json:"notices"` // URL of the queue of what EventBridge tells
	Logs       string `json:"logs"`
	Audit      string `json:"audit"` // the API server's audit log, where it writes one
	Types      string `json:"types"` // what Karpenter's kwok provider sells, where that runs

	PID int `json:"-"` // of the program that runs it all
}

// Stack is a running one, a process of the main module: its versions of Kubernetes' libraries are not those of the suites.
type Stack struct {
	Place   Place
	process *exec.Cmd
	ended   chan error
}

// Settings are what the stack is set to. Each is an option of the stacks of infra/cdk. Three stand in for time that the specs do not wait:
// they pretend that a condition of a node is hours old, which Joiner does not believe of a node that is minutes old, and look for 11 and 15
// minutes at what Joiner gives up after 20 and 16.
// The last is a feature gate that the installation of upstream's own runs turns on.
var Settings = []string{"JOINER_REPAIR_AFTER=1m", "JOINER_REPLACE_WITHIN=10m", "JOINER_JOIN_WITHIN=10m",
	"JOINER_SPOT_TO_SPOT=true"}

// StartStack runs the program of testenv/test/up in a folder of its own, as a setup asks for, and returns when everything runs. Its output
// goes to log. project is the main module's folder, of which it builds the functions.
func StartStack(ctx context.Context, program, project, dir, log string, setup Setup) (*Stack, error) {
	args := []string{"-empty", "-dir", dir}
	for _, setting := range Settings {
		args = append(args, "-set", setting)
	}
	return StartProgram(ctx, program, project, log, append(args, setup.arguments()...)...)
}

// StartProgram runs a program that starts everything, writes where it is as a line of JSON (Place), and runs on.
func StartProgram(ctx context.Context, program, project, log string, args ...string) (*Stack, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	cmd := exec.Command(program, args...)
	cmd.Dir = project
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, write), out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the runner, which ends it
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	s := &Stack{process: cmd, ended: make(chan error, 1)}
	go func() {
		s.ended <- cmd.Wait()
		write.Close()
		out.Close()
	}()
	placed := make(chan error, 1)
	go func() {
		lines, found := bufio.NewScanner(read), false
		for lines.Scan() {
			if !found && strings.HasPrefix(lines.Text(), "{") {
				found = true
				placed <- json.Unmarshal(lines.Bytes(), &s.Place)
			}
		}
		if !found {
			placed <- errors.New("it ended before it was ready")
		}
		io.Copy(io.Discard, read) // after a line too long for the scanner
	}()
	select {
	case err = <-placed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("start the stack: %w; %s has what it said", err, log)
	}
	s.Place.PID = cmd.Process.Pid
	return s, nil
}

// Stop ends it and everything it started.
func (s *Stack) Stop() {
	s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		s.process.Process.Kill()
		<-s.ended
	}
}

// Environment is what the suites read from it.
func (p Place) Environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+p.Kubeconfig,
		"CLUSTER_NAME="+p.Cluster, "CLUSTER_ENDPOINT="+p.APIServer,
		"INTERRUPTION_QUEUE="+path.Base(p.Notices),
		"AWS_ENDPOINT_URL="+p.Endpoint, "AWS_REGION="+p.Region, "AWS_ACCESS_KEY_ID="+p.AccessKey, "AWS_SECRET_ACCESS_KEY="+p.SecretKey,
	)
}

// label is on all objects of the suites.
const label = "testing/cluster"

// kubectl returns what a command of kubectl writes: nothing where it fails.
func (p Place) kubectl(ctx context.Context, args ...string) string {
	out, _ := exec.CommandContext(ctx, p.Kubectl, append([]string{"--kubeconfig", p.Kubeconfig}, args...)...).Output()
	return strings.TrimSpace(string(out))
}

// freeClasses deletes the NodePools and NodeClaims of the suites whenever an EC2NodeClass of theirs is being deleted,
// until ctx is done. A KWOKNodeClass goes at once. An EC2NodeClass waits for its NodeClaims, in Karpenter as well.
func (p Place) freeClasses(ctx context.Context) {
	for ctx.Err() == nil {
		if p.kubectl(ctx, "get", "ec2nodeclasses", "-l", label, "-o",
			"jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}") != "" {
			p.kubectl(ctx, "delete", "nodepools,nodeclaims", "-l", label, "--wait=false")
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// Clear deletes what a spec that was given up has left: everything that carries the suites' label, and what holds it.
func (p Place) Clear(ctx context.Context) {
	run := func(args ...string) string { return p.kubectl(ctx, args...) }
	run("delete", "validatingadmissionpolicies,validatingadmissionpolicybindings,deployments,statefulsets,daemonsets,capacitybuffers,podtemplates,poddisruptionbudgets,limitranges,priorityclasses,nodepools,pods,persistentvolumeclaims,storageclasses",
		"-A", "-l", label, "--wait=false", "--force", "--grace-period=0")
	run("delete", "draconfigs.test.karpenter.sh", "--all", "--timeout=1m") // where there are any
	for _, kind := range []string{"nodes", "nodeclaims"} {
		for _, name := range strings.Fields(run("get", kind, "-l", label, "-o", "name")) {
			if strings.Contains(run("get", name, "-o", "jsonpath={.metadata.finalizers}"), "testing/finalizer") {
				run("patch", name, "--type=json", `-p=[{"op": "replace", "path": "/metadata/finalizers", "value": ["karpenter.sh/termination"]}]`)
			}
		}
	}
	run("delete", "nodeclaims,nodes,ec2nodeclasses", "-l", label, "--timeout=2m")
}

// Apply applies a manifest as a person does.
func (p Place) Apply(ctx context.Context, file string) error {
	out, err := exec.CommandContext(ctx, p.Kubectl, "--kubeconfig", p.Kubeconfig, "apply", "--server-side", "-f", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("apply %s: %w: %s", filepath.Base(file), err, strings.TrimSpace(string(out)))
	}
	return nil
}
