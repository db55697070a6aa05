package measure

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

func TestMain(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

func TestProcessOfItsOwnGivesTheSamePlan(t *testing.T) {
	spec := problem.Spec{Family: "bench", Pods: 100, Types: 60}
	there, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := problem.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	here := check.FromPlan(pack.Plan(p.Input()))
	if there.PricePerHour != here.PricePerHour || len(there.Claims) != len(here.Claims) {
		t.Errorf("$%v/h on %d nodes there, $%v/h on %d here", there.PricePerHour, len(there.Claims), here.PricePerHour, len(here.Claims))
	}
	if report := check.Plan(p, there); len(report.Violations) > 0 || report.Placed != 100 {
		t.Errorf("%d pods placed, broken are %v", report.Placed, report.Violations)
	}
	s := there.Stats
	if s.Pods != 100 || s.PlanSeconds <= 0 || s.AllocBytes == 0 || s.AllocCount == 0 || runtime.GOOS == "linux" && s.PeakBytes < 1<<20 {
		t.Errorf("measured %+v", s)
	}
}

func TestProgramThatFailsIsAnErrorThatTellsWhy(t *testing.T) {
	if _, err := Start(problem.Spec{Family: "nonsense"}); err == nil {
		t.Error("a family there is none of is no error")
	}
	if _, err := Output(exec.Command("echo", "no answer")); err == nil {
		t.Error("output that is no answer is no error")
	}
}
