package ekscluster

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// How long the same event is not repeated. People look at the newest event of an object; each write costs the API
// server.
const (
	quietNormal  = 2 * time.Minute
	quietWarning = 5 * time.Minute
)

const maxRecent = 20_000 // remembered; beyond, the oldest half is forgotten

// recentEvents remembers which events were published when. It lasts as long as the process: a new one asks the API
// server once.
type recentEvents struct {
	mu   sync.Mutex
	last map[string]time.Time // by event id
}

func newRecentEvents() *recentEvents { return &recentEvents{last: make(map[string]time.Time)} }

// quiet is how long an event is not repeated.
func quiet(e *model.Event) time.Duration {
	if e.Warning {
		return quietWarning
	}
	return quietNormal
}

// due reports whether the event is to be published now.
func (t *recentEvents) due(id string, e *model.Event, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[id]
	return !ok || now.Sub(last) >= quiet(e) || now.Before(last)
}

// note records that the event was published.
func (t *recentEvents) note(id string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) >= maxRecent {
		for id, last := range t.last {
			if now.Sub(last) >= quietWarning/2 {
				delete(t.last, id)
			}
		}
		if len(t.last) >= maxRecent {
			clear(t.last)
		}
	}
	t.last[id] = now
}

// eventID is the same for the same event of the same object.
func eventID(e *model.Event) string {
	digest := sha256.New()
	for _, part := range []string{e.Kind, e.Namespace, e.Name, e.UID, e.Reason, e.Message} {
		digest.Write([]byte(part))
		digest.Write([]byte{0})
	}
	return hex.EncodeToString(digest.Sum(nil))[:16]
}
