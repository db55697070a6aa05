package conform

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// LedgerFindPort is what a ledger is asked for by whoever hears of instances from AWS.
type LedgerFindPort interface {
	LedgerCollectPort
	interruption.Finder
	port.ClaimStates
}

// LedgerFind is the contract of a ledger towards whoever hears of instances from AWS. start returns an empty one for each case.
func LedgerFind(t *testing.T, start func(t *testing.T) LedgerFindPort) {
	for name, rule := range map[string]func(*testing.T, finder){
		"claims are found by their instances":        foundByInstance,
		"a found claim is as it was written last":    foundConsistently,
		"claims of many instances are found at once": foundByMany,
		"claims are found in every cluster":          foundInEveryCluster,
		"nothing is found for what nobody has":       nothingIsFound,
		"survey shows the planner's notes":           recordsShowNotes,
	} {
		t.Run(name, func(t *testing.T) {
			ledger := start(t)
			rule(t, finder{cache{book{ledger, t}, ledger}, ledger})
		})
	}
}

// finder is a ledger under test with the ports of notices.
type finder struct {
	cache
	find LedgerFindPort
}

// found asks until so many claims are found: the index of instances is eventually consistent.
func (f finder) found(want int, ids ...string) []model.FoundClaim {
	f.t.Helper()
	var found []model.FoundClaim
	for range 50 {
		var nowUnix int64
		var err error
		if found, nowUnix, err = f.find.ByInstance(f.ctx(), ids); err != nil || nowUnix == 0 {
			f.t.Fatalf("%v at %d: %v", ids, nowUnix, err)
		}
		if len(found) == want {
			return found
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.t.Fatalf("%d claims are found for %d instances, want %d", len(found), len(ids), want)
	return nil
}

func foundByInstance(t *testing.T, f finder) {
	claims := f.launched(3)
	found := f.found(2, claims[2].InstanceID, "i-nobody", claims[0].InstanceID, claims[2].InstanceID)
	for i, want := range []model.Claim{claims[0], claims[2]} {
		if got := found[i]; got.Cluster != "web" || got.Claim.Name != want.Name || got.Claim.InstanceID != want.InstanceID || got.Claim.Version != want.Version {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
	// A claim that is gone is found, too, and says so.
	fence := f.hold("a")
	f.must(f.collect.CloseClaim(f.ctx(), fence, claims[0], ledgerSoon))
	if gone := f.found(1, claims[0].InstanceID)[0]; gone.Claim.State != model.Gone {
		t.Errorf("found %+v, want it Gone", gone)
	}
}

func foundConsistently(t *testing.T, f finder) {
	claim := f.launched(1)[0]
	f.found(1, claim.InstanceID)
	for i := range 5 {
		claim.State, claim.Drain = model.Draining, &model.Drain{SinceUnix: ledgerBegin, DeadlineUnix: ledgerSoon + int64(i)}
		claim.FailureCode, claim.FailureMessage = model.EndedSpotInterrupted, "EC2 takes it back"
		next, err := f.find.Advance(f.ctx(), "web", claim)
		f.must(err)
		found := f.found(1, claim.InstanceID)[0].Claim
		if found.Version != next.Version || found.State != model.Draining || !reflect.DeepEqual(found.Drain, claim.Drain) || found.FailureCode != claim.FailureCode {
			t.Fatalf("found %+v, want %+v", found, next)
		}
		_, err = f.find.Advance(f.ctx(), "web", claim)
		f.want(fault.Conflict, "advancing at an older version", err)
		claim = next
	}
}

// foundByMany asks for more ids than one read takes, of which many are nobody's.
func foundByMany(t *testing.T, f finder) {
	fence := f.hold("a")
	var ids []string
	for i := range 120 {
		name := fmt.Sprintf("default-%03d", i)
		claim := model.Claim{Name: name, Pool: "default", State: model.Initialized, Intent: "0", InstanceID: "i-" + name, Reserved: model.Resources{model.Nodes: 1}}
		f.must(f.collect.Adopt(f.ctx(), fence, claim))
		ids = append(ids, "i-foreign-"+name, claim.InstanceID)
	}
	found := f.found(120, ids...)
	if !slices.IsSortedFunc(found, func(a, b model.FoundClaim) int { return strings.Compare(a.Claim.Name, b.Claim.Name) }) {
		t.Error("they are not by name")
	}
}

func foundInEveryCluster(t *testing.T, f finder) {
	fence, err := f.collect.AcquireLease(f.ctx(), "shop", model.LeaseCollector, "a", ledgerBegin, ledgerSoon)
	f.must(err)
	claim := model.Claim{Name: "default-1-00", Pool: "default", State: model.Initialized, Intent: "0", InstanceID: "i-of-the-shop", Reserved: model.Resources{model.Nodes: 1}}
	f.must(f.collect.Adopt(f.ctx(), fence, claim))
	own := f.launched(1)[0] // of the same name
	found := f.found(2, claim.InstanceID, own.InstanceID)
	if found[0].Cluster != "shop" || found[0].Claim.InstanceID != claim.InstanceID || found[1].Cluster != "web" || found[1].Claim.InstanceID != own.InstanceID {
		t.Errorf("found %+v", found)
	}
}

func nothingIsFound(t *testing.T, f finder) {
	planner := f.acquire("planner")
	intent, claims := ledgerLaunch("1", 1) // no instance yet
	f.must(f.Record(f.ctx(), planner, intent, claims, nil))
	for _, ids := range [][]string{nil, {"i-1"}, {"i-1", "i-2"}} {
		if found := f.found(0, ids...); len(found) != 0 {
			t.Errorf("%v: %+v", ids, found)
		}
	}
}

func recordsShowNotes(t *testing.T, f finder) {
	if notes := f.records().Notes; len(notes.Replaced) != 0 {
		t.Errorf("of nothing: %+v", notes)
	}
	f.must(f.Remember(f.ctx(), f.acquire("planner"), model.Notes{Replaced: []string{"default-1-00"}}))
	if notes := f.records().Notes; !slices.Equal(notes.Replaced, []string{"default-1-00"}) {
		t.Errorf("%+v", notes)
	}
}
