package publish

import (
	"context"
	"time"
)

// Settings say how long things may wait. Zero means the default.
type Settings struct {
	QuietWindow    time.Duration // a batch closes when nothing new came for so long: 300 ms
	MaxWindow      time.Duration // or when it has been open for so long: 5 s
	IdleWindow     time.Duration // how long a change that nobody waits for may stay unpublished: 5 s
	Heartbeat      time.Duration // at least so often while leading: 10 s
	QuietHeartbeat time.Duration // the same while there is no instance of ours and nobody waits for one: 30 s
	RenewEvery     time.Duration // between two full snapshots because others found an object of the last one gone, at least: 1 min
	EmptyEvery     time.Duration // between two hints that nodes have become empty, at least: 5 s
	FreedEvery     time.Duration // between two hints of which the later says that pods have left, at least: 20 s
	HeadroomEvery  time.Duration // between two hints that room of CapacityBuffers may have been taken, at least: 10 s
	HintRetryFirst time.Duration // first reminder of what still waits: 10 s; each next one after twice the time
	HintRetryMax   time.Duration // but never later than: 5 min
	RetryFirst     time.Duration // pause after a failure: 1 s; each next one twice the time
	RetryMax       time.Duration // but never longer than: 30 s
	CallTimeout    time.Duration // of one call of a port: 5 s

	MaxDeltas     int // after which a new full snapshot is written, once nobody waits: 100
	MaxDeltaBytes int // the same, of all deltas together: 4 MiB

	// MaxAge is how old a full snapshot becomes before a new one is written: 24 h. What lies in the bucket is deleted after weeks, and a
	// quiet cluster's full snapshot must not be.
	MaxAge time.Duration
}

func (s Settings) withDefaults() Settings {
	duration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	duration(&s.QuietWindow, 300*time.Millisecond)
	duration(&s.MaxWindow, 5*time.Second)
	duration(&s.IdleWindow, 5*time.Second)
	duration(&s.Heartbeat, 10*time.Second)
	duration(&s.QuietHeartbeat, 30*time.Second)
	duration(&s.RenewEvery, time.Minute)
	duration(&s.EmptyEvery, 5*time.Second)
	duration(&s.FreedEvery, 20*time.Second)
	duration(&s.HeadroomEvery, 10*time.Second)
	duration(&s.HintRetryFirst, 10*time.Second)
	duration(&s.HintRetryMax, 5*time.Minute)
	duration(&s.RetryFirst, time.Second)
	duration(&s.RetryMax, 30*time.Second)
	duration(&s.CallTimeout, 5*time.Second)
	duration(&s.MaxAge, 24*time.Hour)
	if s.MaxDeltas <= 0 {
		s.MaxDeltas = 100
	}
	if s.MaxDeltaBytes <= 0 {
		s.MaxDeltaBytes = 4 << 20
	}
	return s
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
