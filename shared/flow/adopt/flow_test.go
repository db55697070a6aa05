package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestWithoutApplyNothingIsWritten(t *testing.T) {
	s := karpenters(3)
	out := s.run(t, false)
	if got := verdicts(out); got[lifecycle.Take] != 3 || len(got) != 1 || out.Others != 1 || len(out.Warnings) != 0 {
		t.Errorf("%v, %d of others, %v", got, out.Others, out.Warnings)
	}
	if len(s.writes) > 0 || s.held.Token != 0 {
		t.Errorf("wrote %v, lease %+v", s.writes, s.held)
	}
}

// R18: what is in no ledger is adopted by its tags and its objects; a second run finds nothing to do.
func TestR18_EveryNodeClaimIsAdoptedOnce(t *testing.T) {
	s := karpenters(3)
	s.live.Nodes[2].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	s.unlisted["i-c"] = true // a listing may miss some
	out := s.run(t, true)
	if out.Problems() != 0 {
		t.Fatalf("%+v", out)
	}
	want := []string{
		"record default-a", "record default-b", "record default-c", "tag i-a", "tag i-b", "tag i-c", "stamp default-a", "stamp default-b", "untaint node-b", "stamp default-c",
	}
	if !slices.Equal(s.writes, want) {
		t.Errorf("wrote %q, want %q", s.writes, want)
	}
	if held := s.usage["default"]; held[model.Nodes] != 3 || held[model.Dollars] != 3*96_000 || held[model.CPU] != 6000 {
		t.Errorf("the pool holds %v", held)
	}
	for i := range s.instances {
		if !lifecycle.Owned(s.instances[i], "web") {
			t.Errorf("instance %s is not ours: %v", s.instances[i].ID, s.instances[i].Tags)
		}
	}
	if found := s.swept(); len(found) > 0 {
		t.Errorf("the sweep finds %+v", found)
	}
	if s.held.UntilUnix != 0 {
		t.Error("the lease was kept")
	}
	s.writes = nil
	if again := s.run(t, true); verdicts(again)[lifecycle.Ours] != 3 || len(s.writes) > 0 {
		t.Errorf("once more: %v, wrote %v", verdicts(again), s.writes)
	}
}

// killed stops the run before or after its n-th effect, as a process that dies there.
type killed struct {
	n     int
	after bool
	seen  int
	dead  bool
}

var errKilled = errors.New("killed")

func (k *killed) Before(context.Context, string) error {
	k.seen++
	if k.dead || k.seen == k.n && !k.after {
		k.dead = true
		return errKilled
	}
	return nil
}

func (k *killed) After(context.Context, string) { k.dead = k.dead || k.seen == k.n }

// Wherever a run dies, the resync ends nothing of it, and the next run finishes it.
func TestR18_KilledAnywhereNothingEndsAndTheNextRunFinishes(t *testing.T) {
	for n := 1; ; n++ {
		over := false
		for _, after := range []bool{false, true} {
			s := karpenters(3)
			s.live.Nodes[1].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
			flow := s.flow()
			k := &killed{n: n, after: after}
			flow.Effects = k
			if _, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "dies", Apply: true}); err != nil {
				t.Fatal(err)
			}
			over = k.seen < n
			for _, finding := range s.swept() {
				if finding.Kind != lifecycle.Orphan || !lifecycle.Adoptable(&finding) {
					t.Errorf("killed at %d (after: %v): the sweep would act on %s %s", n, after, finding.Kind, finding.Subject)
				}
			}
			if out := s.run(t, true); out.Problems() != 0 {
				t.Fatalf("killed at %d (after: %v), then: %+v", n, after, out)
			}
			last := s.run(t, false)
			if verdicts(last)[lifecycle.Ours] != 3 || s.usage["default"][model.Nodes] != 3 || len(s.live.Nodes[1].Taints) > 0 {
				t.Errorf("killed at %d (after: %v), in the end: %v, %v", n, after, verdicts(last), s.usage)
			}
		}
		if over {
			if n < 8 {
				t.Errorf("only %d effects were seen", n-1)
			}
			return
		}
	}
}

// What goes wrong with one stops no other.
func TestOneThatFailsStopsNoOther(t *testing.T) {
	denied := fault.New(fault.Denied, "UnauthorizedOperation", "no")
	for call, writes := range map[string]int{"Adopt default-b": 6, "Take i-b": 6, "PutClaim default-b": 8} {
		s := karpenters(3)
		s.fails[call] = denied
		if strings.HasPrefix(call, "Take") { // of one call for all, what came before it is done
			writes = 5
		}
		out := s.run(t, true)
		problems := 0
		for _, item := range out.Items {
			if item.Problem != "" {
				problems++
				if !strings.Contains(item.Problem, "UnauthorizedOperation") {
					t.Errorf("%s: %s", call, item.Problem)
				}
			}
		}
		if problems == 0 || problems != out.Problems() || len(s.writes) != writes {
			t.Errorf("%s: %d problems, wrote %v", call, problems, s.writes)
		}
		delete(s.fails, call)
		s.run(t, true)
		if last := s.run(t, true); verdicts(last)[lifecycle.Ours] != 3 {
			t.Errorf("%s: in the end %v", call, verdicts(last))
		}
	}
}

// Karpenter keeps its lease when it is stopped. The commands of "Coming from Karpenter" come one after the other, so adopting waits until it has lapsed.
func TestA5AKarpenterThatWasJustStoppedIsWaitedFor(t *testing.T) {
	s := karpenters(2)
	begun := s.now
	s.karpenter.Deployments[0].Running = 1
	s.karpenter.Lease = &model.Leadership{Namespace: "kube-system", Name: "karpenter-leader-election", Holder: "x", RenewedUnix: s.now - 2}
	flow := s.flow()
	var waits []string
	flow.Progress = func(text string) { waits = append(waits, text) }
	flow.Pause = func(_ context.Context, d time.Duration) error {
		if s.now += int64(d.Seconds()); s.now-begun < 20 { // its pods take as long to end
			s.karpenter.Lease.RenewedUnix = s.now - 1
			return nil
		}
		s.karpenter.Deployments[0].Running = 0
		return nil
	}
	out, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true})
	if err != nil {
		t.Fatal(err)
	}
	if verdicts(out)[lifecycle.Take] != 2 || out.Problems() > 0 || len(s.writes) == 0 {
		t.Errorf("%+v, wrote %v", out, s.writes)
	}
	if len(waits) != 1 || !strings.Contains(waits[0], "has 1 pods left") {
		t.Errorf("said %q of what is waited for", waits)
	}
	if waited := s.now - begun; waited < 70 || waited > 90 {
		t.Errorf("waited for %d s, want a minute from when its pods had ended", waited)
	}
}

func TestWhileKarpenterRunsNothingIsTaken(t *testing.T) {
	running := func(s *site) { s.karpenter.Deployments[0].Replicas = 2 }
	unknown := func(s *site) { s.fails["Karpenter"] = fault.New(fault.Denied, "Forbidden", "deployments is forbidden") }
	renewed := func(s *site) {
		s.karpenter = model.Karpenter{Lease: &model.Leadership{Namespace: "kube-system", Name: "karpenter-leader-election", Holder: "x", RenewedUnix: s.now - 10}}
	}
	for name, change := range map[string]func(*site){"running": running, "unknown": unknown, "renewed": renewed} {
		s := karpenters(2)
		change(s)
		if out := s.run(t, false); len(out.Karpenter) != 1 || verdicts(out)[lifecycle.Take] != 2 {
			t.Errorf("%s: %+v", name, out.Karpenter)
		}
		flow := s.flow()
		flow.Pause = func(_ context.Context, d time.Duration) error {
			s.now += int64(d.Seconds())
			s.karpenter.Lease.RenewedUnix = s.now - 1
			return nil
		}
		_, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true})
		if fault.CodeOf(err) != "KarpenterRuns" || len(s.writes) > 0 || s.held.Token != 0 {
			t.Errorf("%s: %v, wrote %v", name, err, s.writes)
		}
		out, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true, DespiteKarpenter: true})
		if err != nil || out.Problems() != 0 || len(s.claims) != 2 {
			t.Errorf("%s, those who know: %v, %d claims", name, err, len(s.claims))
		}
	}
}

// The resync may be at work: it is waited for, and what it did meanwhile is seen.
func TestTheResyncIsWaitedFor(t *testing.T) {
	s := karpenters(2)
	s.held = model.Fence{Owner: "sweep", Lease: model.LeaseCollector, Token: 7, UntilUnix: s.now + 20}
	flow := s.flow()
	pause := flow.Pause
	flow.Pause = func(ctx context.Context, d time.Duration) error {
		s.claims["default-a"] = model.Claim{Name: "default-a", State: model.Initialized, InstanceID: "i-a", Intent: "01J", Version: 1, ObjectUID: "o-a"}
		s.instances[0].Tags["joiner.sh/intent"] = "01J"
		return pause(ctx, d)
	}
	out, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true})
	if err != nil || verdicts(out)[lifecycle.Take] != 1 || verdicts(out)[lifecycle.Ours] != 1 || s.now < start+20 || slices.Contains(s.writes, "record default-a") {
		t.Errorf("%v %v, wrote %v", err, verdicts(out), s.writes)
	}
	s = karpenters(1)
	s.held = model.Fence{Owner: "sweep", Lease: model.LeaseCollector, Token: 7, UntilUnix: s.now + 3600}
	if _, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true}); !fault.Is(err, fault.Conflict) || len(s.writes) > 0 {
		t.Errorf("held for ever: %v", err)
	}
	s = karpenters(1)
	s.held = model.Fence{Owner: "sweep", Lease: model.LeaseCollector, Token: 7, UntilUnix: s.now + 3600}
	flow = s.flow()
	flow.Pause = func(context.Context, time.Duration) error { return context.Canceled }
	if _, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// The lease is renewed while there is much to do, and when it is lost nothing more is written.
func TestTheLeaseIsKept(t *testing.T) {
	s := karpenters(6)
	flow := s.flow()
	flow.Settings.AtOnce = 2
	slow := &slowly{site: s, seconds: 12}
	flow.Effects = slow
	out, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true})
	if err != nil || out.Problems() != 0 || s.held.Token < 3 {
		t.Errorf("%v, %d problems, token %d", err, out.Problems(), s.held.Token)
	}
	s = karpenters(6)
	flow = s.flow()
	flow.Settings.AtOnce = 2
	flow.Effects = &slowly{site: s, seconds: 12, usurp: 3}
	if _, err = flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true}); !fault.Is(err, fault.Conflict) {
		t.Errorf("usurped: %v", err)
	}
	if len(s.claims) != 2 {
		t.Errorf("%d claims were written", len(s.claims))
	}
}

// slowly lets each effect take a while; at the usurp-th somebody else takes the lease.
type slowly struct {
	*site
	seconds int64
	usurp   int
	seen    int
}

func (w *slowly) Before(context.Context, string) error { return nil }

func (w *slowly) After(context.Context, string) {
	w.now += w.seconds
	if w.seen++; w.seen == w.usurp {
		w.held = model.Fence{Owner: "sweep", Token: w.held.Token + 1, UntilUnix: w.now + 3600}
	}
}

// F2: a cluster that is detached, or attached anew as another one, while its NodeClaims are taken over gets no further claim, however
// long ago its leases were let go.
func TestF2NothingIsTakenOverOfAClusterThatIsNotThereAnyMore(t *testing.T) {
	for name, change := range map[string]func(*site){
		"detached":        func(s *site) { s.detached = s.now },
		"another cluster": func(s *site) { s.arn = "arn:aws:eks:us-west-2:111111111111:cluster/web" },
	} {
		for when, after := range map[string]int{"while the lease was waited for": 0, "after two of six": 4} {
			t.Run(name+" "+when, func(t *testing.T) {
				s := karpenters(6)
				flow := s.flow()
				flow.Settings.AtOnce = 2
				seen := 0
				if after == 0 {
					s.held = model.Fence{Owner: "detach", UntilUnix: s.now + 5}
					flow.Pause = func(_ context.Context, d time.Duration) error { s.now += int64(d.Seconds()); change(s); return nil }
				} else {
					flow.Effects = &afterwards{after: func() {
						if seen++; seen == after {
							change(s)
						}
						s.now += 12
					}}
				}
				_, err := flow.Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true})
				if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "cluster web") {
					t.Errorf("the run ends with %v", err)
				}
				if want := min(after, 2); len(s.claims) != want {
					t.Errorf("%d claims were written, want %d", len(s.claims), want)
				}
				if s.held.UntilUnix > 0 {
					t.Errorf("the lease is kept: %+v", s.held)
				}
			})
		}
	}
}

// afterwards does something after each effect.
type afterwards struct{ after func() }

func (w *afterwards) Before(context.Context, string) error { return nil }
func (w *afterwards) After(context.Context, string)        { w.after() }

// Law 7: what cannot be read is no evidence, and nothing is written.
func TestWhatCannotBeReadStopsTheRun(t *testing.T) {
	down := fault.New(fault.Internal, "", "down")
	for _, call := range []string{"Cluster", "Connect", "Managed", "Survey", "Configuration", "Look"} {
		s := karpenters(2)
		s.fails[call] = down
		if _, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true}); !errors.Is(err, error(down)) || len(s.writes) > 0 {
			t.Errorf("%s: %v, wrote %v", call, err, s.writes)
		}
	}
	s := karpenters(2)
	s.unlisted["i-a"], s.fails["Describe"] = true, down
	if _, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: true}); !errors.Is(err, error(down)) || len(s.writes) > 0 {
		t.Errorf("Describe: %v", err)
	}
	if _, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "shop"}); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "attach") {
		t.Errorf("not attached: %v", err)
	}
	s = karpenters(2)
	s.fails["Machines"] = fault.New(fault.NotFound, "", "nothing stored")
	if out := s.run(t, true); len(out.Warnings) != 1 || s.usage["default"][model.Dollars] != 0 || len(s.claims) != 2 {
		t.Errorf("without prices: %v, %v", out.Warnings, s.usage)
	}
}

// A half drained node goes on being drained, and neither its object nor its node is written to.
func TestHalfDrainedIsAdoptedAsDraining(t *testing.T) {
	s := karpenters(1)
	o := &s.live.Objects[0]
	o.Claim.State, o.DeletedUnix, o.DeadlineUnix = model.Gone, start-60, start+600
	s.live.Nodes[1].DeletedUnix = start - 60
	s.live.Nodes[1].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	s.run(t, true)
	claim := s.claims["default-a"]
	if claim.State != model.Draining || claim.Drain == nil || claim.Drain.DeadlineUnix != start+600 || !reflect.DeepEqual(s.writes, []string{"record default-a", "tag i-a"}) {
		t.Errorf("%+v, wrote %v", claim, s.writes)
	}
	if again := s.run(t, true); verdicts(again)[lifecycle.Ours] != 1 {
		t.Errorf("once more: %v", verdicts(again))
	}
}

func TestWhatCannotBeAdoptedIsTold(t *testing.T) {
	s := karpenters(3)
	s.live.Objects[0].Claim.ProviderID, s.live.Objects[0].Claim.State = "", model.Intended
	delete(s.instances[1].Tags, "kubernetes.io/cluster/web")
	out := s.run(t, true)
	got := fmt.Sprint(verdicts(out))
	if want := fmt.Sprint(map[lifecycle.AdoptionVerdict]int{lifecycle.Await: 1, lifecycle.Refuse: 1, lifecycle.Take: 1}); got != want || len(s.claims) != 1 {
		t.Errorf("%s, %d claims", got, len(s.claims))
	}
	if len(out.Unclaimed) != 1 || out.Unclaimed[0].Instance.ID != "i-a" || out.Unclaimed[0].Node != "node-a" {
		t.Errorf("machines without a NodeClaim: %+v", out.Unclaimed)
	}
}
