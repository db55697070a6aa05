package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// glanced is what Glance answers.
type glanced struct {
	manifest *model.Manifest
	notes    model.DisruptNotes
	nowUnix  int64
}

func (p ledgerPort) Peek(ctx context.Context, cluster string) (*model.Manifest, model.DisruptNotes, int64, error) {
	out, err := read(ctx, p.Ports, "ledger.glance", func() (glanced, error) {
		manifest, notes, nowUnix, err := p.world.Ledger.Peek(ctx, cluster)
		return glanced{manifest, notes, nowUnix}, err
	})
	return out.manifest, out.notes, out.nowUnix, err
}

func (p ledgerPort) Recall(ctx context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error) {
	next, err := write(ctx, p.Ports, "ledger.recall", func() (model.DisruptNotes, error) { return p.world.Ledger.Recall(ctx, fence, notes) })
	if err != nil {
		return notes, err
	}
	return next, nil
}

func (p ledgerPort) Commit(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error {
	return do(ctx, p.Ports, "ledger.commit", func() error { return p.world.Ledger.Commit(ctx, fence, command, claims, budgetVersions) })
}

func (p ledgerPort) AdvanceCommand(ctx context.Context, fence model.Fence, command model.Command) (model.Command, error) {
	next, err := write(ctx, p.Ports, "ledger.step", func() (model.Command, error) { return p.world.Ledger.AdvanceCommand(ctx, fence, command) })
	if err != nil {
		return command, err
	}
	return next, nil
}

func (p ledgerPort) End(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error) {
	next, err := write(ctx, p.Ports, "ledger.end", func() (model.Command, error) { return p.world.Ledger.End(ctx, fence, command, claims) })
	if err != nil {
		return command, err
	}
	return next, nil
}

func (p storePort) PutDisruption(ctx context.Context, decision model.Disrupted) error {
	return do(ctx, p.Ports, "store.disruption", func() error { return p.world.Store.PutDisruption(ctx, decision) })
}

func (p storePort) PutRemoval(ctx context.Context, removal model.Removal) error {
	return do(ctx, p.Ports, "store.removal", func() error { return p.world.Store.PutRemoval(ctx, removal) })
}

func (p storePort) AddRemoval(ctx context.Context, removal model.Removal) error {
	return do(ctx, p.Ports, "store.removal", func() error { return p.world.Store.AddRemoval(ctx, removal) })
}
