package sqsqueue

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func TestChangesOfConfigurationGoToTheCatalogueAsWellAndItsFailureHoldsUpNoPod(t *testing.T) {
	_, client, url := start(t)
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("catalog.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	pods := []model.PodRef{{Namespace: "a", Name: "b", UID: "c"}}
	var lost []error
	routes := &Routes{Plan: New(client, url), Catalog: New(client, *out.QueueUrl), Lost: func(err error) { lost = append(lost, err) }}
	for i, reason := range []wire.HintReason{wire.ReasonBatch, wire.ReasonConfig, wire.ReasonNode} {
		if err := routes.Send(t.Context(), wire.Hint{Cluster: "prod", Epoch: 1, Number: int64(i), Reason: reason, Pods: pods}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(receive(t, client, url)); got != 3 {
		t.Errorf("%d hints to plan, want 3", got)
	}
	got := receive(t, client, *out.QueueUrl)
	if len(got) != 1 {
		t.Fatalf("%d hints to the catalogue, want 1", len(got))
	}
	if hint, err := wire.DecodeHint([]byte(*got[0].Body)); err != nil || hint.Reason != wire.ReasonConfig || len(hint.Pods) != 0 {
		t.Errorf("%+v %v", hint, err)
	}
	routes.Catalog = New(client, *out.QueueUrl+"-gone.fifo")
	if err := routes.Send(t.Context(), wire.Hint{Cluster: "prod", Epoch: 1, Number: 9, Reason: wire.ReasonConfig}); err != nil || len(lost) != 1 {
		t.Errorf("%v, told of %v", err, lost)
	}
}
