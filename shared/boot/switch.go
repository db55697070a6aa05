package boot

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// What a stop switch may say.
const (
	SwitchGo         = "go"         // nothing is stopped
	SwitchDisruption = "disruption" // no node is disrupted voluntarily, as by a stop of the whole region
	SwitchEverything = "everything" // nothing is launched either: every cluster is taken for paused
)

// switchFor is how long what the switch said is gone by, and switchWithin how long it is waited for.
const (
	switchFor    = time.Minute
	switchWithin = 2 * time.Second
)

// Switch is a parameter by which people stop an installation from the console, whatever the command line can reach. It is read
// once a minute at most. One that cannot be read says what it said before, at first Go: that nobody answers is no request to stop.
// nil says Go.
type Switch struct {
	Name   string
	read   func(ctx context.Context, name string) (string, error)
	now    func() time.Time
	logger *slog.Logger

	mutex  sync.Mutex
	logged string
	at     time.Time
}

// Parameters is where parameters are read by name.
type Parameters interface {
	Parameter(ctx context.Context, name string) (string, error)
}

// StopSwitch returns the switch in a parameter, nil for "".
func StopSwitch(from Parameters, name string, logger *slog.Logger) *Switch {
	if name == "" {
		return nil
	}
	return &Switch{Name: name, now: time.Now, logger: logger, read: from.Parameter}
}

// Says returns Go, Disruption or Everything.
func (s *Switch) Says(ctx context.Context) string {
	if s == nil {
		return SwitchGo
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	if s.logged == "" {
		s.logged = SwitchGo
	}
	if !s.at.IsZero() && now.Sub(s.at) < switchFor {
		return s.logged
	}
	s.at = now
	ctx, cancel := context.WithTimeout(ctx, switchWithin)
	defer cancel()
	switch said, err := s.read(ctx, s.Name); {
	case err != nil:
		s.logger.Warn("the stop switch cannot be read; its earlier value holds", "parameter", s.Name, "holds", s.logged, "error", err.Error())
	case said != SwitchGo && said != SwitchDisruption && said != SwitchEverything:
		s.logger.Error("the stop switch has an unknown value; set it to go, disruption or everything", "parameter", s.Name, "says", said, "holds", s.logged)
	default:
		if said != s.logged {
			s.logger.Warn("the stop switch was changed", "parameter", s.Name, "says", said, "said", s.logged)
		}
		s.logged = said
	}
	return s.logged
}

// Stop is the stop that the switch is for a region, nil where it says Go.
func (s *Switch) Stop(ctx context.Context) *model.Stop {
	said := s.Says(ctx)
	if said == SwitchGo {
		return nil
	}
	return &model.Stop{Scope: model.StopRegion, Why: fmt.Sprintf("the stop switch %s says %s", s.Name, said), By: s.Name}
}

// SwitchedRegistry is a registry of clusters that are all paused while the switch says Everything.
type SwitchedRegistry struct {
	port.Registry
	Switch *Switch
}

// Clusters lists every attached cluster, in the registry's order, and has its error.
func (s SwitchedRegistry) Clusters(ctx context.Context) ([]model.Registration, error) {
	registrations, err := s.Registry.Clusters(ctx)
	if len(registrations) > 0 && s.Switch.Says(ctx) == SwitchEverything {
		for i := range registrations {
			registrations[i].Paused = true
		}
	}
	return registrations, err
}

// Cluster returns one; NotFound as the registry says.
func (s SwitchedRegistry) Cluster(ctx context.Context, name string) (model.Registration, error) {
	registration, err := s.Registry.Cluster(ctx, name)
	if err == nil && s.Switch.Says(ctx) == SwitchEverything {
		registration.Paused = true
	}
	return registration, err
}
