package boot

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Owner names this invocation in a lease; another try at the same message is another owner. Outside Lambda it is the
// message's own id.
func Owner(ctx context.Context, message string) string {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return invocation.AwsRequestID
	}
	return message
}

// Invoked returns a logger that names this invocation in every line.
func Invoked(ctx context.Context, logger *slog.Logger) *slog.Logger {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return logger.With("invocation", invocation.AwsRequestID)
	}
	return logger
}

// Deadline is when Lambda kills the invocation; without one, half a minute from now.
func Deadline(ctx context.Context) time.Time {
	if d, ok := ctx.Deadline(); ok {
		return d
	}
	return time.Now().Add(30 * time.Second)
}

// ErrorText is an error's message for a log line, empty for none.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
