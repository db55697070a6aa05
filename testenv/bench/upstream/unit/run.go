package unit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// Options say what is run.
type Options struct {
	Home   string    // the folder of testenv/bench/upstream
	Cache  string    // what is made goes below it
	Suites []string  // folders below Karpenter's pkg/controllers
	Focus  string    // a regular expression of specs' full texts, or ""
	Build  bool      // only compile
	Quick  bool      // keep objects in memory instead of in an API server: a look, not a result
	Out    io.Writer // what is going on
}

// Ran is what a run left: for each suite the report of Ginkgo and the questions put to Joiner.
type Ran struct {
	Version string // of Karpenter
	Quick   bool   // objects were in memory
	Suites  []Suite
}

// Suite is a suite that was run.
type Suite struct {
	Name      string
	Report    string // path of Ginkgo's JSON report
	Questions []string
}

// Run compiles the suites with Joiner in and runs them one after the other. Specs that fail are no error.
func Run(ctx context.Context, o Options) (*Ran, error) {
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return nil, err
	}
	var assets kube.Assets
	if !o.Quick {
		var err error
		if assets, err = kube.Binaries(ctx, o.Out); err != nil {
			return nil, err
		}
	}
	binary := filepath.Join(o.Cache, "joiner")
	if err := command(ctx, o, filepath.Join(o.Home, "..", "..", ".."), nil, "go", "build", "-trimpath", "-o", binary, "./cmd/joiner"); err != nil {
		return nil, err
	}
	copied, m, err := tree(ctx, o.Home, o.Cache)
	if err != nil {
		return nil, err
	}
	form := ""
	if o.Quick {
		form = "quick-"
	}
	replaced := filepath.Join(o.Cache, form+"overlay")
	if err := os.MkdirAll(replaced, 0o755); err != nil {
		return nil, err
	}
	over, err := overlay(o.Home, copied, replaced, o.Quick)
	if err != nil {
		return nil, err
	}
	ran := &Ran{Version: m.Version, Quick: o.Quick}
	for _, name := range o.Suites {
		fmt.Fprintln(o.Out, "suite", name)
		test := filepath.Join(o.Cache, form+strings.ReplaceAll(name, "/", "-")+".test")
		compile := []string{"test", "-vet=off", "-trimpath", "-overlay", over, "-c", "-o", test, "./" + folder(name)}
		if err := command(ctx, o, copied, nil, "go", compile...); err != nil {
			return nil, err
		}
		if o.Build {
			continue
		}
		trace := filepath.Join(o.Cache, form+"trace", strings.ReplaceAll(name, "/", "-"))
		if err := errors.Join(os.RemoveAll(trace), os.MkdirAll(trace, 0o755)); err != nil {
			return nil, err
		}
		suite := Suite{Name: name, Report: filepath.Join(trace, "report.json")}
		args := []string{"-test.timeout=2h", "--ginkgo.json-report=" + suite.Report, "--ginkgo.succinct", "--ginkgo.no-color", "--ginkgo.seed=1"}
		if o.Focus != "" {
			args = append(args, "--ginkgo.focus="+o.Focus)
		}
		output, err := os.Create(filepath.Join(trace, "output.txt"))
		if err != nil {
			return nil, err
		}
		run := exec.CommandContext(ctx, test, args...)
		run.Dir = filepath.Join(copied, filepath.FromSlash(folder(name)))
		run.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+filepath.Dir(assets.APIServer), "JOINER_BIN="+binary, "JOINER_UPSTREAM_TRACE="+trace)
		run.Stdout, run.Stderr = output, output
		ended := run.Run()
		if err := output.Close(); err != nil {
			return nil, err
		}
		if failed := new(exec.ExitError); ended != nil && !errors.As(ended, &failed) {
			return nil, ended
		}
		if suite.Questions, err = filepath.Glob(filepath.Join(trace, "questions-*.jsonl")); err != nil {
			return nil, err
		}
		if _, err := os.Stat(suite.Report); err != nil {
			return nil, fmt.Errorf("suite %s did not come to its end, see %s: %w", name, output.Name(), ended)
		}
		ran.Suites = append(ran.Suites, suite)
	}
	if o.Build {
		return ran, nil
	}
	text, err := json.MarshalIndent(ran, "", "  ")
	if err != nil {
		return nil, err
	}
	return ran, os.WriteFile(filepath.Join(o.Cache, form+"ran.json"), text, 0o644)
}

// Last returns what the run before left.
func Last(o Options) (*Ran, error) {
	form := ""
	if o.Quick {
		form = "quick-"
	}
	text, err := os.ReadFile(filepath.Join(o.Cache, form+"ran.json"))
	if err != nil {
		return nil, err
	}
	ran := new(Ran)
	return ran, json.Unmarshal(text, ran)
}

func command(ctx context.Context, o Options, dir string, env []string, name string, args ...string) error {
	run := exec.CommandContext(ctx, name, args...)
	run.Dir, run.Stdout, run.Stderr = dir, o.Out, o.Out
	run.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if err := run.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
