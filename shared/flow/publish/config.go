package publish

import (
	"context"
	"time"
)

// Settings say how long things may wait. A field that is zero has the default of its tag.
type Settings struct {
	QuietWindow    time.Duration `default:"300ms"` // a batch closes when nothing new came for so long
	MaxWindow      time.Duration `default:"5s"`    // or when it has been open for so long
	IdleWindow     time.Duration `default:"5s"`    // how long a change that nobody waits for may stay unpublished
	Heartbeat      time.Duration `default:"10s"`   // at least so often while leading
	QuietHeartbeat time.Duration `default:"30s"`   // the same while there is no instance of ours and nobody waits for one
	RenewEvery     time.Duration `default:"1m"`    // between two full snapshots because others found an object of the last one gone, at least
	EmptyEvery     time.Duration `default:"5s"`    // between two hints that nodes have become empty, at least
	FreedEvery     time.Duration `default:"20s"`   // between two hints of which the later says that pods have left, at least
	HeadroomEvery  time.Duration `default:"10s"`   // between two hints that room of CapacityBuffers may have been taken, at least
	HintRetryFirst time.Duration `default:"10s"`   // first reminder of what still waits; each next one after twice the time
	HintRetryMax   time.Duration `default:"5m"`    // but never later than
	RetryFirst     time.Duration `default:"1s"`    // pause after a failure; each next one twice the time
	RetryMax       time.Duration `default:"30s"`   // but never longer than
	CallTimeout    time.Duration `default:"5s"`    // of one call of a port

	MaxDeltas     int `default:"100"`     // after which a new full snapshot is written, once nobody waits
	MaxDeltaBytes int `default:"4194304"` // the same, of all deltas together

	// MaxAge is how old a full snapshot becomes before a new one is written. What lies in the bucket is deleted after
	// weeks, and a quiet cluster's full snapshot must not be.
	MaxAge time.Duration `default:"24h"`
}

// Config is what a Publisher is made of.
type Config struct {
	Cluster    string
	Owner      string // names this replica
	Publisher  SnapshotStore
	Manifests  Manifests
	Queue      Queue
	Ends       Queue    // told when Nodes and NodeClaims of ours are being deleted; nil = nobody, then they are found by looking
	EmptyNodes Queue    // told when nodes of pools have become empty, or pods have left them; nil = nobody, then the disruption function's tick finds them
	Previous   Previous // nil = what was published before is not looked at
	Now        func() time.Time
	// Wait is where Lead rests: it returns when ctx is done, when it has received from wake, or when d has passed,
	// whichever comes first.
	Wait     func(ctx context.Context, wake <-chan struct{}, d time.Duration)
	Log      func(Note) // what happens, for the log; nil = nobody
	Settings Settings
}

// Note is one thing worth a line in the log.
type Note struct {
	What    string // leading, snapshot, delta, hint, problem, lost lease
	Epoch   int64
	Seq     int64
	Bytes   int    // of a full snapshot or delta
	Reason  string // of a hint
	Pods    int    // of a hint
	Waiting int    // pods that nothing can hold
	Err     error  // of a problem
}
