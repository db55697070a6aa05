package main

import (
	"context"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// stoppable is the ledger with one more stop in it while the stop switch says so.
type stoppable struct {
	disrupt.Ledger
	stop *boot.Switch
}

// Load reads everything recorded about a cluster, and the switch.
func (s stoppable) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	ledger, err := s.Ledger.Load(ctx, reg)
	if err != nil {
		return ledger, err
	}
	if stop := s.stop.Stop(ctx); stop != nil {
		ledger.Stops = append(ledger.Stops, *stop)
		model.SortStops(ledger.Stops)
	}
	return ledger, nil
}
