package world_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/conform"
	"github.com/joiner-sh/joiner/testenv/world"
)

func TestLedgerKeepsTheContract(t *testing.T) {
	conform.Ledger(t, func(*testing.T) conform.LedgerPort { return world.NewLedger(time.Now) })
}

func TestLedgerKeepsTheCollectorsContract(t *testing.T) {
	conform.LedgerCollect(t, func(*testing.T) conform.LedgerCollectPort { return world.NewLedger(time.Now) })
}
