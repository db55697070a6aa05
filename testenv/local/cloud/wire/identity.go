package wire

import (
	"context"

	"github.com/google/uuid"
)

// Identity says who signed a request.
type Identity struct {
	Account     string // twelve digits
	ARN         string // of the user or of the assumed-role session
	UserID      string // as GetCallerIdentity reports it; for a session "ROLEID:session-name"
	AccessKeyID string
}

type callerKey struct{}
type requestIDKey struct{}

// WithCaller returns a context that carries the verified identity of a request.
func WithCaller(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, callerKey{}, id)
}

// Caller returns who signed the request, or the zero Identity for a context
// that did not come through the front door.
func Caller(ctx context.Context) Identity {
	id, _ := ctx.Value(callerKey{}).(Identity)
	return id
}

// WithRequestID returns a context that carries the id of a request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id the front door gave the request, or a new one for a
// context that did not come through it.
func RequestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		return id
	}
	return NewRequestID()
}

// NewRequestID returns a fresh random id in the form AWS uses.
func NewRequestID() string { return uuid.NewString() }
