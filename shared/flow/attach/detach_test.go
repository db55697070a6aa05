package attach_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

func leaving(handOver string) attach.DetachRequest {
	return attach.DetachRequest{Cluster: "web", Owner: "me", HandOver: handOver}
}

func TestDetachLeavesNothingAndKeepsEverybodyOut(t *testing.T) {
	w := attached(t)
	w.records.Claims = []model.Claim{{Name: "was", State: model.Gone}}
	w.records.Classes = []model.ClassRecord{{Name: "default"}}
	out, err := w.flow().Detach(t.Context(), leaving(""))
	if err != nil || !out.Gone || len(w.registered) != 0 || !slices.Equal(w.forgotten, []string{"web"}) {
		t.Fatalf("%+v %v, registered %v", out, err, w.registered)
	}
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "EC2NodeClass default") {
		t.Errorf("warned %v", out.Warnings)
	}
	for _, lease := range []string{model.LeasePlanner, model.LeaseDisrupt, model.LeaseCollector, model.LeaseDrainer, model.LeaseCatalog} {
		if w.held[lease] != "me" || w.kept[lease] < start+90 {
			t.Errorf("the %s's lease is held by %q until %d", lease, w.held[lease], w.kept[lease]-start)
		}
	}
	if w.log[0] != attach.EffectPause || !slices.Equal(w.log[len(w.log)-2:], []string{attach.EffectForget, attach.EffectUnregister}) {
		t.Errorf("in the order %v", w.log)
	}
	if _, err := w.flow().Detach(t.Context(), leaving("")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a second time: %v", err)
	}
}

// Nobody forgets instances: how many there are, whose, and what to do is said, and nothing has changed.
func TestDetachRefusesWhileInstancesLive(t *testing.T) {
	w := attached(t)
	w.instances("a", "b", "c")
	w.records.Claims[2].Pool = "gpu"
	w.records.Intents = []model.Intent{{State: model.IntentCalling}, {State: model.IntentDone}}
	before := w.registered["web"]
	_, err := w.flow().Detach(t.Context(), leaving(""))
	for _, want := range []string{"3 instances (default: 2, gpu: 1)", "1 launch under way", "kubectl delete nodepools", "joiner detach web --hand-over"} {
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if len(w.log) != 0 || !reflect.DeepEqual(w.registered["web"], before) || len(w.forgotten) != 0 {
		t.Errorf("wrote %v", w.log)
	}
}

// F3: what cannot be read may be an instance, a launch or a command, so nothing is forgotten while there is any.
func TestF3DetachRefusesWhileTheLedgerCannotBeRead(t *testing.T) {
	for _, kind := range []string{model.UnreadClaim, model.UnreadIntent, model.UnreadCommand} {
		w := newWorld()
		w.registered["web"] = model.Registration{Cluster: "web"}
		w.records.Unread = model.UnreadItems{{Kind: kind, Name: "bad", Key: "C#web#N#0 CLAIM#bad", Why: "unexpected end of JSON input"}}
		_, err := w.flow().Detach(t.Context(), attach.DetachRequest{Cluster: "web"})
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "C#web#N#0 CLAIM#bad") || len(w.forgotten) > 0 || len(w.registered) != 1 {
			t.Errorf("%s: %v, forgotten %v", kind, err, w.forgotten)
		}
	}
}

// An instance launched while leases were waited for is seen, and the cluster goes on as before.
func TestDetachLooksAgainUnderItsLeases(t *testing.T) {
	w := attached(t)
	w.before = func(effect string) {
		if effect == attach.EffectLease && len(w.records.Claims) == 0 {
			if !w.registered["web"].Paused {
				t.Error("the cluster is not paused")
			}
			w.instances("late")
		}
	}
	before := w.registered["web"]
	_, err := w.flow().Detach(t.Context(), leaving(""))
	if !fault.Is(err, fault.Conflict) || !reflect.DeepEqual(w.registered["web"], before) || len(w.held) != 0 || len(w.forgotten) != 0 {
		t.Errorf("%v; registered %+v, leases %v", err, w.registered["web"], w.held)
	}
}

func TestDetachWaitsForWhoIsAtWork(t *testing.T) {
	w := attached(t)
	w.held[model.LeaseDisrupt], w.kept[model.LeaseDisrupt] = "somebody", start+40
	if out, err := w.flow().Detach(t.Context(), leaving("")); err != nil || !out.Gone || w.now < start+40 {
		t.Fatalf("%+v %v after %d s", out, err, w.now-start)
	}
	w = attached(t)
	w.held[model.LeaseDisrupt], w.kept[model.LeaseDisrupt] = "somebody", start+4000
	if _, err := w.flow().Detach(t.Context(), leaving("")); !fault.Is(err, fault.Conflict) || w.registered["web"].Paused || w.registered["web"].WasPaused != nil {
		t.Errorf("%v; registered %+v", err, w.registered["web"])
	}
}

// Killed anywhere it can be run again, or taken back by attaching the cluster again; whether it was paused is not forgotten.
func TestDetachCanBeRunAgainWhereverItStopped(t *testing.T) {
	for _, was := range []bool{false, true} {
		for n := 0; ; n++ {
			w := attached(t)
			w.instances("a", "b")
			reg := w.registered["web"]
			reg.Paused = was
			w.registered["web"] = reg
			died, count := errors.New("died"), 0
			w.before = func(effect string) {
				delete(w.fails, "before "+effect)
				if count++; count == n+1 {
					w.fails["before "+effect] = died
					w.fails["Register"] = died // the dead undo nothing
				}
			}
			_, err := w.flow().Detach(t.Context(), leaving(attach.ToPeople))
			if err == nil {
				if n < 9 {
					t.Fatalf("only %d effects", n)
				}
				break
			}
			w.before, w.fails, w.now = nil, map[string]error{}, w.now+1000
			left := w.registered["web"]
			if _, err := w.flow().Attach(t.Context(), standalone()); err != nil || w.registered["web"].Paused != was || w.registered["web"].WasPaused != nil {
				t.Fatalf("stopped before effect %d, attached again as %+v %v", n, w.registered["web"], err)
			}
			w.registered["web"] = left
			if out, err := w.flow().Detach(t.Context(), leaving(attach.ToPeople)); err != nil || !out.Gone || len(w.registered) != 0 {
				t.Fatalf("stopped before effect %d, run again: %+v %v", n, out, err)
			}
			if len(w.freed) < 4 {
				t.Fatalf("freed %v", w.freed)
			}
		}
	}
}

func TestHandOverToPeopleFreesOurObjectsAndNoOther(t *testing.T) {
	w := attached(t)
	w.instances("a")
	w.live.Nodes = append(w.live.Nodes, model.Node{Name: "group", UID: "g", ProviderID: "aws:///us-west-2a/i-g", Finalizer: true})
	w.live.Objects = append(w.live.Objects, model.ClaimObject{Finalizer: true, Claim: model.Claim{Name: "theirs", ObjectUID: "t"}})
	out, err := w.flow().Detach(t.Context(), leaving(attach.ToPeople))
	if err != nil || !out.Gone || out.Freed != 2 || !slices.Equal(w.freed, []string{"NodeClaim a o-a", "Node node-a n-a"}) {
		t.Errorf("%+v %v, freed %v", out, err, w.freed)
	}
}

// Karpenter goes by the same finalizer, and ends what no NodeClaim shows.
func TestHandOverToKarpenterLeavesObjectsAsTheyAre(t *testing.T) {
	w := attached(t)
	w.instances("a", "b")
	if out, err := w.flow().Detach(t.Context(), leaving(attach.ToKarpenter)); err != nil || !out.Gone || len(out.Living) != 2 || len(w.freed) != 0 {
		t.Errorf("%+v %v, freed %v", out, err, w.freed)
	}
	w = attached(t)
	w.instances("a", "b")
	w.live.Objects[1].Claim.ProviderID = ""
	_, err := w.flow().Detach(t.Context(), leaving(attach.ToKarpenter))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "b (i-b)") || strings.Contains(err.Error(), "i-a") {
		t.Errorf("%v", err)
	}
}

func TestHandOverRefusesWhatIsHalfDone(t *testing.T) {
	tests := map[string]struct {
		change func(*world)
		want   string
	}{
		"a launch":                   {func(w *world) { w.records.Intents = []model.Intent{{State: model.IntentCalling}} }, "1 launch under way"},
		"an end":                     {func(w *world) { w.records.Claims[0].State = model.Draining }, "1 instance that terminate"},
		"a command":                  {func(w *world) { w.records.Commands = []model.Command{{State: model.CommandCommitted}} }, "1 command that disrupt"},
		"a NodeClaim deleted":        {func(w *world) { w.live.Objects[0].DeletedUnix = 5 }, "NodeClaims a of cluster web are being deleted"},
		"an API server nobody reads": {func(w *world) { w.fails["Look"] = errors.New("no route") }, "no route"},
	}
	for name, tt := range tests {
		w := attached(t)
		w.instances("a")
		tt.change(w)
		if _, err := w.flow().Detach(t.Context(), leaving(attach.ToPeople)); err == nil || !strings.Contains(err.Error(), tt.want) || len(w.log) != 0 {
			t.Errorf("%s: %v, want %q; %v", name, err, tt.want, w.log)
		}
	}
}

func TestDetachMindsWhichClusterIsMeant(t *testing.T) {
	w := attached(t)
	d := leaving("")
	d.ARN = "arn:aws:eks:us-west-2:999999999999:cluster/web"
	if _, err := w.flow().Detach(t.Context(), d); !fault.Is(err, fault.NotFound) || len(w.registered) != 1 {
		t.Errorf("%v", err)
	}
	if _, err := w.flow().Detach(t.Context(), leaving("cas")); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	f := w.flow()
	f.Connector = nil
	if _, err := f.Detach(t.Context(), leaving(attach.ToPeople)); err == nil || len(w.registered) != 1 {
		t.Errorf("%v", err)
	}
	d = leaving("")
	d.DryRun = true
	if out, err := w.flow().Detach(t.Context(), d); err != nil || out.Gone || len(w.log) != 0 {
		t.Errorf("%+v %v %v", out, err, w.log)
	}
}
