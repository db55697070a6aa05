package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/stack"
)

// attacker is who holds the keys of another cluster's watcher, and plays every attack with nothing else.
type attacker struct {
	cluster string // it is the watcher of
	planURL string // of its cluster's plan queue
	config  aws.Config
	queues  *sqs.Client
}

// victim is a cluster with three machines that nothing should happen to.
type victim struct {
	*cluster
	claims []model.Claim
	pods   []string
	reg    model.Registration
}

// attacked starts a victim and beside it a cluster whose watcher's keys somebody has who means ill. What those keys are refused is no failure.
func attacked(t *testing.T) (*victim, *attacker) {
	t.Helper()
	const name = "attacker"
	c := start(t, stack.Options{})
	c.hostile = "joiner-" + name + "-" + c.Cloud.Region() + "-watcher"
	c.apply(t, namespace("shop"), class("default"), pool("default", "default", general, nil, nil), stateful("shop", "web", 3))
	c.awaitRunning(t, "shop", 3, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	twin, err := c.AddCluster(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := c.WatcherKeys(twin, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	config := c.Cloud.ConfigFor(keys)
	v := &victim{cluster: c, claims: c.ledger(t).Claims, pods: c.podsOf(t, "shop")}
	if v.reg, err = c.Ledger.Cluster(t.Context(), c.Options.Cluster); err != nil {
		t.Fatal(err)
	}
	if len(v.claims) != 3 {
		t.Fatalf("the victim has %d machines, not 3", len(v.claims))
	}
	return v, &attacker{cluster: name, planURL: twin.PlanURL, config: config, queues: sqs.NewFromConfig(config)}
}

// unharmed fails where a machine, a pod that ran at the beginning, a claim or the registration of the victim is not what it was.
func (v *victim) unharmed(t *testing.T) {
	t.Helper()
	pods := v.podsOf(t, "shop")
	for _, pod := range v.pods {
		if !slices.Contains(pods, pod) {
			t.Errorf("pod was %s; now there are %q", pod, pods)
		}
	}
	now := map[string]model.Claim{}
	for _, claim := range v.ledger(t).Claims {
		now[claim.Name] = claim
	}
	for _, claim := range v.claims {
		if got := now[claim.Name]; got.State != model.Initialized || got.Drain != nil || got.InstanceID != claim.InstanceID {
			t.Errorf("claim %s is %s with machine %q, drain %+v", claim.Name, got.State, got.InstanceID, got.Drain)
		}
		if i, _ := v.EC2.Lookup(claim.InstanceID); i.State != "running" {
			t.Errorf("machine %s is %s", claim.InstanceID, i.State)
		}
	}
	reg, err := v.Ledger.Cluster(t.Context(), v.Options.Cluster)
	if err != nil || fmt.Sprint(reg) != fmt.Sprint(v.reg) {
		t.Errorf("the registration was\n%+v, and is\n%+v, %v", v.reg, reg, err)
	}
}

// message is a hint for a queue, with what its sender says it is.
func message(t *testing.T, hint wire.Hint, group, dedup string) types.SendMessageBatchRequestEntry {
	t.Helper()
	body, err := wire.EncodeHint(hint)
	if err != nil {
		t.Fatal(err)
	}
	return types.SendMessageBatchRequestEntry{MessageBody: aws.String(string(body)), MessageGroupId: &group, MessageDeduplicationId: &dedup}
}

// flood sends messages to the attacker's own queue, ten at a time.
func (a *attacker) flood(t *testing.T, messages []types.SendMessageBatchRequestEntry) {
	t.Helper()
	for batch := range slices.Chunk(messages, 10) {
		for i := range batch {
			batch[i].Id = aws.String(fmt.Sprint(i))
		}
		out, err := a.queues.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &a.planURL, Entries: batch})
		if err != nil || len(out.Failed) > 0 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
}

// TestW3AWatchersKeysReachNoOtherQueue tries every queue there is with the keys of a watcher.
func TestW3AWatchersKeysReachNoOtherQueue(t *testing.T) {
	t.Parallel()
	v, a := attacked(t)
	allowed := map[string]bool{}
	for _, name := range v.Cloud.SQS.QueueNames() {
		url := wire.PlanQueueURL(a.planURL, "x")
		url = url[:strings.LastIndexByte(url, '/')+1] + name
		in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("{}")}
		if strings.HasSuffix(name, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), aws.String("d")
		}
		_, err := a.queues.SendMessage(t.Context(), in)
		if err == nil {
			allowed[name] = true
		} else if !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := a.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url}); err == nil {
			t.Errorf("messages of %s may be taken away", name)
		}
		if _, err := a.queues.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url}); err == nil {
			t.Errorf("%s may be emptied", name)
		}
	}
	if got := slices.Collect(maps.Keys(allowed)); len(got) != 1 || got[0] != wire.PlanQueue(a.cluster) {
		t.Errorf("the keys send to %v", got)
	}
	v.unharmed(t)
}

// TestW3AHostilePlanQueueLeavesOthersAlone has a watcher send all it can to its own queue: hints that speak of the victim, in the victim's
// groups and under the ids of the victim's next hints, and thousands of groups made up. The victim's sweeps run, its pods get nodes, and
// nothing of it changes. No tick finds what a hint lost.
func TestW3AHostilePlanQueueLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	v, a := attacked(t)
	v.SetTicksDisabled(true)
	groups := 1000
	if full() {
		groups = 5000
	}
	ticks := []string{"2026-11-23T10:00:00Z", "2026-11-23T10:01:00Z", "2026-11-23T10:02:00Z", "2026-11-23T10:03:00Z"}
	var messages []types.SendMessageBatchRequestEntry
	for _, tick := range ticks { // every second one: the ids are those that functions give the victim's sweeps
		sweep := wire.Hint{Cluster: v.Options.Cluster, Reason: wire.ReasonSweep, Tick: tick}
		id := sha256.Sum256([]byte(sweep.Cluster + "\n" + sweep.DedupID()))
		messages = append(messages, message(t, sweep, sweep.Cluster, hex.EncodeToString(id[:])))
	}
	for i := range groups {
		of := v.Options.Cluster
		hint := wire.Hint{Cluster: of, Reason: []wire.HintReason{wire.ReasonSweep, wire.ReasonEnd, wire.ReasonConfig, wire.ReasonJudge, wire.ReasonBatch}[i%5], Epoch: 9e15, Seq: 9e15, Number: int64(i)}
		group := []string{of, wire.TellGroup(of), a.cluster, wire.TellGroup(a.cluster), fmt.Sprint("group-", i)}[i/5%5]
		messages = append(messages, message(t, hint, group, fmt.Sprint("flood-", i)))
	}
	a.flood(t, messages)

	runs := func() int {
		n := 0
		for _, run := range v.logs.runs() {
			if run.Cluster == v.Options.Cluster {
				n++
			}
		}
		return n
	}
	for _, tick := range ticks {
		before := runs()
		if _, err := v.Runtime.Invoke(t.Context(), v.FunctionName("Provision"), []byte(`{"sweep":"`+tick+`"}`)); err != nil {
			t.Fatal(err)
		}
		await(t, 30*time.Second, "the victim's sweep of "+tick+" runs", func(context.Context) string {
			if runs() == before {
				return "it did not"
			}
			return ""
		})
	}
	v.apply(t, stateful("shop", "late", 2))
	v.awaitRunning(t, "shop", 5, 2*time.Minute)
	await(t, 3*time.Minute, "the flood is dropped, each message once", func(context.Context) string {
		depth, _ := v.Cloud.SQS.Depth(wire.PlanQueue(a.cluster))
		if n := v.logs.refused(); n < len(messages) || depth.Visible+depth.InFlight > 0 {
			return fmt.Sprintf("%d of %d were dropped, and %+v is there", n, len(messages), depth)
		}
		return ""
	})
	if n := v.logs.refused(); n != len(messages) {
		t.Errorf("%d messages were sent and %d dropped", len(messages), n)
	}
	if depth, _ := v.Cloud.SQS.Depth("joiner-plan-dead.fifo"); depth.Visible > 0 {
		t.Errorf("%d messages nobody could handle", depth.Visible)
	}
	await(t, time.Minute, "the claims are initialised", v.settled(t))
	for _, claim := range v.ledger(t).Claims {
		if claim.Drain != nil {
			t.Errorf("claim %s is to end: %+v", claim.Name, claim.Drain)
		}
	}
	v.unharmed(t)
}

// refused is how many hints provision said it dropped.
func (r *recorder) refused() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.dropped
}

// droppedBy is how many hints a line of provision's log says were dropped.
func droppedBy(line string) int {
	var entry struct {
		Msg   string `json:"msg"`
		Hints int    `json:"hints"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "drop hints" {
		return 0
	}
	return entry.Hints
}
