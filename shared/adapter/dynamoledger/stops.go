package dynamoledger

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Stop writes a stop: of a pool or the whole cluster into the cluster's partition, of account and region into theirs.
// One of the same scope is replaced.
func (r Registry) Stop(ctx context.Context, reg model.Registration, stop model.Stop) error {
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	entry, err := withDoc(stopKey(reg, stop), "stop", stop)
	if err != nil {
		return err
	}
	return translate(r.write(ctx, r.put(entry, "", nil)), "write the stop of %s", stop.What(reg))
}

// Resume removes the stop of the same scope, and of the same pool. One that is not there is no error.
func (r Registry) Resume(ctx context.Context, reg model.Registration, stop model.Stop) error {
	if err := stop.Validate(); err != nil {
		return fault.Wrap(fault.Invalid, "StopInvalid", err, "%s", stop.What(reg))
	}
	return translate(r.remove(ctx, stopKey(reg, stop), "", nil), "remove the stop of %s", stop.What(reg))
}

// Stops reads every stop that holds for the cluster, consistently: its pools', its own, its account and region's, in
// this order.
func (r Registry) Stops(ctx context.Context, reg model.Registration) ([]model.Stop, error) {
	items, err := r.query(ctx, clusterPK(reg.Cluster), stopSK, true)
	if err != nil {
		return nil, err
	}
	out, err := r.getItem(ctx, key(regionPK(reg.Account, reg.Region), stopSK))
	if err != nil {
		return nil, translate(err, "read the stop of account %s and region %s", reg.Account, reg.Region)
	}
	if out.Item != nil {
		items = append(items, out.Item)
	}
	var seen model.Ledger
	for _, entry := range items {
		if err := place(&seen, entry, 0); err != nil {
			salvage(&seen, entry)
		}
	}
	model.SortStops(seen.Stops)
	return seen.Stops, nil
}

func stopKey(reg model.Registration, stop model.Stop) item {
	switch stop.Scope {
	case model.StopPool:
		return key(clusterPK(reg.Cluster), stopSK+"#"+stop.Pool)
	case model.StopRegion:
		return key(regionPK(reg.Account, reg.Region), stopSK)
	}
	return key(clusterPK(reg.Cluster), stopSK)
}
