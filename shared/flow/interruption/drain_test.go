package interruption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F109: both are there as soon as the end begins, whatever taint of that key there was; and where that failed, after the first
// drain run.
func TestF109_TaintAndBalancerExclusionAreThereAtOnce(t *testing.T) {
	cordoned := func(node *model.Node) bool {
		taints := 0
		for _, taint := range node.Taints {
			if taint.Key == model.TaintDisrupted {
				taints++
				if taint.Effect != model.NoSchedule {
					return false
				}
			}
		}
		return taints == 1 && node.Labels[model.LabelExcludeBalancers] != ""
	}
	w := house(t, 2, world.Options{}, nil)
	claims := load(t, w).Claims
	err := w.Cluster.PatchNode(t.Context(), model.NodePatch{Name: claims[0].NodeName, UID: claims[0].NodeUID, AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoExecute}}})
	if err != nil {
		t.Fatal(err)
	}
	end(t, w, claims[0], model.EndedExpired, 0)
	if node := nodeOf(w, claims[0]); !cordoned(node) {
		t.Errorf("begun: %+v", node)
	}
	recorded := claims[1]
	recorded.State, recorded.Drain = model.Draining, &model.Drain{SinceUnix: w.Clock.Now().Unix()}
	if _, err := w.Ledger.Advance(t.Context(), world.Name, recorded); err != nil {
		t.Fatal(err)
	}
	if _, err := drainOnce(t, w, w.Process(world.Fault{})); err != nil {
		t.Fatal(err)
	}
	if node := nodeOf(w, claims[1]); !cordoned(node) {
		t.Errorf("not tainted by whoever began it: %+v", node)
	}
	w.Tick(5 * time.Second) // replacements are waited for: nothing but the taint shows until then
	if _, err := drainOnce(t, w, w.Process(world.Fault{})); err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims {
		if node, object := nodeOf(w, claim), objectOf(w, claim); node.DeletedUnix == 0 || !node.Finalizer || object.DeletedUnix == 0 || !object.Finalizer {
			t.Errorf("they are not deleted and held: %+v %+v", node, object)
		}
	}
}

// F110, R26, R28: a budget that allows nothing stalls the drain; people learn which, and after ten minutes for how long. The
// API server is asked ever more seldom. Once the budget allows it the drain goes on.
func TestF110_R26_R28_BlockingBudgetStallsTheDrainWithEvents(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	asked := 0
	w.Cluster.Refuse(func(request string) error {
		if request == "evict" {
			asked++
		}
		return nil
	})
	sum := play(t, w, 12*time.Minute)
	if sum.Evicted+sum.Deleted > 0 || len(podsOn(w, claim)) != 1 || claimOf(t, w, claim.Name).State != model.Draining {
		t.Fatalf("%+v\n%s", sum, claimsText(t, w))
	}
	if asked < 12 || asked > 60 {
		t.Errorf("the Eviction API was asked %d times in 12 minutes", asked)
	}
	reported := saying(w, "Node", claim.NodeName, "FailedDraining")
	if !strings.Contains(reported, "web-all") || !strings.Contains(reported, "for 10 minutes") && !strings.Contains(reported, "for 11 minutes") {
		t.Errorf("people are told %q", reported)
	}
	if events := w.Cluster.Events("Node", claim.NodeName); len(events) > 12 {
		t.Errorf("%d events in 12 minutes", len(events))
	}
	budget(w, "web-all", "1")
	sum = play(t, w, 3*time.Minute)
	if sum.Evicted != 1 || sum.Deleted > 0 {
		t.Errorf("%+v", sum)
	}
	ended(t, w, claim)
	sound(t, w)
	if len(w.Cluster.Waiting()) > 0 {
		t.Errorf("pods wait: %v", w.Cluster.Waiting())
	}
	if left := leaves(w); len(left) != 1 || saying(w, "Pod", strings.TrimPrefix(left[0].pod, "default/"), "Evicted") == "" {
		t.Errorf("%+v", left)
	}
}

// tiers puts pods of every tier onto a claim's node, in the wrong order of names.
func tiers(w *world.World, claim model.Claim) []string {
	shape := func(owner, class string) model.PodShape {
		s := world.Shape(10, 1<<20)
		s.OwnerKind, s.OwnerName, s.PriorityClass, s.GraceSeconds = owner, owner+class, class, 7
		return s
	}
	names := []string{"z-ordinary", "y-daemon", "b-critical", "a-critical-daemon"}
	w.Cluster.CreatePodOn(names[0], claim.NodeName, shape("ReplicaSet", ""))
	w.Cluster.CreatePodOn(names[1], claim.NodeName, shape("DaemonSet", ""))
	w.Cluster.CreatePodOn(names[2], claim.NodeName, shape("ReplicaSet", "system-cluster-critical"))
	w.Cluster.CreatePodOn(names[3], claim.NodeName, shape("DaemonSet", "system-node-critical"))
	w.Tick(10 * time.Second)
	return names
}

// F111, B14, R34: pods leave in four tiers, each when the one before is really gone; critical daemons last.
func TestF111_B14_R34_CriticalDaemonsLeaveLast(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	names := tiers(w, claim)
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
	at := map[string]time.Time{}
	for _, l := range leaves(w) {
		at[l.pod] = l.at
	}
	for i := 1; i < len(names); i++ {
		before, pod := "default/"+names[i-1], "default/"+names[i]
		if at[pod].IsZero() || gone(w, before).IsZero() || at[pod].Before(gone(w, before)) {
			t.Errorf("%s was asked to leave at %s, %s was gone at %s", pod, at[pod], before, gone(w, before))
		}
	}
}

// F112: a pod that is not to be disrupted stays until the deadline, others leave; without a deadline it stays.
func TestF112_DoNotDisruptIsKeptUntilTheDeadline(t *testing.T) {
	for _, within := range []time.Duration{0, 20 * time.Minute} {
		w := house(t, 1, world.Options{}, nil)
		claim := load(t, w).Claims[0]
		shape := world.Shape(10, 1<<20)
		shape.DoNotDisrupt, shape.GraceSeconds = "true", 60
		w.Cluster.CreatePodOn("keep", claim.NodeName, shape)
		w.Tick(10 * time.Second)
		from := w.Clock.Now()
		end(t, w, claim, model.EndedExpired, within)
		sum := play(t, w, 30*time.Minute)
		if within == 0 {
			if sum.Evicted != 1 || sum.Deleted > 0 || !slices.Equal(podsOn(w, claim), []string{"default/keep"}) || claimOf(t, w, claim.Name).State != model.Draining {
				t.Errorf("without a deadline: %+v, left are %v", sum, podsOn(w, claim))
			}
			continue
		}
		ended(t, w, claim)
		left := leaves(w)
		if last := left[len(left)-1]; last.pod != "default/keep" || last.verb != "delete" || last.at.Before(from.Add(within-60*time.Second)) {
			t.Errorf("%+v", left)
		}
		if saying(w, "Pod", "keep", "Disrupted") == "" || saying(w, "Node", claim.NodeName, "TerminationGracePeriodExpiring") == "" || saying(w, "NodeClaim", claim.Name, "TerminationGracePeriodExpiring") == "" {
			t.Error("nobody is told")
		}
	}
}

// F113, R25, S15: by the deadline all pods are gone and the instance is asked to end, whatever budget, annotation or grace says.
func TestF113_R25_S15_ByTheDeadlineAllIsGone(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	long := world.Shape(10, 1<<20)
	long.GraceSeconds, long.DoNotDisrupt = 24*3600, "true"
	w.Cluster.CreatePodOn("day", claim.NodeName, long)
	w.Tick(10 * time.Second)
	from := w.Clock.Now()
	end(t, w, claim, model.EndedExpired, 10*time.Minute)
	play(t, w, 11*time.Minute)
	if left := podsOn(w, claim); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	at := terminated(w, claim.InstanceID)
	if at.IsZero() || at.Sub(from) > 10*time.Minute+15*time.Second {
		t.Errorf("its machine was told to end %s after the drain began", at.Sub(from))
	}
	play(t, w, time.Minute)
	ended(t, w, claim)
}

// F114, F115, B1: a pod is deleted its own grace before the deadline and not sooner, and one with more grace than there is at
// once, with what there is.
func TestF114_F115_B1_PodsAreDeletedTheirGraceBeforeTheDeadline(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	shape := world.Shape(10, 1<<20)
	shape.DoNotDisrupt, shape.GraceSeconds = "true", 300
	w.Cluster.CreatePodOn("minutes", claim.NodeName, shape)
	shape.GraceSeconds = 2 * 3600
	w.Cluster.CreatePodOn("hours", claim.NodeName, shape)
	w.Tick(10 * time.Second)
	from := w.Clock.Now()
	end(t, w, claim, model.EndedExpired, time.Hour)
	play(t, w, 62*time.Minute)
	ended(t, w, claim)
	want := map[string][2]time.Duration{"default/minutes": {55 * time.Minute, 300 * time.Second}, "default/hours": {0, time.Hour}}
	seen := 0
	for _, l := range leaves(w) {
		if l.verb == "delete" && l.at.Add(l.grace).After(from.Add(time.Hour+2*time.Second)) {
			t.Errorf("%s has until %s after the deadline", l.pod, l.at.Add(l.grace).Sub(from.Add(time.Hour)))
		}
		if w, ok := want[l.pod]; ok {
			seen++
			if d := l.at.Sub(from) - w[0]; d < 0 || d > 15*time.Second || l.grace > w[1] || l.grace < w[1]-15*time.Second || l.verb != "delete" {
				t.Errorf("%+v, %s after the drain began; want %v", l, l.at.Sub(from), w)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%+v", leaves(w))
	}
}

// F116, B13, S33, R31: the instance is not told to end while a volume of a drained pod is attached, unless the deadline is
// over.
func TestF116_B13_S33_R31_InstanceOutlivesItsVolumes(t *testing.T) {
	for _, within := range []time.Duration{0, time.Minute} {
		w := start(t, world.Options{})
		w.Cluster.HoldClaims(true)
		w.Volumes.SetDetach(world.Span{Min: 3 * time.Minute, Max: 3 * time.Minute})
		w.Workloads.Add(world.Workload{Kind: world.StatefulSet, Name: "db", Shape: big(), Replicas: 1, Stores: true})
		w.Tick(2 * time.Second)
		settle(t, w)
		w.Tick(time.Minute)
		claim := load(t, w).Claims[0]
		from := w.Clock.Now()
		end(t, w, claim, model.EndedExpired, within)
		play(t, w, 6*time.Minute)
		at := terminated(w, claim.InstanceID)
		if within == 0 && at.Sub(from) < 3*time.Minute || within != 0 && (at.Sub(from) < 30*time.Second || at.Sub(from) > 80*time.Second) {
			t.Errorf("within %s: its machine was told to end after %s", within, at.Sub(from))
		}
		if saying(w, "Node", claim.NodeName, "AwaitingVolumeDetachment") == "" && within == 0 {
			t.Error("nobody is told")
		}
		ended(t, w, claim)
	}
}

// F117: pods that tolerate the taint, static ones and ended ones delay nothing and are left alone.
func TestF117_PodsNobodyWaitsForDelayNothing(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	tolerant := world.Shape(10, 1<<20)
	tolerant.Tolerations = []model.Toleration{{Operator: "Exists"}}
	static := world.Shape(10, 1<<20)
	static.OwnerKind = "Node"
	w.Cluster.CreatePodOn("tolerant", claim.NodeName, tolerant)
	w.Cluster.CreatePodOn("static", claim.NodeName, static)
	w.Tick(10 * time.Second)
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 3*time.Minute)
	ended(t, w, claim)
	if left := leaves(w); len(left) != 1 {
		t.Errorf("%+v", left)
	}
}

// F118: a NotReady node whose instance EC2 does not show any more loses its finalizer without a drain.
func TestF118_NodeWithoutAnInstanceIsLetGoWithoutADrain(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	w.Tick(11 * time.Minute)
	w.Kubelets.Silence(claim.InstanceID)
	w.Tick(41 * time.Second)
	hide := map[string]bool{claim.InstanceID: true}
	sum := passHiding(t, w, 2*time.Minute, hide)
	if sum.Evicted+sum.Deleted+sum.Drained > 0 || sum.Closed != 1 {
		t.Errorf("%+v", sum)
	}
	if nodeOf(w, claim) != nil || objectOf(w, claim) != nil || claimOf(t, w, claim.Name).State != model.Gone {
		t.Errorf("left are %+v %+v", nodeOf(w, claim), objectOf(w, claim))
	}
}

// C11: a Node that somebody deleted and its kubelet made again is the one that is drained, whatever UID the claim's record has.
func TestC11_NodeThatWasMadeAnewIsDrained(t *testing.T) {
	for name, began := range map[string]bool{"before its end began": false, "while it was drained": true} {
		t.Run(name, func(t *testing.T) {
			w := house(t, 2, world.Options{}, labeled)
			budget(w, "web-all", "0")
			claim := load(t, w).Claims[0]
			if began {
				end(t, w, claim, model.EndedExpired, 0)
				play(t, w, time.Minute)
			}
			anew := *nodeOf(w, claim)
			w.Cluster.DeleteNode(anew.Name)
			anew.UID, anew.Taints, anew.DeletedUnix = "made-anew", nil, 0
			w.Cluster.PutNode(anew)
			if !began {
				end(t, w, claim, model.EndedExpired, 0)
			}
			play(t, w, 2*time.Minute)
			now := claimOf(t, w, claim.Name)
			if now.State != model.Draining || now.NodeUID != "made-anew" || len(podsOn(w, claim)) != 1 {
				t.Fatalf("%+v", now)
			}
			if node := nodeOf(w, now); !slices.ContainsFunc(node.Taints, func(taint model.Taint) bool { return taint.Key == model.TaintDisrupted }) {
				t.Errorf("pods may come to it: %+v", node.Taints)
			}
			budget(w, "web-all", "1")
			play(t, w, 3*time.Minute)
			ended(t, w, now)
			if left := leaves(w); len(left) != 1 {
				t.Errorf("%+v", left)
			}
		})
	}
}

// F118: the same of a node that was being drained when its instance was gone.
func TestF118_DrainOfAnInstanceThatEndsMeanwhileIsOver(t *testing.T) {
	w := house(t, 2, world.Options{Kubelets: world.KubeletOptions{NodeGoneMin: time.Hour, NodeGoneMax: time.Hour}}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, time.Minute)
	w.Fleet.EndByHand(claim.InstanceID)
	play(t, w, 2*time.Minute)
	ended(t, w, claim)
	if left := leaves(w); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// F119: Node and NodeClaim stay until EC2 says that the instance was terminated, however long that takes.
func TestF119_ObjectsStayUntilTheInstanceHasEnded(t *testing.T) {
	slow := world.Options{Fleet: world.FleetOptions{ShuttingDown: world.Span{Min: 4 * time.Minute, Max: 4 * time.Minute}}, Kubelets: world.KubeletOptions{NodeGoneMin: time.Hour, NodeGoneMax: time.Hour}}
	w := house(t, 1, slow, nil)
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	for range 60 {
		play(t, w, 5*time.Second)
		m, _ := w.Fleet.Instance(claim.InstanceID)
		if m.State == "terminated" {
			break
		}
		if nodeOf(w, claim) == nil || objectOf(w, claim) == nil {
			t.Fatalf("machine %s is %s, left are %v %v", m.ID, m.State, nodeOf(w, claim), objectOf(w, claim))
		}
	}
	play(t, w, time.Minute)
	ended(t, w, claim)
	sound(t, w)
}

// F119: where a finalizer of others keeps the Node, its NodeClaim stays as well, with the condition that its instance
// ends, however it ended, and goes once the Node has.
func TestF119_NodeClaimStaysWhileOthersKeepItsNode(t *testing.T) {
	for name, byHand := range map[string]bool{"drained": false, "ended by hand": true} {
		t.Run(name, func(t *testing.T) {
			kubelets := world.KubeletOptions{NodeGoneMin: time.Hour, NodeGoneMax: time.Hour}
			w := house(t, 2, world.Options{Kubelets: kubelets}, nil)
			claim := load(t, w).Claims[0]
			world.KeepNode(w.Cluster, claim.NodeName, true)
			if byHand {
				w.Fleet.EndByHand(claim.InstanceID)
			} else {
				end(t, w, claim, model.EndedExpired, 0)
			}
			play(t, w, 5*time.Minute)
			if now := claimOf(t, w, claim.Name); now.State != model.Gone {
				t.Errorf("claim %+v", now)
			}
			node, object := nodeOf(w, claim), objectOf(w, claim)
			if node == nil || node.DeletedUnix == 0 || node.Finalizer || object == nil || object.DeletedUnix == 0 {
				t.Fatalf("left are %+v %+v", node, object)
			}
			if !byHand && (object.Claim.Drain == nil || object.Claim.Drain.EndUnix == 0) {
				t.Errorf("the NodeClaim shows %+v", object.Claim.Drain)
			}
			world.KeepNode(w.Cluster, claim.NodeName, false)
			play(t, w, 2*time.Minute)
			ended(t, w, claim)
			sound(t, w)
		})
	}
}

// F108: deleting a node, a NodeClaim or a NodePool drains what hangs from it and takes all three layers away.
func TestF108_DeletingByHandTakesAllThreeLayers(t *testing.T) {
	for _, kind := range []string{world.KindNode, world.KindNodeClaim, world.KindPool} {
		w := house(t, 2, world.Options{}, nil)
		claims := load(t, w).Claims
		for _, claim := range claims { // as registration does
			if err := w.Cluster.PatchNode(t.Context(), model.NodePatch{Name: claim.NodeName, UID: claim.NodeUID, Finalizer: true}); err != nil {
				t.Fatal(err)
			}
		}
		name := map[string]string{world.KindNode: claims[0].NodeName, world.KindNodeClaim: claims[0].Name, world.KindPool: "default"}[kind]
		w.Cluster.Delete(kind, name)
		sum := play(t, w, 5*time.Minute)
		going := claims[:1]
		if kind == world.KindPool {
			going = claims
		}
		if sum.Deleted > 0 || sum.Evicted != len(going) {
			t.Errorf("%s: %+v", kind, sum)
		}
		for _, claim := range going {
			ended(t, w, claim)
		}
		if kind != world.KindPool {
			sound(t, w)
		}
	}
}

// S10: a pod that must not be disrupted and lands on the node at any step is waited for.
func TestS10_PodThatMustStayBindsAtEachStep(t *testing.T) {
	for after := range 12 {
		w := house(t, 1, world.Options{}, nil)
		claim := load(t, w).Claims[0]
		end(t, w, claim, model.EndedExpired, 0)
		play(t, w, time.Duration(after)*time.Second)
		if claimOf(t, w, claim.Name).State != model.Draining {
			break // its instance is ending: too late for anybody
		}
		shape := world.Shape(10, 1<<20)
		shape.DoNotDisrupt = "true"
		w.Cluster.CreatePodOn("late", claim.NodeName, shape)
		play(t, w, 3*time.Minute)
		if left := podsOn(w, claim); !slices.Equal(left, []string{"default/late"}) || !terminated(w, claim.InstanceID).IsZero() {
			t.Errorf("bound after %d s: left are %v, %s", after, left, claimsText(t, w))
		}
	}
}

// R35: a pod bound after the node was found empty leaves with its own grace, as every other.
func TestR35_PodBoundAfterTheVerdictLeavesWithItsGrace(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	for range 60 {
		play(t, w, time.Second)
		if claimOf(t, w, claim.Name).Drain.EmptyUnix != 0 {
			break
		}
	}
	shape := world.Shape(10, 1<<20)
	shape.GraceSeconds = 45
	w.Cluster.CreatePodOn("late", claim.NodeName, shape)
	play(t, w, 3*time.Minute)
	ended(t, w, claim)
	left := leaves(w)
	if last := left[len(left)-1]; last.pod != "default/late" || last.verb != "evict" || last.grace < 44*time.Second || terminated(w, claim.InstanceID).Before(gone(w, "default/late")) {
		t.Errorf("%+v", left)
	}
}

// S11, S12: what decides is read from the API server when it is decided, whatever the snapshot shows: a pod annotated after the
// listing, on a cluster whose watch has been silent for long, stays.
func TestS11_S12_DrainsReadPodsLive(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "all", MaxUnavailable: "0", Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}}})
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 9*time.Second)
	w.Stale(time.Hour)
	shape := world.Shape(10, 1<<20)
	shape.DoNotDisrupt = "1h"
	w.Cluster.CreatePodOn("aged-0", claim.NodeName, shape)
	w.Tick(2 * time.Second)
	budget(w, "all", "1")
	playWith(t, w, 3*time.Minute, func(context.Context, *world.Process, *interruption.Flow) {})
	if left := podsOn(w, claim); !slices.Equal(left, []string{"default/aged-0"}) {
		t.Errorf("left are %v", left)
	}
	if saying(w, "Pod", "aged-0", "DoNotDisruptUntil") == "" {
		t.Error("nobody is told until when")
	}
}

// successor has an API server on which a StatefulSet's pod is replaced by one of the same name right before each eviction.
type successor struct {
	port.Connector[interruption.Clients]
	replace func(pod model.PodRef)
}

func (s successor) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := s.Connector.Connect(ctx, reg)
	site.Pods = successorPods{site.Pods, s.replace}
	return site, err
}

type successorPods struct {
	interruption.Pods
	replace func(pod model.PodRef)
}

func (s successorPods) Evict(ctx context.Context, pod model.PodRef) error {
	s.replace(pod)
	return s.Pods.Evict(ctx, pod)
}

func (s successorPods) Delete(ctx context.Context, pod model.PodRef, grace int64) error {
	s.replace(pod)
	return s.Pods.Delete(ctx, pod, grace)
}

// B6, S13, R29: the pod that comes after one of the same name is never hit.
func TestB6_S13_R29_SuccessorOfTheSameNameIsNeverHit(t *testing.T) {
	for _, within := range []time.Duration{0, time.Second} {
		w := house(t, 1, world.Options{}, nil)
		w.Workloads.Scale("web", 0)
		w.Tick(2 * time.Minute)
		claim := load(t, w).Claims[0]
		shape := world.Shape(10, 1<<20)
		w.Cluster.CreatePodOn("db-0", claim.NodeName, shape)
		w.Tick(5 * time.Second)
		end(t, w, claim, model.EndedExpired, within)
		elsewhere := ""
		sum := playWith(t, w, 30*time.Second, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
			flow.Connector = successor{flow.Connector, func(pod model.PodRef) {
				if elsewhere != "" {
					return
				}
				w.Cluster.DeletePod(pod.Namespace, pod.Name)
				elsewhere = "another-node"
				w.Cluster.CreatePodOn(pod.Name, elsewhere, shape)
			}}
		})
		if elsewhere == "" || sum.Evicted+sum.Deleted > 0 {
			t.Errorf("%+v", sum)
		}
		for _, pod := range w.Cluster.Pods() {
			if pod.Name == "db-0" && pod.DeletedUnix != 0 {
				t.Error("the successor is being deleted")
			}
		}
	}
}

// S14, R33: a deadline an hour ago leaves a second of grace, never less.
func TestS14_R33_DeadlineLongAgoLeavesASecond(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedUnhealthy, -time.Hour)
	play(t, w, 2*time.Minute)
	ended(t, w, claim)
	left := leaves(w)
	if len(left) != 1 || left[0].verb != "delete" || left[0].grace < time.Second || left[0].grace > 2*time.Second {
		t.Errorf("%+v", left)
	}
}

// S26, R37: NodeClaims that are deleted within a second of their making wedge nothing.
func TestS26_R37_ClaimsDeletedAtOnceWedgeNothing(t *testing.T) {
	w := start(t, world.Options{})
	w.Cluster.HoldClaims(true)
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: big(), Replicas: 3})
	w.Tick(2 * time.Second)
	for range 100 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), "sweep")
		for _, object := range w.Cluster.Claims() {
			w.Cluster.Delete(world.KindNodeClaim, object.Claim.Name)
		}
		play(t, w, time.Second)
	}
	play(t, w, 10*time.Minute)
	settle(t, w)
	sound(t, w)
	if len(w.Cluster.Waiting()) > 0 || len(load(t, w).Claims) != 3 {
		t.Errorf("waiting %v\n%s", w.Cluster.Waiting(), claimsText(t, w))
	}
}

// S34, R27: two budgets on one pod make every eviction fail: few are tried, people learn of both, and the deadline ends it.
func TestS34_R27_TwoBudgetsAreToldAndEndAtTheDeadline(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	budget(w, "one", "1")
	budget(w, "two", "1")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 20*time.Minute)
	asked := 0
	w.Cluster.Refuse(func(request string) error {
		if request == "evict" {
			asked++
		}
		return nil
	})
	play(t, w, 15*time.Minute)
	if asked < 10 || asked > 100 || len(podsOn(w, claim)) != 1 {
		t.Errorf("asked %d times, left are %v", asked, podsOn(w, claim))
	}
	if reported := saying(w, "Node", claim.NodeName, "FailedDraining"); !strings.Contains(reported, "PodDisruptionBudget") {
		t.Errorf("people are told %q", reported)
	}
	w.Cluster.Refuse(nil)
	play(t, w, 7*time.Minute)
	ended(t, w, claim)
}

// S39: only named instances end, and telling EC2 again ends nobody else.
func TestS39_OnlyNamedInstancesEnd(t *testing.T) {
	w := house(t, 5, world.Options{}, nil)
	claim := load(t, w).Claims[2]
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
	for _, entry := range w.Log.Since(0) {
		if called, ok := entry.Fact.(world.TerminateCalled); ok && !slices.Equal(called.IDs, []string{claim.InstanceID}) {
			t.Errorf("%v were told to end", called.IDs)
		}
	}
	if n := len(instances(w)); n != 5 {
		t.Errorf("%d machines", n)
	}
}

// R32: a node whose kubelet is silent is ended within the time a repair takes, though nothing on it ever goes.
func TestR32_NodeThatIsSilentIsEndedByForce(t *testing.T) {
	w := house(t, 1, world.Options{Kubelets: world.KubeletOptions{EvictAfter: 24 * time.Hour}}, labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	w.Kubelets.Silence(claim.InstanceID)
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 34*time.Minute)
	if at := terminated(w, claim.InstanceID); at.IsZero() {
		t.Errorf("%+v", claimOf(t, w, claim.Name).Drain)
	}
}

// B7: an instance whose tags were taken off is not ours any more: neither it nor what runs on it is touched.
func TestB7_InstanceThatLostItsTagsIsLeftAlone(t *testing.T) {
	w := house(t, 2, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	w.Fleet.Retag(claim.InstanceID, map[string]string{"kubernetes.io/cluster/shop": "owned", model.LabelNodePool: "default", "joiner.sh/intent": claim.Intent})
	sum := play(t, w, 5*time.Minute)
	if sum.Evicted+sum.Deleted > 0 || len(sum.Terminated) > 0 || len(podsOn(w, claim)) != 1 {
		t.Errorf("%+v", sum)
	}
	if len(sum.Problems) == 0 || !strings.Contains(strings.Join(sum.Problems, " "), "tags") {
		t.Errorf("nobody is told: %v", sum.Problems)
	}
}

// C7: what panics over one claim delays no other.
func TestC7_ClaimThatPanicsDelaysNoOther(t *testing.T) {
	w := house(t, 3, world.Options{}, nil)
	claims := load(t, w).Claims
	for _, claim := range claims {
		end(t, w, claim, model.EndedExpired, 0)
	}
	sum := playWith(t, w, 5*time.Minute, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		flow.Connector = panicking{flow.Connector, claims[1].NodeName}
	})
	ended(t, w, claims[0])
	ended(t, w, claims[2])
	if !strings.Contains(strings.Join(sum.Problems, " "), "panicked") || claimOf(t, w, claims[1].Name).State != model.Draining {
		t.Errorf("%v", sum.Problems)
	}
	play(t, w, 3*time.Minute)
	ended(t, w, claims[1])
}

type panicking struct {
	port.Connector[interruption.Clients]
	node string
}

func (p panicking) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := p.Connector.Connect(ctx, reg)
	site.Objects = panickingObjects{site.Objects, p.node}
	return site, err
}

type panickingObjects struct {
	interruption.Objects
	node string
}

func (p panickingObjects) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	if node.Name == p.node {
		panic("index out of range")
	}
	return p.Objects.ReadNode(ctx, node)
}

// S35, R61: a call about one claim that never returns costs half of the run's time: the others' steps are done, and the next run is
// asked for.
func TestS35_R61_ClaimWhoseNodeCannotBeReadInTimeDelaysNoOther(t *testing.T) {
	w := house(t, 2, world.Options{}, nil)
	claims := load(t, w).Claims
	for _, claim := range claims {
		end(t, w, claim, model.EndedExpired, time.Minute)
	}
	w.Tick(6 * time.Second)
	flow := w.Ports(w.Process(world.Fault{}), "drainer").Interruption(w.Clock.Now, interruption.Settings{})
	flow.Connector = hanging{flow.Connector, claims[0].NodeName}
	before := w.Passes.Len()
	request := interruption.Request{Cluster: world.Name, Owner: "one", Deadline: w.Clock.Now().Add(3*time.Second + 400*time.Millisecond)}
	outcome, err := flow.Drain(t.Context(), request)
	if err != nil || outcome.Evicted != 1 || len(podsOn(w, claims[0])) != 1 || w.Passes.Len() != before+1 {
		t.Errorf("%+v %v, %d messages", outcome, err, w.Passes.Len()-before)
	}
}

type hanging struct {
	port.Connector[interruption.Clients]
	node string
}

func (h hanging) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := h.Connector.Connect(ctx, reg)
	site.Objects = hangingObjects{site.Objects, h.node}
	return site, err
}

type hangingObjects struct {
	interruption.Objects
	node string
}

func (h hangingObjects) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	if node.Name == h.node {
		<-ctx.Done()
		return model.Occupied{}, ctx.Err()
	}
	return h.Objects.ReadNode(ctx, node)
}

// C5: drain runs nobody needs change nothing, whenever they come.
func TestC5_DrainRunsNobodyNeedsChangeNothing(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	if outcome, err := drainOnce(t, w, w.Process(world.Fault{})); err != nil || outcome.Due != 0 || w.Passes.Len() != 0 {
		t.Errorf("nothing drains: %+v %v", outcome, err)
	}
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 2*time.Minute)
	before, waiting := claimOf(t, w, claim.Name), w.Passes.Len()
	for range 10 {
		if outcome, err := drainOnce(t, w, w.Process(world.Fault{})); err != nil || outcome.Refused > 1 {
			t.Errorf("%+v %v", outcome, err)
		}
	}
	if after := claimOf(t, w, claim.Name); after.Version > before.Version+3 || w.Passes.Len() > waiting+1 {
		t.Errorf("version %d became %d, %d messages became %d", before.Version, after.Version, waiting, w.Passes.Len())
	}
}

// However many runs are asked for at once, one message is left of them: the next step's.
func TestHintsOfDrainsDoNotMultiply(t *testing.T) {
	w := house(t, 3, world.Options{}, labeled)
	budget(w, "web-all", "0")
	for _, claim := range load(t, w).Claims {
		end(t, w, claim, model.EndedExpired, 0)
	}
	for i := range 50 {
		if err := w.Passes.Drain(t.Context(), world.Name, fmt.Sprintf("storm/%d", i), time.Duration(i%7)*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	play(t, w, 10*time.Minute)
	if n := w.Passes.Len(); n > 2 {
		t.Errorf("%d messages", n)
	}
	sum := play(t, w, 10*time.Minute)
	if sum.drains > 130 || sum.drains < 20 {
		t.Errorf("%d drain runs in ten minutes of waiting", sum.drains)
	}
}

// R71: of two drain runs the second asks again, some times at most, and each time later.
func TestR71_SecondDrainRunAsksAgainAFewTimes(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	end(t, w, load(t, w).Claims[0], model.EndedExpired, 0)
	messages, err := w.Passes.Receive(t.Context(), 10)
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	if err := w.Passes.Delete(t.Context(), messages[0].Receipt); err != nil {
		t.Fatal(err)
	}
	hold := func() {
		_, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseDrainer, "first", w.Clock.Now().Unix(), w.Clock.Now().Add(30*time.Second).Unix())
		if err != nil {
			t.Fatal(err)
		}
	}
	hold()
	var sum totals
	if err := sum.drain(t, w, interruption.Request{}, func(context.Context, *world.Process, *interruption.Flow) {}); err != nil {
		t.Fatal(err)
	}
	runs := 1
	for range 300 {
		before := sum.drains
		sum.receive(t, w, func(context.Context, *world.Process, *interruption.Flow) {})
		runs += sum.drains - before
		w.Tick(time.Second)
		hold()
	}
	if runs < 5 || runs > 8 || sum.Evicted > 0 || w.Passes.Len() > 0 {
		t.Errorf("%d runs, %d messages: %+v", runs, w.Passes.Len(), sum)
	}
}

// While a port fails nobody leaves and nothing ends; once it works all goes on.
func TestC11_S35_S40_NothingLeavesWhileAnythingIsDown(t *testing.T) {
	down := fault.New(fault.Internal, "", "i/o timeout")
	for name, cut := range map[string]func(w *world.World, until time.Time) change{
		"EC2": func(w *world.World, until time.Time) change {
			w.Fleet.Unreachable(until)
			return nil
		},
		"API server": func(w *world.World, until time.Time) change {
			w.Cluster.Refuse(func(string) error {
				if w.Clock.Now().Before(until) {
					return down
				}
				return nil
			})
			return nil
		},
		"ledger": func(w *world.World, until time.Time) change {
			return func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
				if w.Clock.Now().Before(until) {
					flow.Collector = noStore{flow.Collector, down}
				}
			}
		},
		"leases": func(w *world.World, until time.Time) change {
			return func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
				if w.Clock.Now().Before(until) {
					flow.Leases = noLeases{down}
				}
			}
		},
		"steps": func(w *world.World, until time.Time) change {
			return func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
				if w.Clock.Now().Before(until) {
					flow.Steps = noSteps{down}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := house(t, 3, world.Options{}, nil)
			claims := load(t, w).Claims
			end(t, w, claims[0], model.EndedExpired, 0)
			const long = 3 * time.Hour
			alter := cut(w, w.Clock.Now().Add(long))
			if alter == nil {
				alter = func(context.Context, *world.Process, *interruption.Flow) {}
			}
			w.Tick(time.Second)
			sum := passWith(t, w, long-2*time.Second, alter)
			if len(leaves(w)) > 0 || len(instances(w)) != 3 || len(w.Cluster.Nodes()) != 3 || len(w.Cluster.Claims()) != 3 || sum.Closed > 0 {
				t.Errorf("in the outage: %+v, %+v", leaves(w), sum)
			}
			if runs := sum.drains + sum.runs; runs > 3*60*12 {
				t.Errorf("%d runs in three hours", runs)
			}
			playWith(t, w, 5*time.Minute, alter)
			ended(t, w, claims[0])
			sound(t, w)
			if len(leaves(w)) != 1 {
				t.Errorf("afterwards: %+v", leaves(w))
			}
		})
	}
}

type noStore struct {
	interruption.CollectorStore
	err error
}

func (n noStore) Records(context.Context, model.Registration) (model.ClusterRecords, error) {
	return model.ClusterRecords{}, n.err
}

func (n noStore) Ending(context.Context, model.Registration) (model.DrainInput, error) {
	return model.DrainInput{}, n.err
}

type noLeases struct{ err error }

func (n noLeases) AcquireLease(context.Context, string, string, string, int64, int64) (model.Fence, error) {
	return model.Fence{}, n.err
}

func (n noLeases) Release(context.Context, model.Fence) error { return n.err }

type noSteps struct{ err error }

func (n noSteps) Advance(_ context.Context, _ string, claim model.Claim) (model.Claim, error) {
	return claim, n.err
}

// B3: the disruption function hears of it as soon as a node that a command disrupted has ended, since budgets have room again; of what ended for
// other reasons its tick is soon enough.
func TestDisruptionIsRequestedWhenNodesOfCommandsHaveEnded(t *testing.T) {
	for _, c := range []struct {
		name    string
		command string
		want    int
	}{{"of a command", "c-1", 1}, {"of none", "", 0}} {
		t.Run(c.name, func(t *testing.T) {
			w := house(t, 2, world.Options{}, labeled)
			claim := load(t, w).Claims[0]
			claim.Command = c.command
			end(t, w, claim, model.EndedExpired, 0)
			before := w.DisruptHints.Len()
			for range 60 {
				if play(t, w, 5*time.Second).Closed > 0 {
					break
				}
				if n := w.DisruptHints.Len() - before; n != 0 {
					t.Fatalf("%d hints while the node is being drained", n)
				}
			}
			if n := w.DisruptHints.Len() - before; n != c.want {
				t.Errorf("%d hints once it has ended, want %d", n, c.want)
			}
			if n := len(load(t, w).Claims); n == 0 {
				t.Error("there is no claim left: the test shows nothing")
			}
		})
	}
}
