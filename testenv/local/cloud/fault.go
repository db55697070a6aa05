package cloud

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Drop says whether a fault closes the connection instead of answering.
type Drop int

// When the connection is dropped.
const (
	DropNever  Drop = iota
	DropBefore      // nothing has happened
	DropAfter       // everything has happened, and the client cannot know
)

// Fault is something that goes wrong with matching requests whose signature
// holds. Of several faults that match a request the one injected first acts.
type Fault struct {
	Service string // as in the credential scope; "" matches all
	Action  string // "" matches all
	// Match narrows further; nil matches all. It may be called concurrently.
	Match func(r *http.Request, body []byte) bool
	// From is the first matching request the fault acts on, counted from 1
	// since the injection; 0 means 1.
	From int
	// Times is how many matching requests in a row it acts on; 0 means all.
	Times int

	Latency time.Duration // waited first, on the cloud's clock
	Err     *wire.Error   // answered instead of handling; nil to handle
	Drop    Drop
}

type faultList struct {
	mu     sync.Mutex
	active []*activeFault
}

type activeFault struct {
	Fault
	seen  int
	acted int
}

// Injection is a fault in force.
type Injection struct {
	list  *faultList
	fault *activeFault
}

// Inject puts f in force until it has acted Times times or is removed.
func (c *Cloud) Inject(f Fault) *Injection {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	active := &activeFault{Fault: f}
	c.faults.active = append(c.faults.active, active)
	return &Injection{&c.faults, active}
}

// Isolate cuts services off, as in a network without a way to them: connections are closed without an answer, until join is
// called. A private network reaches neither "iam" nor "pricing".
func (c *Cloud) Isolate(services ...string) (join func()) {
	var cut []*Injection
	for _, service := range services {
		cut = append(cut, c.Inject(Fault{Service: service, Drop: DropBefore}))
	}
	return func() {
		for _, i := range cut {
			i.Remove()
		}
	}
}

// Remove ends the fault. It may be called twice.
func (i *Injection) Remove() {
	i.list.mu.Lock()
	defer i.list.mu.Unlock()
	i.list.active = slices.DeleteFunc(i.list.active, func(f *activeFault) bool { return f == i.fault })
}

// Acted returns how many requests the fault has acted on.
func (i *Injection) Acted() int {
	i.list.mu.Lock()
	defer i.list.mu.Unlock()
	return i.fault.acted
}

// next returns the fault that acts on a request; the zero Fault when none does.
// Every fault that matches counts the request, whichever acts.
func (l *faultList) next(service, action string, r *http.Request, body []byte) Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	var acting *activeFault
	for _, f := range l.active {
		if !f.matches(service, action, r, body) {
			continue
		}
		f.seen++
		if acting == nil && f.seen >= f.From && (f.Times == 0 || f.acted < f.Times) {
			acting = f
		}
	}
	if acting == nil {
		return Fault{}
	}
	acting.acted++
	return acting.Fault
}

func (f *activeFault) matches(service, action string, r *http.Request, body []byte) bool {
	return (f.Service == "" || f.Service == service) &&
		(f.Action == "" || f.Action == action) &&
		(f.Match == nil || f.Match(r, body))
}
