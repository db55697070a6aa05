package interruption_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// hear handles what lies in the queue of notices until nothing is left to receive, batch by batch as a queue hands them
// out, and returns what came of it.
func hear(t testing.TB, w *world.World) (sum interruption.NoticesOutcome, messages int) {
	t.Helper()
	flow := w.Ports(w.Process(world.Fault{}), "notices").Interruption(w.Clock.Now, interruption.Settings{})
	sum.Begun = map[string]int{}
	for {
		batch, err := w.Notices.Receive(context.Background(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			return sum, messages
		}
		var received []interruption.Received
		for _, m := range batch {
			received = append(received, interruption.Received{Message: m.ID, Body: []byte(m.Body)})
		}
		failed, out := flow.Notices(context.Background(), received, w.Clock.Now().Add(world.InvocationTimeout))
		for kind, n := range out.Begun {
			sum.Begun[kind] += n
		}
		sum.Foreign, sum.Already, sum.Passes, sum.Failed = sum.Foreign+out.Foreign, sum.Already+out.Already, sum.Passes+out.Passes, sum.Failed+out.Failed
		sum.Problems = append(sum.Problems, out.Problems...)
		messages += len(batch)
		for _, m := range batch {
			if slices.Contains(failed, m.ID) {
				continue
			}
			if err := w.Notices.Delete(context.Background(), m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// disrupted reports whether a node bears the taint of a drain.
func disrupted(node *model.Node) bool {
	return node != nil && slices.Contains(node.Taints, model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
}

// of returns the live claims of a capacity type.
func of(t *testing.T, w *world.World, capacityType string) []model.Claim {
	t.Helper()
	var out []model.Claim
	for _, claim := range load(t, w).Claims {
		if claim.CapacityType == capacityType {
			out = append(out, claim)
		}
	}
	if len(out) == 0 {
		t.Fatalf("there is no %s claim:\n%s", capacityType, claimsText(t, w))
	}
	return out
}

// C1: a warning that was accepted taints its node in the same invocation, and its pod leaves within eight seconds.
func TestC1_WarningTaintsAtOnceAndThePodLeavesSoon(t *testing.T) {
	w := house(t, 3, world.Options{Events: world.Span{Min: time.Second}}, nil)
	claim := of(t, w, model.Spot)[0]
	warned := w.Clock.Now()
	w.Fleet.Interrupt(claim.InstanceID, 2*time.Minute)
	for range 20 {
		w.Tick(time.Second)
		if sum, n := hear(t, w); n > 0 && (sum.Begun["spot_interrupted"] != 1 || sum.Failed > 0) {
			t.Fatalf("%+v", sum)
		}
		if disrupted(nodeOf(w, claim)) {
			break
		}
	}
	if took := w.Clock.Now().Sub(warned); took > 5*time.Second || !disrupted(nodeOf(w, claim)) {
		t.Errorf("tainted %v after %s", disrupted(nodeOf(w, claim)), took)
	}
	if left := claimOf(t, w, claim.Name).Drain.DeadlineUnix - warned.Unix(); left < 113 || left > 116 {
		t.Errorf("the deadline is %d s after the warning", left)
	}
	play(t, w, 3*time.Minute)
	left := leaves(w)
	if len(left) == 0 || left[0].verb != "evict" || left[0].at.Sub(warned) > 8*time.Second {
		t.Errorf("first to leave, warned at %s: %+v", warned, left)
	}
	hear(t, w) // that it is shutting down, and has ended
	play(t, w, 2*time.Minute)
	ended(t, w, claim)
	sound(t, w)
}

// C2, R63: a warning that EventBridge loses is found by the next question to EC2, within half a minute.
func TestC2_WarningThatIsLostIsFoundInHalfAMinute(t *testing.T) {
	for _, phase := range []int{0, 7, 13, 24, 31, 44, 59} {
		w := house(t, 3, world.Options{}, nil)
		claim := of(t, w, model.Spot)[0]
		play(t, w, 2*time.Minute+time.Duration(phase)*time.Second)
		w.Events.LoseNext(100)
		marked := w.Clock.Now()
		w.Fleet.Interrupt(claim.InstanceID, 2*time.Minute)
		for claimOf(t, w, claim.Name).State != model.Draining && w.Clock.Now().Sub(marked) < 2*time.Minute {
			play(t, w, time.Second)
		}
		got := claimOf(t, w, claim.Name)
		if took := w.Clock.Now().Sub(marked); took > 30*time.Second || got.FailureCode != model.EndedSpotInterrupted {
			t.Errorf("phase %d: %s %s after %s", phase, got.State, got.FailureCode, took)
		}
		if until := marked.Add(2 * time.Minute).Unix(); got.Drain == nil || got.Drain.DeadlineUnix == 0 || got.Drain.DeadlineUnix > until {
			t.Errorf("phase %d: drain %+v, its machine ends at %d", phase, got.Drain, until)
		}
	}
}

// IN-05: checks must have failed for two minutes; then the end is forceful, set once, and counted once.
func TestIN05_StatusChecksThatFailForTwoMinutesEndANode(t *testing.T) {
	w := house(t, 3, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	w.Fleet.Impair(claim.InstanceID, model.ImpairedSystem, "")
	since := w.Clock.Now()
	counted, deadlines, minutes := 0, map[int64]bool{}, w.Clock.Now().Add(5*time.Minute)
	for second := 0; w.Clock.Now().Before(minutes); second++ {
		sum := play(t, w, time.Second)
		if second%60 == 59 { // the tick of each minute
			sum.run(t, w, func(context.Context, *world.Process, *interruption.Flow) {})
		}
		counted += sum.Outcome.Impaired[model.ImpairedSystem]
		got := claimOf(t, w, claim.Name)
		if second < 119 && got.State != model.Initialized {
			t.Fatalf("after %s it is %s", w.Clock.Now().Sub(since), got.State)
		}
		if got.State == model.Draining {
			deadlines[got.Drain.DeadlineUnix] = true
			if got.FailureCode != model.EndedStatusFailed {
				t.Errorf("it ends because of %s", got.FailureCode)
			}
		}
	}
	if len(deadlines) != 1 || counted != 1 {
		t.Errorf("deadlines %v, want one; counted %d times, want once", deadlines, counted)
	}
	reported := map[string]bool{}
	for _, event := range w.Cluster.Events(interruption.KindNodeClaim, claim.Name) {
		reported[event.Reason] = event.Warning
	}
	if !reported["InstanceUnhealthy"] || !reported["TerminatingOnInterruption"] {
		t.Errorf("told %v", reported)
	}
	for at := range deadlines {
		if left := at - since.Unix(); left < 120 || left > 200 {
			t.Errorf("no pod is left %d s after the checks began to fail", left)
		}
	}
	play(t, w, 3*time.Minute)
	ended(t, w, claim)
	sound(t, w)
}

// mixed fills a world with instances, and the queue of notices with as many messages: a third each of scheduled changes, spot
// interruptions and changes of state.
func mixed(t testing.TB, n int) *world.World {
	t.Helper()
	w := world.New(world.Options{})
	ctx := context.Background()
	reg := world.Registration()
	fence, err := w.Ledger.AcquireLease(ctx, world.Name, model.LeaseCollector, "a", w.Clock.Now().Unix(), w.Clock.Now().Unix()+30)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []struct {
		kind   model.NoticeKind
		detail string
	}{{model.NoticeScheduledChange, "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"}, {model.NoticeSpotInterrupted, "terminate"}, {model.NoticeStopped, "stopping"}}
	for i := range n {
		name := fmt.Sprintf("web-%05d", i)
		w.Cluster.PutNode(model.Node{Name: "node-" + name, UID: "u-" + name, ProviderID: "aws:///us-west-2a/i-" + name, Ready: true})
		claim := model.Claim{
			Name: name, Pool: "web", State: model.Initialized, InstanceID: "i-" + name, InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot,
			NodeName: "node-" + name, NodeUID: "u-" + name, Reserved: model.Resources{model.Nodes: 1},
		}
		if err := w.Ledger.Adopt(ctx, fence, claim); err != nil {
			t.Fatal(err)
		}
		of := kinds[i%len(kinds)]
		body, err := wire.EncodeEvent(model.Notice{
			ID: fmt.Sprint(i), Kind: of.kind, Detail: of.detail, Account: reg.Account, Region: reg.Region, Instances: []string{claim.InstanceID},
			AtUnix: w.Clock.Now().Unix(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Notices.Send(ctx, world.Outgoing{Body: string(body)}); err != nil {
			t.Fatal(err)
		}
	}
	w.Tick(3 * time.Second) // the index of instances has followed
	return w
}

// Fifteen thousand messages, ten at a time: each has its effect, and nothing comes again.
func TestIN06_FifteenThousandMixedNoticesAreDrained(t *testing.T) {
	n := 15_000
	if testing.Short() {
		n = 1500
	}
	w := mixed(t, n)
	began := time.Now()
	sum, messages := hear(t, w)
	t.Logf("%d messages in %s: %.0f messages/s", messages, time.Since(began), float64(messages)/time.Since(began).Seconds())
	if messages != n || w.Notices.Len() != 0 || sum.Failed+sum.Foreign > 0 || sum.Begun["spot_interrupted"] != n/3 || sum.Begun["scheduled_change"] != n/3 || sum.Passes != n/10 {
		t.Errorf("%d messages, %d left: %+v", messages, w.Notices.Len(), sum)
	}
	draining, tainted := 0, 0
	for _, claim := range load(t, w).Claims {
		if claim.State == model.Draining {
			draining++
		}
	}
	for _, node := range w.Cluster.Nodes() {
		if disrupted(&node) {
			tainted++
		}
	}
	if want := n / 3 * 2; draining != want || tainted != want {
		t.Errorf("%d claims are Draining and %d nodes tainted, want %d", draining, tainted, want)
	}
}

func BenchmarkNotices(b *testing.B) {
	messages := 0
	for b.Loop() {
		b.StopTimer()
		w := mixed(b, 1500)
		b.StartTimer()
		_, n := hear(b, w)
		messages += n
	}
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}

// F147: a warning deletes the NodeClaim, and the instance that takes its place starts while the old one still runs and before the
// pod is asked to leave.
func TestF147_WarningDeletesTheClaimAndItsReplacementStartsInParallel(t *testing.T) {
	w := house(t, 3, world.Options{}, nil)
	claim, before := of(t, w, model.Spot)[0], len(w.Fleet.Instances())
	w.Fleet.Interrupt(claim.InstanceID, 2*time.Minute)
	w.Tick(2 * time.Second)
	hear(t, w)
	for range 10 {
		if play(t, w, time.Second); len(leaves(w)) > 0 {
			break
		}
	}
	if m, _ := w.Fleet.Instance(claim.InstanceID); m.State != "running" {
		t.Errorf("the old machine is %s while the new one starts", m.State)
	}
	play(t, w, 2*time.Second)
	if object := objectOf(w, claim); object == nil || object.DeletedUnix == 0 {
		t.Errorf("the NodeClaim is not being deleted: %+v", object)
	}
	fleet, left := w.Fleet.Instances(), leaves(w)
	if len(fleet) != before+1 || len(left) != 1 {
		t.Fatalf("%d machines, want one more than %d; %+v", len(fleet), before, left)
	}
	if bought := fleet[before].LaunchedAt; !bought.Before(left[0].at) {
		t.Errorf("bought %s, and the pod was asked to leave %s", bought, left[0].at)
	}
	play(t, w, 3*time.Minute)
	ended(t, w, claim)
	sound(t, w)
}

// IN-01, C1: people learn once of each warning, on the NodeClaim and on the node, however many there are at once; and of one
// whose instance ended before any drain run came to it.
func TestIN01PeopleAreToldOnceOfEachOfManyWarnings(t *testing.T) {
	reasons := []string{"SpotInterrupted", "TerminatingOnInterruption"}
	for name, c := range map[string]struct {
		pods  int
		early bool // the instances end before anybody drains
	}{"one": {1, false}, "many": {30, false}, "one that ends at once": {1, true}, "many that end at once": {30, true}} {
		t.Run(name, func(t *testing.T) {
			w := house(t, c.pods, world.Options{}, nil)
			claims := of(t, w, model.Spot)
			for _, claim := range claims {
				w.Fleet.Interrupt(claim.InstanceID, 2*time.Minute)
			}
			w.Tick(2 * time.Second)
			hear(t, w)
			if n := w.Cluster.EventCount(interruption.KindNode, claims[0].NodeName, reasons[0]); n != 0 {
				t.Errorf("told %d times before the drain run", n)
			}
			if c.early {
				w.Tick(3 * time.Minute)
			}
			play(t, w, 5*time.Minute)
			for _, claim := range claims {
				ended(t, w, claim)
				for _, reason := range reasons {
					onClaim, onNode := w.Cluster.EventCount(interruption.KindNodeClaim, claim.Name, reason), w.Cluster.EventCount(interruption.KindNode, claim.NodeName, reason)
					if onClaim != 1 || onNode != 1 {
						t.Errorf("%s of %s: told %d times of the claim and %d of the node, want once", reason, claim.Name, onClaim, onNode)
					}
				}
			}
		})
	}
}
