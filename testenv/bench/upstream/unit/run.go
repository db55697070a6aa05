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
	"slices"
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
	form := ""
	if o.Quick {
		form = "quick-"
	}
	core, aws, version, err := sources(ctx, o, form)
	if err != nil {
		return nil, err
	}
	ran := &Ran{Version: version, Quick: o.Quick}
	for _, name := range o.Suites {
		fmt.Fprintln(o.Out, "suite", name)
		from := core
		if ofAWS(name) {
			from = aws
		}
		test := filepath.Join(o.Cache, form+strings.ReplaceAll(name, "/", "-")+".test")
		compile := append([]string{"test", "-vet=off", "-trimpath", "-overlay", from.overlay, "-c", "-o", test}, from.flags...)
		if err := command(ctx, o, from.home, nil, "go", append(compile, from.module+"/"+folder(name))...); err != nil {
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
		run.Dir = filepath.Join(from.dir, filepath.FromSlash(folder(name)))
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

// source is a module's tree, and what is compiled in the place of some of its files: in home, with flags.
type source struct {
	module, dir, overlay, home string
	flags                      []string
}

// sources returns the trees of Karpenter and, where a suite is of it, of its provider for AWS, and Karpenter's version.
func sources(ctx context.Context, o Options, form string) (core, aws source, version string, err error) {
	folder := func(name string) (string, error) {
		path := filepath.Join(o.Cache, form+name)
		return path, os.MkdirAll(path, 0o755)
	}
	var m module
	core.module, aws.module = karpenter, provider
	if core.dir, m, err = tree(ctx, o.Home, o.Cache, karpenter); err != nil {
		return core, aws, "", err
	}
	replaced, err := folder("overlay")
	if err != nil {
		return core, aws, "", err
	}
	core.home = core.dir
	if core.overlay, err = overlay(o.Home, core.dir, replaced, o.Quick); err != nil {
		return core, aws, "", err
	}
	if !slices.ContainsFunc(o.Suites, ofAWS) {
		return core, aws, m.Version, nil
	}
	aws.home = filepath.Join(o.Home, "e2e")
	if aws.dir, _, err = tree(ctx, aws.home, o.Cache, provider); err != nil {
		return core, aws, "", err
	}
	files, err := definitions(o.Home, aws.dir)
	if err != nil {
		return core, aws, "", err
	}
	if replaced, err = folder("overlay-aws"); err != nil {
		return core, aws, "", err
	}
	if aws.overlay, err = writeOverlay(replaced, files); err != nil {
		return core, aws, "", err
	}
	file, err := inPlace(aws.home, replaced, provider, aws.dir)
	aws.flags = []string{"-mod=mod", "-modfile", file}
	return core, aws, m.Version, err
}

// inPlace writes into folder the go.mod and go.sum of home with a tree in a module's place, and returns the path of the
// first. The provider's own go.mod names a version of Karpenter that is not published.
func inPlace(home, folder, module, tree string) (string, error) {
	path := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(filepath.Join(home, "go.mod"))
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(home, "go.sum"))
	if err != nil {
		return "", err
	}
	text = fmt.Appendf(text, "\nreplace %s => %s\n", module, tree)
	return path, errors.Join(os.WriteFile(path, text, 0o644), os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o644))
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
