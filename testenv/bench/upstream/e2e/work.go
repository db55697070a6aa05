package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Work is the programs of a run and the specs they have.
type Work struct {
	Dir    string              // for programs, reports and logs
	Listed map[string][]string // all specs, by suite
	Report func(Outcome)       // each as it comes, from several goroutines; not nil

	project      string            // the main module's folder
	up           string            // the program of testenv/test/up
	programs     map[string]string // by suite
	drivers      map[string]string // programs, by suite that has one
	driven       map[string]string // what drivers read: files of definitions, by suite
	folders      map[string]string // of the suites' packages, by suite
	descriptions map[string]string // by suite
	definitions  []string          // of objects that the suites list and Joiner does not install
	alone        sync.Mutex        // is held by the exclusive batch that runs
}

// Build compiles the stack's program and the suites as their modules have them (some where they are named), and lists their specs.
// dir is where everything goes: "" = .cache/upstream in the project.
func Build(ctx context.Context, dir string, suites ...string) (*Work, error) {
	for _, name := range suites {
		if _, ok := suiteOf(name); !ok {
			return nil, fmt.Errorf("there is no suite %q", name)
		}
	}
	module, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	here := filepath.Dir(module)
	root := filepath.Join(here, "..", "..", "..", "..")
	if dir == "" {
		dir = filepath.Join(root, ".cache", "upstream")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w := &Work{Dir: dir, Report: func(Outcome) {}, project: root, Listed: map[string][]string{},
		programs: map[string]string{}, folders: map[string]string{}, descriptions: map[string]string{},
		drivers: map[string]string{}, driven: map[string]string{}, up: filepath.Join(dir, "up")}
	if _, err := output(ctx, root, "go", "build", "-o", w.up, "./testenv/test/up"); err != nil {
		return nil, err
	}
	for _, d := range [][2]string{
		{"github.com/aws/amazon-vpc-resource-controller-k8s", "config/crd/bases/vpcresources.k8s.aws_securitygrouppolicies.yaml"},
	} {
		folder, err := output(ctx, here, "go", "list", "-m", "-f", "{{.Dir}}", d[0])
		if err != nil {
			return nil, err
		}
		w.definitions = append(w.definitions, filepath.Join(folder, filepath.FromSlash(d[1])))
	}
	for _, s := range Suites {
		if len(suites) > 0 && !slices.Contains(suites, s.Name) {
			continue
		}
		program := filepath.Join(dir, strings.ReplaceAll(s.Name, "/", "-")+".test")
		if _, err := output(ctx, here, "go", "test", "-trimpath", "-c", "-o", program, s.Package); err != nil {
			return nil, err
		}
		if w.folders[s.Name], err = output(ctx, here, "go", "list", "-f", "{{.Dir}}", s.Package); err != nil {
			return nil, err
		}
		w.programs[s.Name] = program
		if err := w.buildDriver(ctx, here, s); err != nil {
			return nil, err
		}
		if w.descriptions[s.Name], w.Listed[s.Name], err = List(ctx, s, program, dir); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Compile compiles a package of the main module, or of the modules that the suites are of, and returns the program's path.
func (w *Work) Compile(ctx context.Context, main bool, name, pkg string) (string, error) {
	dir, program := filepath.Join(w.project, "testenv", "bench", "upstream", "e2e"), filepath.Join(w.Dir, name)
	if main {
		dir = w.project
	}
	_, err := output(ctx, dir, "go", "build", "-trimpath", "-o", program, pkg)
	return program, err
}

// ModuleDir returns the folder of a module that the suites are of or stand on.
func (w *Work) ModuleDir(ctx context.Context, module string) (string, error) {
	return output(ctx, filepath.Join(w.project, "testenv", "bench", "upstream", "e2e"), "go", "list", "-m", "-f", "{{.Dir}}", module)
}

// Start starts a stack with these arguments of testenv/test/up and what the suites look for beside Joiner's objects.
func (w *Work) Start(ctx context.Context, name string, args ...string) (*Stack, error) {
	args = append([]string{"-empty", "-dir", filepath.Join(w.Dir, name)}, args...)
	stack, err := StartProgram(ctx, w.up, w.project, filepath.Join(w.Dir, name+".log"), args...)
	if err != nil {
		return nil, err
	}
	for _, definition := range w.definitions {
		if err := stack.Place.Apply(ctx, definition); err != nil {
			stack.Stop()
			return nil, err
		}
	}
	return stack, nil
}

// Output runs a program in the main module's folder and returns what it writes.
func (w *Work) Output(ctx context.Context, program string, args ...string) (string, error) {
	return output(ctx, w.project, program, args...)
}

// Project is the main module's folder.
func (w *Work) Project() string { return w.project }

// Batch returns one spec of a suite to run, with neither objects nor a limit of time.
func (w *Work) Batch(suite, spec string) (Batch, error) {
	s, ok := suiteOf(suite)
	if !ok || !slices.Contains(w.Listed[suite], spec) {
		return Batch{}, fmt.Errorf("suite %q has no spec %q, or was not built", suite, spec)
	}
	return Batch{Suite: s, Program: w.programs[suite], Folder: w.folders[suite], Description: w.descriptions[suite], Specs: []string{spec}, Dir: w.Dir}, nil
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Limits say how long a run may take.
type Limits struct {
	All  time.Duration
	Spec time.Duration // of one spec that runs alone; what it leaves is cleared away
}

// Run runs the chosen specs on so many stacks at once, each with an equal part of what they took last time, and stops when the time is over.
func (w *Work) Run(ctx context.Context, rows []Row, chosen func(Row) bool, shards int, limits Limits) ([]Outcome, error) {
	until := time.Now().Add(limits.All)
	var wanted []Row
	for _, r := range rows {
		if slices.Contains(w.Listed[r.Suite], r.Spec) && chosen(r) {
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return nil, errors.New("no spec is to run; look at -suite and -focus")
	}
	var all []Outcome
	var failed error
	for n, group := range byStack(wanted) {
		parts := share(group, w.lastSeconds(), max(1, shards))
		outcomes, errs := make([][]Outcome, len(parts)), make([]error, len(parts))
		var running sync.WaitGroup
		for i, part := range parts {
			running.Go(func() { outcomes[i], errs[i] = w.runOn(ctx, fmt.Sprintf("%d-%d", n, i), part, until, limits.Spec) })
		}
		running.Wait()
		all = slices.Concat(all, slices.Concat(outcomes...))
		failed = errors.Join(failed, errors.Join(errs...))
	}
	w.rememberSeconds(all)
	return all, failed
}

// byStack puts specs together that can share a stack, in the order of the rows.
func byStack(rows []Row) (groups [][]Row) {
	index := map[string]int{}
	for _, r := range rows {
		key := Setups[r.Setup].stack()
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// runOn starts a stack and runs specs on it, those of one suite and setup together.
func (w *Work) runOn(ctx context.Context, shard string, rows []Row, until time.Time, most time.Duration) ([]Outcome, error) {
	stack, err := StartStack(ctx, w.up, w.project, filepath.Join(w.Dir, "stack-"+shard), filepath.Join(w.Dir, "stack-"+shard+".log"), Setups[rows[0].Setup])
	if err != nil {
		return nil, err
	}
	defer stack.Stop()
	for _, definition := range w.definitions {
		if err := stack.Place.Apply(ctx, definition); err != nil {
			return nil, err
		}
	}
	var outcomes []Outcome
	for i, b := range w.batches(rows) {
		b.Dir, b.Name, b.Env = w.Dir, fmt.Sprintf("batch-%s-%d", shard, i), b.Setup.Suite
		if b.NodeClass, err = WriteManifest(w.Dir, "nodeclass", stack.Place.Cluster); err != nil {
			return outcomes, err
		}
		if b.NodePool, err = WriteManifest(w.Dir, b.Setup.Pool, stack.Place.Cluster); err != nil {
			return outcomes, err
		}
		if b.Suite.AWS {
			if err := stack.Place.InstallKarpenter(ctx, w.Dir, b.Setup.Karpenter); err != nil {
				return outcomes, err
			}
		}
		if definition, ok := w.driven[b.Suite.Name]; ok {
			if err := stack.Place.Apply(ctx, definition); err != nil {
				return outcomes, err
			}
		}
		if b.Within = time.Until(until); b.Within <= 0 {
			break
		}
		if !b.Suite.Whole {
			b.Within = min(b.Within, most)
		}
		some, err := w.run(ctx, b, stack.Place)
		for _, o := range some {
			w.Report(o)
		}
		outcomes = append(outcomes, some...)
		if err != nil {
			return outcomes, err
		}
		if slices.ContainsFunc(some, func(o Outcome) bool { return !o.Passed }) {
			stack.Place.Clear(ctx)
		}
	}
	return outcomes, nil
}

// run runs a batch, and an exclusive one while no other is.
func (w *Work) run(ctx context.Context, b Batch, p Place) ([]Outcome, error) {
	if b.exclusive() {
		w.alone.Lock()
		defer w.alone.Unlock()
	}
	return b.Run(ctx, p)
}

// batches puts together what is run by one process, in the order of the rows: each spec alone, but where a suite expects
// something of all of them.
func (w *Work) batches(rows []Row) []Batch {
	var batches []Batch
	index := map[[2]string]int{}
	for _, r := range rows {
		key := [2]string{r.Suite, r.Setup}
		s, _ := suiteOf(r.Suite)
		i, ok := index[key]
		if !ok || !s.Whole {
			i = len(batches)
			index[key] = i
			batches = append(batches, Batch{Suite: s, Program: w.programs[r.Suite], Driver: w.drivers[r.Suite],
				Folder: w.folders[r.Suite], Description: w.descriptions[r.Suite], Setup: Setups[r.Setup]})
		}
		batches[i].Specs = append(batches[i].Specs, r.Spec)
	}
	return batches
}

// share deals the longest first, each to the part that has least: specs, and suites that one process runs whole. A spec
// that was never run counts as a minute.
func share(rows []Row, seconds map[string]float64, parts int) [][]Row {
	cost := func(rows []Row) (sum float64) {
		for _, r := range rows {
			s, ok := seconds[r.Suite+" "+r.Spec]
			if !ok {
				s = 60
			}
			sum += s
		}
		return sum
	}
	var units [][]Row
	whole := map[string]int{}
	for _, r := range rows {
		i, ok := whole[r.Suite]
		if !ok {
			i = len(units)
			units = append(units, nil)
		}
		if s, _ := suiteOf(r.Suite); s.Whole {
			whole[r.Suite] = i
		}
		units[i] = append(units[i], r)
	}
	slices.SortStableFunc(units, func(a, b []Row) int { return cmp.Compare(cost(b), cost(a)) })
	dealt, load := make([][]Row, min(parts, len(units))), make([]float64, min(parts, len(units)))
	for _, unit := range units {
		least := slices.Index(load, slices.Min(load))
		dealt[least] = append(dealt[least], unit...)
		load[least] += cost(unit)
	}
	return dealt
}

func (w *Work) lastSeconds() map[string]float64 {
	seconds := map[string]float64{}
	if text, err := os.ReadFile(filepath.Join(w.Dir, "seconds.json")); err == nil {
		_ = json.Unmarshal(text, &seconds) // only how specs are dealt hangs on it
	}
	return seconds
}

func (w *Work) rememberSeconds(outcomes []Outcome) {
	seconds := w.lastSeconds()
	for _, o := range outcomes {
		seconds[o.Suite+" "+o.Spec] = o.Seconds
	}
	if text, err := json.MarshalIndent(seconds, "", " "); err == nil {
		_ = os.WriteFile(filepath.Join(w.Dir, "seconds.json"), text, 0o644)
	}
}
