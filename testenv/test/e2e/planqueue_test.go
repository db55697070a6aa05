package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

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
func (r *redteam) flood(t *testing.T, messages []types.SendMessageBatchRequestEntry) {
	t.Helper()
	client, url := sqs.NewFromConfig(r.keys), r.queues[wire.PlanQueue(r.attacker.Options.Cluster)]
	for batch := range slices.Chunk(messages, 10) {
		for i := range batch {
			batch[i].Id = aws.String(fmt.Sprint(i))
		}
		out, err := client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: batch})
		if err != nil || len(out.Failed) > 0 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
}

// TestW3AHostilePlanQueueLeavesOthersAlone has a watcher send all it can to its own queue: hints that name the victim, in the victim's
// groups and under the ids of the victim's next hints, and thousands of groups made up. The victim's resyncs run, its pods get nodes, and
// nothing of it changes. No tick finds what a hint lost. The account has ten executions of functions at once, none of them reserved (A2).
func TestW3AHostilePlanQueueLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	r := startRedteamWith(t, stack.Options{Concurrency: 10})
	v, attacker := r.victim, r.attacker.Options.Cluster
	v.SetTicksDisabled(true)
	before := r.seen(t)
	groups := 1000
	if full() {
		groups = 5000
	}
	ticks := []string{"2026-11-23T10:00:00Z", "2026-11-23T10:01:00Z", "2026-11-23T10:02:00Z", "2026-11-23T10:03:00Z"}
	var messages []types.SendMessageBatchRequestEntry
	for _, tick := range ticks { // every second one: the ids are those that functions give the victim's resyncs
		resync := wire.Hint{Cluster: v.Options.Cluster, Reason: wire.ReasonResync, Tick: tick}
		id := sha256.Sum256([]byte(resync.Cluster + "\n" + resync.DedupID()))
		messages = append(messages, message(t, resync, resync.Cluster, hex.EncodeToString(id[:])))
	}
	for i := range groups {
		of := v.Options.Cluster
		hint := wire.Hint{Cluster: of, Reason: []wire.HintReason{wire.ReasonResync, wire.ReasonEnd, wire.ReasonConfig, wire.ReasonDisrupt, wire.ReasonBatch}[i%5], Epoch: 9e15, Seq: 9e15, Number: int64(i)}
		group := []string{of, wire.ForwardGroup(of), attacker, wire.ForwardGroup(attacker), fmt.Sprint("group-", i)}[i/5%5]
		messages = append(messages, message(t, hint, group, fmt.Sprint("flood-", i)))
	}
	r.flood(t, messages)

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
		resyncs := runs()
		if _, err := v.Runtime.Invoke(t.Context(), v.FunctionName("Provision"), []byte(`{"sweep":"`+tick+`"}`)); err != nil {
			t.Fatal(err)
		}
		await(t, 30*time.Second, "the victim's sweep of "+tick+" runs", func(context.Context) string {
			if runs() == resyncs {
				return "it did not"
			}
			return ""
		})
	}
	v.apply(t, stateful("here", "late", 2))
	v.awaitRunning(t, "here", 5, 2*time.Minute)
	await(t, 3*time.Minute, "the flood is dropped, each message once", func(context.Context) string {
		depth, _ := v.Cloud.SQS.Depth(wire.PlanQueue(attacker))
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
	r.kept(t, before)
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
