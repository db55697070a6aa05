package eventsource_test

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
)

// What production wires must fit what this package asks for.
var (
	_ eventsource.Queue   = (*sqs.Client)(nil)
	_ eventsource.Invoker = (*lambdaruntime.Runner)(nil)
	_ delivery.Sender     = (*sqs.Client)(nil)
	_ delivery.Invoker    = (*lambdaruntime.Runner)(nil)
)
