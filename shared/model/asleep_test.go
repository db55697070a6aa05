package model_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestSleepingClustersAreSweptEveryFifthMinute(t *testing.T) {
	const now, odd = 100_000, "2026-03-01T12:01:00Z"
	asleep := func() (model.JudgeNotes, *model.Pointer, string) {
		return model.JudgeNotes{Empty: true, Ledger: "d", Epoch: 2, Seq: 7, AtUnix: now - 599}, &model.Pointer{Epoch: 2, HeadSeq: 7, HeartbeatAt: now - 45}, odd
	}
	if notes, pointer, tick := asleep(); notes.SweepDue(pointer, now, tick) {
		t.Error("a cluster that sleeps is swept each minute")
	}
	for name, wake := range map[string]func(n *model.JudgeNotes, p **model.Pointer, tick *string){
		"the fifth minute":          func(_ *model.JudgeNotes, _ **model.Pointer, tick *string) { *tick = "2026-03-01T12:05:00Z" },
		"a tick nobody understands": func(_ *model.JudgeNotes, _ **model.Pointer, tick *string) { *tick = "x" },
		"something of ours":         func(n *model.JudgeNotes, _ **model.Pointer, _ *string) { n.Empty = false },
		"a memory taken back":       func(n *model.JudgeNotes, _ **model.Pointer, _ *string) { n.Ledger = "" },
		"an old memory":             func(n *model.JudgeNotes, _ **model.Pointer, _ *string) { n.AtUnix-- },
		"another snapshot":          func(_ *model.JudgeNotes, p **model.Pointer, _ *string) { (*p).HeadSeq++ },
		"another leader":            func(_ *model.JudgeNotes, p **model.Pointer, _ *string) { (*p).Epoch++ },
		"a silent watcher":          func(_ *model.JudgeNotes, p **model.Pointer, _ *string) { (*p).HeartbeatAt-- },
		"no watcher":                func(_ *model.JudgeNotes, p **model.Pointer, _ *string) { *p = nil },
	} {
		notes, pointer, tick := asleep()
		wake(&notes, &pointer, &tick)
		if !notes.SweepDue(pointer, now, tick) {
			t.Errorf("%s does not wake it", name)
		}
	}
}
