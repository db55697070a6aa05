package world_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestLedgerKeepsTheContract(t *testing.T) {
	conform.Ledger(t, func(*testing.T) conform.LedgerPort { return world.NewLedger(time.Now) })
}

func TestLedgerKeepsTheContractOfNotices(t *testing.T) {
	conform.LedgerFind(t, func(*testing.T) conform.LedgerFindPort { return world.NewLedger(time.Now) })
}

func TestLedgerKeepsTheCollectorsContract(t *testing.T) {
	conform.LedgerCollect(t, func(*testing.T) conform.LedgerCollectPort { return world.NewLedger(time.Now) })
}

func TestLedgerKeepsTheDisruptContract(t *testing.T) {
	conform.LedgerDisrupt(t, func(*testing.T) conform.LedgerDisruptPort { return world.NewLedger(time.Now) })
}

func TestF3LedgerKeepsTheContractOfItemsThatCannotBeRead(t *testing.T) {
	conform.LedgerUnread(t, func(*testing.T) (conform.LedgerDisruptPort, func(kind, name string)) {
		ledger := world.NewLedger(time.Now)
		return ledger, func(kind, name string) { world.SpoilItem(ledger, "web", kind, name) }
	})
}

func TestCT07LedgerKeepsTheContractOfZonalShifts(t *testing.T) {
	conform.LedgerShifts(t, func(*testing.T) (conform.LedgerPort, catalog.ShiftRecords) {
		ledger := world.NewLedger(time.Now)
		return ledger, world.ZonesLedger{Ledger: ledger}
	})
}

func TestF5LedgerKeepsTheContractOfUsageRecounts(t *testing.T) {
	conform.LedgerRecount(t, func(*testing.T) (conform.LedgerDisruptPort, provision.UsageRecounts) {
		ledger := world.NewLedger(time.Now)
		return ledger, world.UsageRecounts{Ledger: ledger}
	})
}

func TestF4LedgerKeepsTheContractOfLosses(t *testing.T) {
	conform.LedgerLoss(t, func(*testing.T) (conform.LedgerDisruptPort, work.LossReporter) {
		ledger := world.NewLedger(time.Now)
		return ledger, world.Losses{Ledger: ledger}
	})
}

// A read that takes time may see an intent open and its claims settled, the other way round, or one claim of two; never
// what was before it began, or what no transaction wrote.
func TestLedgerReadsAreTornBetweenPartitions(t *testing.T) {
	now := world.Start
	clock := func() time.Time { return now }
	seen := map[string]bool{}
	for seed := range uint64(200) {
		l := world.NewLedger(clock)
		l.Tear(rand.New(rand.NewPCG(seed, 0)))
		reg := model.Registration{Cluster: "web"}
		fence, err := l.Acquire(t.Context(), "web", "a", now.Unix(), now.Unix()+60)
		if err != nil {
			t.Fatal(err)
		}
		intent := model.Intent{ID: "1", Cluster: "web", Pool: "default", Claims: []string{"x-1", "y-2"}, State: model.IntentCalling}
		var claims []model.Claim
		for _, name := range intent.Claims {
			claims = append(claims, model.Claim{Name: name, Pool: "default", State: model.Intended, Version: 1, Intent: "1", Reserved: model.Resources{model.Nodes: 1}})
		}
		check := func(began time.Time) string {
			ledger, err := l.LoadSince(t.Context(), reg, began)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%d open, %d usages", len(ledger.Intents), len(ledger.Usage))
			for _, claim := range ledger.Claims {
				text += fmt.Sprintf(", %s %s", claim.Name, claim.State)
			}
			return text
		}
		began := now
		now = now.Add(100 * time.Millisecond)
		if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
			t.Fatal(err)
		}
		if text := check(now); text != "1 open, 1 usages, x-1 Intent, y-2 Intent" {
			t.Fatalf("a read that began after the write: %s", text)
		}
		now = now.Add(100 * time.Millisecond)
		seen[check(began)] = true
		settled := now
		launched := []model.Claim{claims[0], claims[1]}
		for i := range launched {
			launched[i].State, launched[i].InstanceID = model.Launched, "i"
		}
		if err := l.Settle(t.Context(), fence, model.Settlement{Intent: intent, Launched: launched}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
		seen[check(settled.Add(-100*time.Millisecond))] = true
	}
	for _, want := range []string{
		"0 open, 0 usages", "1 open, 1 usages, x-1 Intent, y-2 Intent", "1 open, 1 usages", "0 open, 0 usages, x-1 Intent", "1 open, 1 usages, y-2 Intent",
		"1 open, 1 usages, x-1 Launched, y-2 Launched", "0 open, 1 usages, x-1 Intent, y-2 Intent", "0 open, 1 usages, x-1 Launched, y-2 Intent",
	} {
		if !seen[want] {
			t.Errorf("never seen: %s", want)
		}
		delete(seen, want)
	}
	for text := range seen {
		if strings.Contains(text, "0 usages") && strings.Contains(text, "Launched") {
			t.Errorf("seen: %s", text)
		}
	}
}
