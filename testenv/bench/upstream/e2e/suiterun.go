package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// List returns all specs of a suite and the text that stands before each where ginkgo chooses. It needs no stack.
func List(ctx context.Context, s Suite, program, dir string) (description string, all []string, err error) {
	report := filepath.Join(dir, "list-"+filepath.Base(program)+".json")
	out, err := exec.CommandContext(ctx, program, "-ginkgo.dry-run", "-ginkgo.json-report="+report).CombinedOutput()
	if err != nil {
		return "", nil, fmt.Errorf("list the specs of %s: %w: %s", s.Name, err, out)
	}
	description, all, _, err = readReport(report, s.Name)
	return description, all, err
}

// Batch is specs of one suite that are run with one setup.
type Batch struct {
	Suite       Suite
	Program     string
	Driver      string // program of the suite's driver, where it has one
	Folder      string // of the suite's package, where it looks for its testdata
	Description string
	Specs       []string
	Setup       Setup
	NodePool    string // path; empty = the suite's own
	NodeClass   string // the same
	Env         []string
	Within      time.Duration
	Dir         string // for its report and what it says
	Name        string // of those files
}

// Run runs a batch against a stack. What specs expect is in the outcomes; an error means that it did not get that far.
func (b Batch) Run(ctx context.Context, p Place) ([]Outcome, error) {
	report := filepath.Join(b.Dir, b.Name+".json")
	os.Remove(report)
	log, err := os.Create(filepath.Join(b.Dir, b.Name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"-test.timeout=0", "-test.v", "-ginkgo.v", "-ginkgo.no-color", "-ginkgo.timeout=" + b.Within.Round(time.Second).String(), "-ginkgo.grace-period=1m", "-ginkgo.seed=1", "-ginkgo.json-report=" + report, "-ginkgo.focus=" + b.focus()}
	if !b.Suite.AWS {
		args = append(args, "-default-nodeclass="+b.NodeClass, "-default-nodepool="+b.NodePool)
	}
	output := filepath.Join(b.Dir, b.Name)
	if err := cmp.Or(os.RemoveAll(output), os.MkdirAll(output, 0o755)); err != nil {
		return nil, err
	}
	if b.Suite.Measures {
		stop, err := p.measure(ctx, output)
		if err != nil {
			return nil, err
		}
		defer stop()
		p.Kubeconfig = filepath.Join(output, "kubeconfig")
	}
	stopDriver, err := b.startDriver(ctx, p, filepath.Join(output, "driver.log"))
	if err != nil {
		return nil, err
	}
	if b.Suite.Classes {
		free, cancel := context.WithCancel(ctx)
		defer cancel()
		go p.freeClasses(free)
	}
	cmd := exec.CommandContext(ctx, b.Program, args...)
	cmd.Dir, cmd.Env = b.Folder, append(append(p.Environment(), "OUTPUT_DIR="+output), b.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Minute
	ran, drove := cmd.Run(), stopDriver()
	_, _, outcomes, err := readReport(report, b.Suite.Name)
	if errors.Is(err, fs.ErrNotExist) && ran != nil && ctx.Err() == nil { // an assertion in a goroutine of its own ends ginkgo
		for _, spec := range b.Specs {
			why := fmt.Sprintf("its process ended without a report (%v); %s has what it said", ran, log.Name())
			outcomes = append(outcomes, Outcome{Suite: b.Suite.Name, Spec: spec, Failure: why})
		}
		return outcomes, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%v); %s has what it said", err, ran, log.Name())
	}
	for i := range outcomes {
		if err := measured(output); b.Suite.Measures && outcomes[i].Passed && err != nil {
			outcomes[i].Passed, outcomes[i].Failure = false, "it measured nothing: "+err.Error()
		}
		if outcomes[i].Passed && drove != nil {
			outcomes[i].Passed, outcomes[i].Failure = false, drove.Error()
		}
	}
	return outcomes, nil
}

// exclusive reports whether no other such batch may run on this machine: these specs start a manager of their own, or
// count on a driver, which listens on fixed ports.
func (b Batch) exclusive() bool {
	manages := func(spec string) bool { return strings.HasPrefix(spec, "Chaos ") }
	return b.Suite.Driver.Package != "" || slices.ContainsFunc(b.Specs, manages)
}

// focus matches the batch's specs and no others.
func (b Batch) focus() string {
	quoted := make([]string, len(b.Specs))
	for i, text := range b.Specs {
		quoted[i] = regexp.QuoteMeta(text)
	}
	return "^" + regexp.QuoteMeta(b.Description) + " (?:" + strings.Join(quoted, "|") + ")$"
}
