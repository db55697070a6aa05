package performance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
)

// Suite is upstream's.
const Suite = "core/performance"

// setup is what the specs are run with on both sides: the suite's limits of memory and CPU are lifted alike, for where one is exceeded the phases
// behind it are not measured.
var setup = e2e.Setups["performance"]

// instanceBoot is how long an instance of testenv boots. Its kubelet registers a second later: as late as the node of manifests/kwoknodeclass.yaml.
const instanceBoot = 4 * time.Second

// Runner has the programs of both sides.
type Runner struct {
	Each   time.Duration // of a spec
	Report func(Run)     // each as it comes; not nil

	work            *e2e.Work
	kwok, karpenter string   // programs
	definitions     []string // of Karpenter's objects
	prices          map[string]float64
	nodeClass       string // path, of Karpenter's
}

// Build compiles what both sides are run by.
func Build(ctx context.Context, w *e2e.Work) (*Runner, error) {
	r := &Runner{Each: time.Hour, Report: func(Run) {}, work: w}
	var err error
	if r.kwok, err = w.Compile(ctx, true, "kwok", "./testenv/bench/kwok"); err != nil {
		return nil, err
	}
	if r.karpenter, err = w.Compile(ctx, false, "karpenter", "sigs.k8s.io/karpenter/kwok"); err != nil {
		return nil, err
	}
	module, err := w.ModuleDir(ctx, "sigs.k8s.io/karpenter")
	if err != nil {
		return nil, err
	}
	r.definitions = []string{filepath.Join(module, "kwok", "charts", "crds"), filepath.Join(module, "kwok", "apis", "crds")}
	if r.nodeClass, err = e2e.WriteManifest(w.Dir, "kwoknodeclass", ""); err != nil {
		return nil, err
	}
	types := filepath.Join(w.Dir, "instance-types.json")
	if _, err := w.Output(ctx, r.kwok, "-types", types); err != nil {
		return nil, err
	}
	r.prices, err = readPrices(types)
	return r, err
}

// Pairs runs each spec on both sides so many times, one side after the other, beginning with the other one each time. What came until an error
// is returned with it.
func (r *Runner) Pairs(ctx context.Context, specs []string, pairs int) (runs []Run, err error) {
	for pair := 1; pair <= pairs; pair++ {
		for _, spec := range specs {
			sides := []Side{Karpenter, Joiner}
			if pair%2 == 0 {
				sides = []Side{Joiner, Karpenter}
			}
			for _, side := range sides {
				run, err := r.run(ctx, spec, side, pair)
				if err != nil {
					return runs, fmt.Errorf("%s by %s: %w", spec, side, err)
				}
				r.Report(run)
				runs = append(runs, run)
			}
		}
	}
	return runs, nil
}

// start starts a cluster of a side.
func (r *Runner) start(ctx context.Context, side Side) (*e2e.Stack, error) {
	name := strings.ToLower(string(side))
	if side == Joiner {
		return r.work.Start(ctx, "stack-"+name, "-audit", "-boot", instanceBoot.String())
	}
	args := []string{"-dir", filepath.Join(r.work.Dir, "stack-"+name), "-karpenter", r.karpenter}
	for _, path := range r.definitions {
		args = append(args, "-apply", path)
	}
	return e2e.StartProgram(ctx, r.kwok, r.work.Project(), filepath.Join(r.work.Dir, "stack-"+name+".log"), args...)
}

// run runs a spec on a cluster of its own.
func (r *Runner) run(ctx context.Context, spec string, side Side, pair int) (Run, error) {
	out := Run{Spec: spec, Side: side, Pair: pair, Load: load()}
	stack, err := r.start(ctx, side)
	if err != nil {
		return out, err
	}
	defer stack.Stop()
	b, err := r.work.Batch(Suite, spec)
	if err != nil {
		return out, err
	}
	b.Name, b.Within, b.Env = fmt.Sprintf("performance-%s-%d", strings.ToLower(string(side)), pair), r.Each, setup.Suite
	b.NodeClass = r.nodeClass // and the suite's own NodePool
	if side == Joiner {
		if b.NodeClass, err = e2e.WriteManifest(r.work.Dir, "nodeclass", stack.Place.Cluster); err != nil {
			return out, err
		}
		if b.NodePool, err = e2e.WriteManifest(r.work.Dir, setup.Pool, stack.Place.Cluster); err != nil {
			return out, err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", stack.Place.Kubeconfig)
	if err != nil {
		return out, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return out, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	timeline, err := Watch(watching, client)
	if err != nil {
		return out, err
	}
	inCluster := "karpenter"
	if side == Joiner {
		inCluster = "watcher"
	}
	memory := sample(watching, e2e.NewFootprint(stack.Place.PID), inCluster)
	outcomes, err := b.Run(ctx, stack.Place)
	if err == nil {
		err = ctx.Err() // the suite reports how far it came, too, where it is interrupted
	}
	if err != nil {
		return out, err
	}
	for _, o := range outcomes {
		out.Passed, out.Failure, out.Seconds = o.Passed, o.Failure, o.Seconds
	}
	disruptions, err := Disruptions(stack.Place.Audit)
	if err != nil {
		return out, err
	}
	out.Phases, err = Measure(filepath.Join(b.Dir, b.Name), timeline, disruptions, memory, r.prices)
	return out, err
}

// load is how many processes ran or waited to, on average over the last minute; 0 where the kernel does not say.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}
