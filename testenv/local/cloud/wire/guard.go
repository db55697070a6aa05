package wire

import "context"

// Access is one thing a request asks IAM for. A request may ask for several.
type Access struct {
	Action   string              // e.g. "ec2:RunInstances"
	Resource string              // an ARN; "*" where the action knows no resources
	Context  map[string][]string // condition keys that belong to it, in lower case; those of every request are not among them
	// Trusted says, of sts:AssumeRole, that the role lets the caller in. It counts where the role's trust policy is not known.
	Trusted bool
}

// Guard decides about the caller of a request. It returns "" when the caller may, and else why not, as AWS ends the sentence
// "… is not authorized to perform … on resource: …".
type Guard func(Access) (because string)

type guardKey struct{}

// WithGuard returns a context that carries who decides about a request.
func WithGuard(ctx context.Context, g Guard) context.Context {
	return context.WithValue(ctx, guardKey{}, g)
}

// GuardOf returns who decides about a request; nil where nobody does and the caller may do everything.
func GuardOf(ctx context.Context) Guard {
	g, _ := ctx.Value(guardKey{}).(Guard)
	return g
}

// NotAuthorized words a refusal as AWS does.
func NotAuthorized(ctx context.Context, a Access, because string) string {
	return "User: " + Caller(ctx).ARN + " is not authorized to perform: " + a.Action + " on resource: " + a.Resource + " " + because
}
