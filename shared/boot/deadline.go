package boot

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// How long a call of AWS may take. A call that hangs must leave the invocation time to do something about it: release
// its lease, answer its queue, log. A launch, which is answered once all of it was tried, may take whatever the invocation has but that.
const (
	callWithin = 20 * time.Second        // with every repetition the SDK makes of it
	callLeaves = 1500 * time.Millisecond // of the invocation's time
	tryWithin  = 10 * time.Second        // one try, but for its answer's body
	dialWithin = 3 * time.Second
)

// idleConnections are kept of one service: as many as there are calls side by side in a drain run, with some room. The SDK's own 10
// would have a run that makes 50 calls at a time connect anew, handshake and all, for most of them.
const idleConnections = 64

// launches are the calls that launch instances.
var launches = []string{"CreateFleet"}

// withDeadline gives every call of a client a deadline before the one of the invocation.
func withDeadline(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("JoinerDeadline",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			within := callWithin
			if deadline, has := ctx.Deadline(); has {
				left := time.Until(deadline)
				own := max(left-callLeaves, left*2/3)
				if within = min(within, own); slices.Contains(launches, middleware.GetOperationName(ctx)) {
					within = own
				}
			}
			ctx, cancel := context.WithTimeout(ctx, within)
			context.AfterFunc(ctx, cancel) // not when it returns: the body of an answer may be read after that
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// HTTPClient returns the client AWS is called with: its connections and answers are waited for only so long.
func HTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialWithin }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = dialWithin, tryWithin
			t.MaxIdleConnsPerHost = idleConnections
		})
}
