package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// The ports of a process: each write is an effect that may go wrong, and each read fails once the process is dead.

type ledgerPort struct {
	*Ledger
	p *Process
}

func (l ledgerPort) Cluster(ctx context.Context, name string) (model.Registration, error) {
	if err := l.p.alive(); err != nil {
		return model.Registration{}, err
	}
	return l.Ledger.Cluster(ctx, name)
}

func (l ledgerPort) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	if err := l.p.alive(); err != nil {
		return model.Ledger{}, err
	}
	return l.Ledger.Load(ctx, reg)
}

func (l ledgerPort) Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (fence model.Fence, err error) {
	err = l.p.do("acquire", func() (err error) {
		fence, err = l.Ledger.Acquire(ctx, cluster, owner, nowUnix, untilUnix)
		return err
	})
	return fence, err
}

func (l ledgerPort) Release(ctx context.Context, fence model.Fence) error {
	return l.p.do("release", func() error { return l.Ledger.Release(ctx, fence) })
}

func (l ledgerPort) Record(ctx context.Context, fence model.Fence, intent model.Intent, claims []model.Claim, limits model.Resources) error {
	return l.p.do("record", func() error { return l.Ledger.Record(ctx, fence, intent, claims, limits) })
}

func (l ledgerPort) Calling(ctx context.Context, fence model.Fence, intent model.Intent) error {
	return l.p.do("calling", func() error { return l.Ledger.Calling(ctx, fence, intent) })
}

func (l ledgerPort) Settle(ctx context.Context, fence model.Fence, outcome model.Settlement) error {
	return l.p.do("settle", func() error { return l.Ledger.Settle(ctx, fence, outcome) })
}

func (l ledgerPort) Advance(ctx context.Context, cluster string, claim model.Claim) (next model.Claim, err error) {
	next = claim
	err = l.p.do("advance", func() (err error) {
		next, err = l.Ledger.Advance(ctx, cluster, claim)
		return err
	})
	if err != nil {
		return claim, err
	}
	return next, nil
}

func (l ledgerPort) Mark(ctx context.Context, reg model.Registration, marks []model.Mark) error {
	return l.p.do("mark", func() error { return l.Ledger.Mark(ctx, reg, marks) })
}

type storePort struct {
	*Store
	p *Process
}

func (s storePort) Put(ctx context.Context, decision model.Decision) error {
	return s.p.do("decision", func() error { return s.Store.Put(ctx, decision) })
}

func (s storePort) At(ctx context.Context, pointer model.Pointer) (*model.Snapshot, error) {
	if err := s.p.alive(); err != nil {
		return nil, err
	}
	return s.Store.At(ctx, pointer)
}

type clusterPort struct {
	*Cluster
	p *Process
}

func (c clusterPort) List(ctx context.Context) (*model.Snapshot, error) {
	if err := c.p.alive(); err != nil {
		return nil, err
	}
	return c.Cluster.List(ctx)
}

func (c clusterPort) PutClaim(ctx context.Context, claim model.Claim) (uid string, err error) {
	err = c.p.do("show", func() (err error) {
		uid, err = c.Cluster.PutClaim(ctx, claim)
		return err
	})
	return uid, err
}

func (c clusterPort) PatchNode(ctx context.Context, patch model.NodePatch) error {
	return c.p.do("node", func() error { return c.Cluster.PatchNode(ctx, patch) })
}

func (c clusterPort) Report(ctx context.Context, report model.Report) error {
	return c.p.do("tell", func() error { return c.Cluster.Report(ctx, report) })
}

type fleetPort struct {
	*Fleet
	p *Process
}

func (f fleetPort) Request(ctx context.Context, launch model.Launch) (request []byte, err error) {
	err = f.p.do("template", func() (err error) {
		request, err = f.Fleet.Request(ctx, launch)
		return err
	})
	if err != nil {
		return nil, err
	}
	return request, nil
}

func (f fleetPort) Launch(ctx context.Context, request []byte) (result model.LaunchResult, err error) {
	err = f.p.do("launch", func() (err error) {
		result, err = f.Fleet.Launch(ctx, request)
		return err
	})
	if err != nil {
		return model.LaunchResult{}, err
	}
	return result, nil
}

func (f fleetPort) Find(ctx context.Context, intent string) ([]model.Instance, error) {
	if err := f.p.alive(); err != nil {
		return nil, err
	}
	return f.Fleet.Find(ctx, intent)
}
