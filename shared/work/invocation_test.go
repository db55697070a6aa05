package work

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// at returns an invocation whose clock stands at a time that the test may move.
func at(now *time.Time) *Invocation {
	return (&Invocation{
		Clock: func() time.Time { return *now }, Deadline: now.Add(time.Minute), LeaseMargin: 2 * time.Second, StopBefore: 3 * time.Second,
	}).Begin()
}

func TestTheLedgersClockGoesOnWithTheProcesss(t *testing.T) {
	now := time.Unix(1000, 0)
	i := at(&now)
	if i.NowUnix() != 1000 {
		t.Errorf("before the ledger has said what time it is: %d", i.NowUnix())
	}
	i.SetNow(1090)
	now = now.Add(56 * time.Second)
	if i.NowUnix() != 1146 || !i.HasTime() {
		t.Errorf("%d, time left: %t", i.NowUnix(), i.HasTime())
	}
	now = now.Add(time.Second)
	i.Reached("end")
	if i.HasTime() || i.Millis()["end"] != 57_000 {
		t.Errorf("3 s before the end there is time; reached %v", i.Millis())
	}
}

func TestProblemsAreKeptUpToANumberAndUnreadItemsOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	i := at(&now)
	unread := model.UnreadItems{{Kind: model.UnreadClaim, Name: "web-1", Key: "a b"}}
	i.Unread(unread)
	i.Unread(unread)
	if len(i.Problems()) != 1 {
		t.Errorf("%q", i.Problems())
	}
	for n := range 30 {
		i.Problem("problem %d", n)
	}
	if all := i.Problems(); len(all) != 20 || all[19] != "problem 18" {
		t.Errorf("%d: %q", len(all), all)
	}
}

func TestOneThatPanicsStopsNoOther(t *testing.T) {
	now := time.Unix(1000, 0)
	i := at(&now)
	i.SideBySide = Sequential
	done := 0
	i.Parallel(3, 1, func(k int) {
		if k == 1 {
			panic("one")
		}
		done++
	})
	if all := i.Problems(); done != 2 || len(all) != 1 || !strings.HasPrefix(all[0], "panic: one\n") {
		t.Errorf("%d done, %q", done, all)
	}
}

func TestTryTurnsAnErrorIntoAProblem(t *testing.T) {
	now := time.Unix(1000, 0)
	i := at(&now)
	if !i.Try(t.Context(), "note", "write it", func() error { return nil }) || len(i.Problems()) != 0 {
		t.Errorf("%q", i.Problems())
	}
	if i.Try(t.Context(), "note", "write it", func() error { return errors.New("down") }) || !reflect.DeepEqual(i.Problems(), []string{"write it: down"}) {
		t.Errorf("%q", i.Problems())
	}
}

// leases is a store of one lease.
type leases struct {
	owner    string
	asked    []int64
	released int
	err      error
}

func (l *leases) AcquireLease(_ context.Context, _, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	l.asked = []int64{nowUnix, untilUnix}
	if l.owner != owner {
		return model.Fence{Lease: lease, SinceUnix: 900}, fault.New(fault.Conflict, "", "%s has it", l.owner)
	}
	return model.Fence{Lease: lease, Token: 7}, nil
}

func (l *leases) Release(ctx context.Context, _ model.Fence) error {
	l.released++
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.err
}

func TestALeaseOutlivesTheInvocationAndIsReleasedOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	i, l := at(&now), &leases{owner: "me"}
	lease, err := i.Acquire(t.Context(), l, "web", model.LeaseDisrupt, "me", "the disruption lease")
	if err != nil || lease.Fence.Token != 7 || !reflect.DeepEqual(l.asked, []int64{1000, 1063}) {
		t.Fatalf("%+v, %v, asked %d", lease.Fence, err, l.asked)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	i.Release(over, lease)
	i.Release(over, lease)
	if l.released != 1 || len(i.Problems()) != 0 {
		t.Errorf("released %d times, %q", l.released, i.Problems())
	}
	lease, err = i.Acquire(t.Context(), l, "web", model.LeaseDisrupt, "you", "the disruption lease")
	if !fault.Is(err, fault.Conflict) || lease.Fence.SinceUnix != 900 || !strings.HasPrefix(err.Error(), "acquire the disruption lease of cluster web: ") {
		t.Errorf("another's: %+v, %v", lease.Fence, err)
	}
}

func TestClustersThatAreNotAttachedOrPausedAreSkipped(t *testing.T) {
	down := fault.New(fault.Internal, "", "down")
	for name, c := range map[string]struct {
		reg     model.Registration
		err     error
		skipped string
		failed  bool
	}{
		"attached":     {reg: model.Registration{Cluster: "web"}},
		"paused":       {reg: model.Registration{Cluster: "web", Paused: true}, skipped: "the cluster is paused"},
		"not attached": {err: fault.New(fault.NotFound, "", "no"), skipped: "the cluster is not attached"},
		"unread":       {err: down, failed: true},
	} {
		reg, skipped, err := ActiveRegistration(t.Context(), one{c.reg, c.err}, "web")
		if skipped != c.skipped || (err != nil) != c.failed || err == nil && skipped == "" && reg.Cluster != "web" {
			t.Errorf("%s: %+v, %q, %v", name, reg, skipped, err)
		}
	}
	if _, skipped, err := Registration(t.Context(), one{reg: model.Registration{Paused: true}}, "web"); skipped != "" || err != nil {
		t.Errorf("a paused one is skipped: %q, %v", skipped, err)
	}
}

// one is a registry of one cluster.
type one struct {
	reg model.Registration
	err error
}

func (o one) Clusters(context.Context) ([]model.Registration, error) {
	return []model.Registration{o.reg}, o.err
}

func (o one) Cluster(context.Context, string) (model.Registration, error) { return o.reg, o.err }

func TestDefaultsFillWhatIsZero(t *testing.T) {
	type settings struct {
		After time.Duration `default:"1m30s"`
		Most  int           `default:"20"`
		Bytes int64         `default:"4194304"`
		Build string
		Kept  time.Duration `default:"5s"`
	}
	got := WithDefaults(settings{Kept: time.Hour})
	want := settings{90 * time.Second, 20, 4 << 20, "", time.Hour}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a default that is no duration is taken")
		}
	}()
	WithDefaults(struct {
		After time.Duration `default:"soon"`
	}{})
}
