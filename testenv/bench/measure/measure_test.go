package measure

import (
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
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

func TestSnapshotIsMeasuredAsTheStoreGivesIt(t *testing.T) {
	in := problem.Spec{Family: "existing", Pods: 5, Nodes: 100}.Input()
	want := pack.Plan(in)
	read, err := stored(in.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if read == in.Snapshot || len(read.Pods) != len(in.Snapshot.Pods) {
		t.Fatalf("%d pods were read, the same list: %v; want a copy of %d", len(read.Pods), read == in.Snapshot, len(in.Snapshot.Pods))
	}
	in.Snapshot = read
	if got := pack.Plan(in); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	large := &model.Snapshot{Cluster: "c", Shapes: make([]model.PodShape, wire.MaxShapes+1)}
	if got, err := stored(large); got != large || err != nil {
		t.Errorf("a snapshot the store does not take: %v", err)
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
