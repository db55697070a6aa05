package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Peeks tells at little cost whether a cluster needs a resync.
type Peeks interface {
	// Peek reads the watcher's manifest (nil = no watcher was ever here) and the disruption function's notes,
	// consistently, and the ledger's own time.
	Peek(ctx context.Context, cluster string) (manifest *model.Manifest, notes model.DisruptNotes, nowUnix int64, err error)
}

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. A cluster that rests gets none. Those whose registrations can be read get theirs whatever the others say. what
// names the hint in errors ("resync"). It returns how many hints were sent; the error joins those that were not.
func FanOut(ctx context.Context, registry port.Registry, what string, rests func(model.Registration) bool, hint func(cluster string) error) (sent int, err error) {
	registrations, unread := registry.Clusters(ctx)
	if unread != nil {
		unread = fmt.Errorf("list attached clusters: %w", unread)
	}
	_, err = fault.Each(registrations, func(reg model.Registration) error {
		if rests(reg) {
			return nil
		}
		if err := hint(reg.Cluster); err != nil {
			return fmt.Errorf("send the %s hint of cluster %s: %w", what, reg.Cluster, err)
		}
		sent++
		return nil
	})
	return sent, errors.Join(unread, err)
}

// SkipResync returns what reports whether a cluster needs no resync with this tick: it is paused, or it sleeps and gets
// one every fifth minute only (model.DisruptNotes.ResyncDue). One of which nothing can be read is swept; without
// checks, all are.
func SkipResync(ctx context.Context, peeks Peeks, tick string) func(model.Registration) bool {
	return func(reg model.Registration) bool {
		if reg.Paused || peeks == nil {
			return reg.Paused
		}
		manifest, notes, nowUnix, err := peeks.Peek(ctx, reg.Cluster)
		return err == nil && !notes.ResyncDue(manifest, nowUnix, tick)
	}
}
