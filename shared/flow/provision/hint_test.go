package provision_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
)

func TestRequestKeepsTheNewestStateAndTheStrongestTrigger(t *testing.T) {
	var request provision.Request
	for _, hint := range []wire.Hint{
		{Reason: wire.ReasonNode, Epoch: 2, Seq: 3}, {Reason: wire.ReasonConfig, Epoch: 2, Seq: 1}, {Reason: wire.ReasonBatch, Epoch: 1, Seq: 9},
	} {
		request.Take(hint)
	}
	if request.Epoch != 2 || request.Seq != 3 || request.Trigger != provision.TriggerConfig {
		t.Errorf("%+v", request)
	}
}
