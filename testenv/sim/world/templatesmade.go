package world

import (
	"sync"
	"time"
)

// templatesMade is what the adapter of a process keeps of launch templates: those that it made a moment ago EC2 may not know yet, and it
// waits for them where it was told so once. Source: shared/adapter/ec2fleet, fresh.go.
type templatesMade struct {
	mu     sync.Mutex
	born   map[string]time.Time
	unseen map[string]bool // that a launch did not find
}

const (
	templateFresh = 30 * time.Second // for how long one that is not found may only be not known yet
	templateWait  = 5 * time.Second  // for how long it is waited for at most
)

// note takes in templates that were made.
func (m *templatesMade) note(now time.Time, names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.born == nil {
		m.born, m.unseen = map[string]time.Time{}, map[string]bool{}
	}
	for _, name := range names {
		m.born[name] = now
	}
}

// missed takes in that a launch did not find the templates of its request.
func (m *templatesMade) missed(fleet *Fleet, request []byte) {
	names := m.fresh(fleet, request) // one that is no longer fresh was tidied away, and is made again
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		m.unseen[name] = true
	}
}

// untilLaunched returns how long a launch waits before it is sent.
func (m *templatesMade) untilLaunched(fleet *Fleet, request []byte) time.Duration {
	names, err := fleet.Named(request)
	if err != nil || fleet.options.TemplateLag == 0 {
		return 0
	}
	m.mu.Lock()
	waits := false
	for _, name := range names {
		waits = waits || m.unseen[name]
		delete(m.unseen, name)
	}
	m.mu.Unlock()
	if !waits {
		return 0
	}
	return m.untilTried(fleet, request)
}

// untilTried returns how long a dry run is repeated before its answer counts.
func (m *templatesMade) untilTried(fleet *Fleet, request []byte) time.Duration {
	if fleet.options.TemplateLag == 0 {
		return 0
	}
	return min(templateWait, fleet.launchableIn(m.fresh(fleet, request)))
}

// fresh returns the templates of a request where this process made one of them a moment ago; else none.
func (m *templatesMade) fresh(fleet *Fleet, request []byte) []string {
	names, err := fleet.Named(request)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if at, by := m.born[name]; by && fleet.now().Sub(at) < templateFresh {
			return names
		}
	}
	return nil
}
