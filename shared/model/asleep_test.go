package model_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestSleepingClustersAreSweptEveryFifthMinute(t *testing.T) {
	const now, odd = 100_000, "2026-03-01T12:01:00Z"
	asleep := func() (model.DisruptNotes, *model.Manifest, string) {
		return model.DisruptNotes{Empty: true, Ledger: "d", Epoch: 2, Seq: 7, AtUnix: now - 599}, &model.Manifest{Epoch: 2, HeadSeq: 7, HeartbeatAt: now - 45}, odd
	}
	if notes, manifest, tick := asleep(); notes.ResyncDue(manifest, now, tick) {
		t.Error("a cluster that sleeps is swept each minute")
	}
	for name, wake := range map[string]func(n *model.DisruptNotes, p **model.Manifest, tick *string){
		"the fifth minute":          func(_ *model.DisruptNotes, _ **model.Manifest, tick *string) { *tick = "2026-03-01T12:05:00Z" },
		"a tick nobody understands": func(_ *model.DisruptNotes, _ **model.Manifest, tick *string) { *tick = "x" },
		"something of ours":         func(n *model.DisruptNotes, _ **model.Manifest, _ *string) { n.Empty = false },
		"a memory taken back":       func(n *model.DisruptNotes, _ **model.Manifest, _ *string) { n.Ledger = "" },
		"an old memory":             func(n *model.DisruptNotes, _ **model.Manifest, _ *string) { n.AtUnix-- },
		"another snapshot":          func(_ *model.DisruptNotes, p **model.Manifest, _ *string) { (*p).HeadSeq++ },
		"another leader":            func(_ *model.DisruptNotes, p **model.Manifest, _ *string) { (*p).Epoch++ },
		"a silent watcher":          func(_ *model.DisruptNotes, p **model.Manifest, _ *string) { (*p).HeartbeatAt-- },
		"no watcher":                func(_ *model.DisruptNotes, p **model.Manifest, _ *string) { *p = nil },
	} {
		notes, manifest, tick := asleep()
		wake(&notes, &manifest, &tick)
		if !notes.ResyncDue(manifest, now, tick) {
			t.Errorf("%s does not wake it", name)
		}
	}
}
