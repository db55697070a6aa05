package sqsqueue

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Changes of configuration reach whoever resolves classes as well, in a group of their own, so that they wait behind no plan.
func TestChangesOfConfigurationAreToldTheCatalogAsWell(t *testing.T) {
	_, client, url := start(t)
	pods := []model.PodRef{{Namespace: "a", Name: "b", UID: "c"}}
	routes := &Router{Plan: New(client, url)}
	for i, reason := range []wire.HintReason{wire.ReasonBatch, wire.ReasonConfig, wire.ReasonNode} {
		if err := routes.Send(t.Context(), wire.Hint{Cluster: "prod", Epoch: 1, Number: int64(i), Reason: reason, Pods: pods}); err != nil {
			t.Fatal(err)
		}
	}
	if err := (Forwarder{New(client, url)}).Send(t.Context(), wire.Hint{Cluster: "prod", Reason: wire.ReasonEnd}); err != nil {
		t.Fatal(err)
	}
	groups := map[string][]wire.HintReason{}
	for _, m := range receive(t, client, url) {
		hint, err := wire.DecodeHint([]byte(*m.Body))
		if err != nil {
			t.Fatal(err)
		}
		group := m.Attributes["MessageGroupId"]
		groups[group] = append(groups[group], hint.Reason)
		if reported := group == wire.ForwardGroup("prod"); reported == (len(hint.Pods) > 0) {
			t.Errorf("a hint of group %s has %d pods", group, len(hint.Pods))
		}
	}
	if len(groups["prod"]) != 3 || len(groups["prod/tell"]) != 2 || groups["prod/tell"][0] != wire.ReasonConfig {
		t.Errorf("%v", groups)
	}
	var lost []error
	gone := &Router{Plan: New(client, url+"-gone.fifo"), Lost: func(err error) { lost = append(lost, err) }}
	if err := gone.Send(t.Context(), wire.Hint{Cluster: "prod", Reason: wire.ReasonConfig}); err == nil || len(lost) != 1 {
		t.Errorf("%v, told of %v", err, lost)
	}
}

// Hints of functions go to the queue of their cluster, whatever queue of the account its URL is made of.
func TestPlansGoToTheQueueOfTheirCluster(t *testing.T) {
	_, client, other := start(t)
	urls := map[string]string{}
	for _, cluster := range []string{"shop", "a-cluster-with-a-name-that-is-too-long-for-a-role"} {
		out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(wire.PlanQueue(cluster)), Attributes: map[string]string{"FifoQueue": "true"}})
		if err != nil {
			t.Fatal(err)
		}
		urls[cluster] = *out.QueueUrl
	}
	for cluster, url := range urls {
		if err := NewPlanQueues(client, other).Send(t.Context(), wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: "1"}); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, client, url); len(got) != 1 {
			t.Errorf("%s: %d messages in %s", cluster, len(got), url)
		}
	}
}
