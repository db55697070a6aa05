package port

import (
	"context"
	"time"
)

// Hint asks a function to look at a cluster now. The same key for the same cluster may be one hint, however often sent;
// a hint may be lost.
type Hint func(ctx context.Context, cluster, key string) error

// DelayedHint is a Hint that arrives after some time.
type DelayedHint func(ctx context.Context, cluster, key string, after time.Duration) error
