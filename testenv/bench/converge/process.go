package converge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// asked is the variable that makes a program converge a problem in place of what it is for.
const asked = "JOINER_BENCH_CONVERGE"

// ask is what is asked of a process of its own.
type ask struct {
	Spec    problem.Spec
	Options Options
	Once    bool // one decision, which is not carried out, and no object of the problem held beside it
	Drifted int  // so many nodes have drifted, spread over all; only with Once
}

// Serve does nothing in a program started by hand. In one that Start or Once started it does what it was asked, prints the
// result and exits.
func Serve() {
	text, ok := os.LookupEnv(asked)
	if !ok {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, "converge in a process of its own:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var a ask
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	var result Result
	if a.Once {
		if err := a.Spec.Validate(); err != nil {
			return err
		}
		in := a.Spec.Running()
		drift(in.Claims, a.Drifted)
		result = once(in)
	} else {
		p, err := problem.New(a.Spec)
		if err != nil {
			return err
		}
		if result, err = Run(p, disruption.Plan, a.Options); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// drift has so many of the claims drifted, spread over all.
func drift(claims []model.Claim, count int) {
	for n := range min(count, len(claims)) {
		claim := &claims[n*len(claims)/count]
		claim.Drift, claim.DriftUnix = model.ReasonDrifted, claim.CreatedUnix+1
	}
}

// once makes one decision.
func once(in disruption.Input) Result {
	plan, stats := measure.Disrupt(in, disruption.Plan)
	out := Result{PriceFirst: plan.PriceBefore.USD(), NodesFirst: len(in.Snapshot.Nodes), NodesLast: len(in.Snapshot.Nodes), TotalSeconds: stats.PlanSeconds, CPUSeconds: stats.CPUSeconds,
		AllocBytes: stats.AllocBytes, PeakBytes: stats.PeakBytes}
	if len(plan.Commands) == 0 {
		out.LastSeconds, out.Finished = stats.PlanSeconds, true
	} else {
		out.MedianSeconds, out.MaxSeconds = stats.PlanSeconds, stats.PlanSeconds
		moved := 0
		for i := range plan.Commands {
			moved += plan.Commands[i].PodsMoved
		}
		out.add(&plan, moved, stats.PlanSeconds, plan.PriceAfter.USD())
	}
	out.PriceLast, out.NodesLast = plan.PriceAfter.USD(), out.NodesFirst-out.Removed+out.Added
	return out
}

// Start converges the problem in a new process of this program, whose main calls Serve first.
func Start(spec problem.Spec, o Options) (Result, error) { return start(ask{Spec: spec, Options: o}) }

// Once makes one decision of the problem in a new process of this program, whose main calls Serve first. So many of its nodes have
// drifted.
func Once(spec problem.Spec, drifted int) (Result, error) {
	return start(ask{Spec: spec, Once: true, Drifted: drifted})
}

func start(a ask) (Result, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return Result{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return Result{}, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asked+"="+string(text))
	return Output(cmd)
}

// Output runs a program that prints a Result.
func Output(cmd *exec.Cmd) (Result, error) {
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return Result{}, fmt.Errorf("run %s: %w: %s", cmd.Path, err, strings.TrimSpace(failed.String()))
	}
	var result Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return Result{}, fmt.Errorf("read the answer of %s: %w", cmd.Path, err)
	}
	return result, nil
}
