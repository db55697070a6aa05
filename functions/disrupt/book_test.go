package main

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// says is every parameter's value.
type says string

func (s says) Parameter(context.Context, string) (string, error) { return string(s), nil }

type emptyBook struct{ disrupt.Ledger }

func (emptyBook) Load(context.Context, model.Registration) (model.Ledger, error) {
	return model.Ledger{Stops: []model.Stop{{Scope: model.StopPool, Pool: "gpu", Why: "training"}}}, nil
}

// The parameter is one more stop of the region beside what the ledger has.
func TestStopSwitchIsAStopOfTheRegion(t *testing.T) {
	for says, want := range map[says]int{"go": 1, "disruption": 2, "everything": 2} {
		book := stoppable{emptyBook{}, boot.StopSwitch(says, "/joiner/stop", slog.New(slog.NewTextHandler(io.Discard, nil)))}
		ledger, err := book.Load(t.Context(), model.Registration{Cluster: "shop"})
		if err != nil || len(ledger.Stops) != want {
			t.Fatalf("%s: stops %+v: %v", says, ledger.Stops, err)
		}
		if last := ledger.Stops[want-1]; want == 2 && (last.Scope != model.StopRegion || last.By != "/joiner/stop") {
			t.Errorf("%s: the last stop is %+v", says, last)
		}
	}
}
