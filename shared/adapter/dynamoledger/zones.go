package dynamoledger

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Zones are the zonal shifts of clusters.
type Zones struct{ *table }

// Shifts returns what was last written of a cluster; the zero value where nothing was. What cannot be read is as if it
// were not there: the next answer of ARC is written anew.
func (s Zones) Shifts(ctx context.Context, cluster string) (model.ZonalShifts, error) {
	var shifts model.ZonalShifts
	entry, err := s.get(ctx, clusterPK(cluster), shiftSK)
	if err != nil || entry == nil {
		return shifts, err
	}
	if decodeWhole(entry, &shifts) != nil {
		shifts = model.ZonalShifts{}
	}
	shifts.Version = numberOf(entry, "ver")
	return shifts, nil
}

// PutShifts writes the zonal shifts of a cluster on condition of their version. Conflict where what is stored is at
// another.
func (s Zones) PutShifts(ctx context.Context, cluster string, shifts model.ZonalShifts) error {
	next := shifts
	next.Version++
	entry, err := withDoc(key(clusterPK(cluster), shiftSK), "zonal shifts of cluster "+cluster, next)
	if err != nil {
		return err
	}
	err = s.write(ctx, s.putNext(entry, "ver", shifts.Version, nothingIsThere))
	return translate(err, "write the zonal shifts of cluster %s at version %d", cluster, shifts.Version)
}
