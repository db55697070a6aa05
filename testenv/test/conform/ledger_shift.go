package conform

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
)

// LedgerShifts is the contract of a ledger towards whoever records zonal shifts. start returns an empty one, and its
// part that has them.
func LedgerShifts(t *testing.T, start func(t *testing.T) (LedgerPort, catalog.ShiftRecords)) {
	ledger, shifts := start(t)
	b := book{ledger, t}
	read := func(cluster string) model.ZonalShifts {
		t.Helper()
		out, err := shifts.Shifts(b.ctx(), cluster)
		b.must(err)
		return out
	}
	if got := read("web"); !reflect.DeepEqual(got, model.ZonalShifts{}) {
		t.Errorf("of a cluster of which nothing was written: %+v", got)
	}
	first := model.ZonalShifts{Managed: true, Shifts: []model.ZonalShift{
		{ZoneID: "usw2-az1", SinceUnix: ledgerBegin, UntilUnix: ledgerBegin + 600},
		{ZoneID: "usw2-az2", Auto: true, SinceUnix: ledgerBegin, UntilUnix: ledgerBegin + 3600},
	}}
	b.must(shifts.PutShifts(b.ctx(), "web", first))
	b.want(fault.Conflict, "a write where there is one", shifts.PutShifts(b.ctx(), "web", first))
	first.Version = 1
	if got := read("web"); !reflect.DeepEqual(got, first) {
		t.Errorf("read %+v, want %+v", got, first)
	}
	if got := b.load().Shifts; !reflect.DeepEqual(got, first) {
		t.Errorf("loaded with the ledger %+v, want %+v", got, first)
	}
	if got := read("shop"); !reflect.DeepEqual(got, model.ZonalShifts{}) {
		t.Errorf("of another cluster: %+v", got)
	}
	over := model.ZonalShifts{Version: 1, Managed: true}
	b.must(shifts.PutShifts(b.ctx(), "web", over))
	b.want(fault.Conflict, "a write at an old version", shifts.PutShifts(b.ctx(), "web", first))
	over.Version = 2
	if got := b.load().Shifts; !reflect.DeepEqual(got, over) {
		t.Errorf("after the shifts: %+v, want %+v", got, over)
	}
}
