package e2e

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestEightPlannersReachALimitExactlyAndNeverPassIt lets eight processes plan at once, again and again, while far more pods
// wait than a limit of instances, and one of dollars an hour, let in. In the long form the limits are ten instances and a
// dollar, and fifty instances are wanted of each pool.
func TestEightPlannersReachALimitExactlyAndNeverPassIt(t *testing.T) {
	t.Parallel()
	const planners, onDemand = 8, 96_000 // micro-USD per hour of an m5.large
	most, wanted, dollars := 3, 6, "0.3"
	if full() {
		most, wanted, dollars = 10, 50, "1"
	}
	c := start(t, stack.Options{Timeout: 10 * time.Second, Visibility: 11 * time.Second, MaxReceives: 20})
	large := `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}`
	c.apply(t, namespace("limits"), class("default"),
		pool("nodes", "default", large, nil, []string{fmt.Sprintf("limits: {nodes: %d}", most)}),
		pool("dollars", "default", large, nil, []string{fmt.Sprintf("limits: {joiner.sh/usd-per-hour: %q}", dollars)}))
	c.awaitReady(t, nodePools, "nodes")
	c.awaitReady(t, nodePools, "dollars")
	for _, name := range []string{"nodes", "dollars"} {
		c.apply(t, deployment("limits", name, wanted, "1500m", "nodeSelector: {karpenter.sh/nodepool: "+name+"}"))
	}

	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { // at every instant, as EC2 has it
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			for name, n := range c.instancesByPool() {
				if n > most {
					t.Errorf("%d machines of pool %s at %s", n, name, time.Now())
					return
				}
			}
		}
	})
	deadline := time.Now().Add(3 * time.Minute)
	for round := 0; time.Now().Before(deadline); round++ {
		var group sync.WaitGroup
		for i := range planners {
			group.Go(func() {
				if _, err := c.Runtime.Invoke(t.Context(), c.FunctionName("Provision"), c.hint(t, fmt.Sprintf("%d-%d", round, i))); err != nil {
					t.Errorf("planner %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if n := c.instancesByPool(); round >= 3 && n["nodes"] == most && n["dollars"] == most {
			break
		}
	}
	close(stop)
	watching.Wait()
	c.awaitRunning(t, "limits", 2*most, 2*time.Minute)
	await(t, time.Minute, "nothing is left open", c.settled(t))
	if n := c.instancesByPool(); n["nodes"] != most || n["dollars"] != most {
		t.Errorf("machines by pool in the end: %v, want %d of each", n, most)
	}
	for _, usage := range c.ledger(t).Usage {
		if usage.Reserved[model.Nodes] != int64(most) || usage.Reserved[model.Dollars] != int64(most)*onDemand {
			t.Errorf("pool %s holds %v", usage.Pool, usage.Reserved)
		}
	}
	c.oneEach(t)
}

// instancesByPool counts the instances that cost money.
func (c *cluster) instancesByPool() map[string]int {
	out := map[string]int{}
	for _, i := range c.running() {
		out[i.Tags["karpenter.sh/nodepool"]]++
	}
	return out
}

// hint is a batch of one hint to look at the cluster, as the function gets it from the queue.
func (c *cluster) hint(t *testing.T, id string) []byte {
	t.Helper()
	body, err := wire.EncodeHint(wire.Hint{Cluster: c.Options.Cluster, Reason: wire.ReasonResync})
	if err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: id, Body: string(body)}}})
	if err != nil {
		t.Fatal(err)
	}
	return event
}
