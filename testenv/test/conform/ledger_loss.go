package conform

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// LedgerLoss is the contract of a ledger towards whoever finds that an object is gone which the watcher published. start returns an empty
// one for each case.
func LedgerLoss(t *testing.T, start func(t *testing.T) (LedgerDisruptPort, work.LossReporter)) {
	for name, rule := range map[string]func(*testing.T, bench, work.LossReporter){
		"the watcher hears what is gone with each sign of life until it moves the pointer": lossIsHeard,
		"what moves the pointer hears it once":                                             lossIsHeardOnce,
		"of a pointer that has moved on nothing is said":                                   lossOfAnOlderManifest,
		"of a pointer that is not there nothing is said":                                   lossOfNothing,
		"whoever reads the pointer sees that it was said":                                  lossIsSeen,
		"a flag changes nothing else of the pointer":                                       lossChangesNothing,
		"of a leader before this one nothing is heard by a heartbeat":                      lossOfAnOlderEpoch,
		"what one cluster's readers say is not heard by another's own":                     lossIsOfOneCluster,
	} {
		t.Run(name, func(t *testing.T) {
			ledger, losses := start(t)
			rule(t, bench{cache{book{ledger, t}, ledger}, ledger}, losses)
		})
	}
}

// lossManifest is one of cluster web.
func lossManifest(epoch, head int64) model.Manifest {
	return model.Manifest{Cluster: "web", Epoch: epoch, SnapshotKey: "k", SnapshotSeq: 1, HeadSeq: head, HeartbeatAt: ledgerBegin}
}

// heard asserts what the watcher of web hears.
func (b bench) heard(what string, want, got bool, err error) {
	b.t.Helper()
	if err != nil || got != want {
		b.t.Errorf("%s: lost is %t, want %t; %v", what, got, want, err)
	}
}

// beats sends a heartbeat and asserts what is heard.
func (b bench) beats(what string, epoch int64, want bool) {
	b.t.Helper()
	got, err := b.Heartbeat(b.ctx(), "web", epoch, ledgerSoon)
	b.heard(what, want, got, err)
}

// moves moves the pointer and asserts what is heard.
func (b bench) moves(what string, manifest model.Manifest, want bool) {
	b.t.Helper()
	got, err := b.AdvanceManifest(b.ctx(), manifest)
	b.heard(what, want, got, err)
}

func lossIsHeard(_ *testing.T, b bench, losses work.LossReporter) {
	b.moves("the first", lossManifest(1, 1), false)
	b.moves("the second", lossManifest(1, 2), false)
	b.beats("before anybody said so", 1, false)
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2))) // the same again
	b.beats("afterwards", 1, true)
	b.beats("again", 1, true)
	b.moves("with the next pointer", lossManifest(1, 3), true)
	b.beats("of the next pointer", 1, false)
}

func lossIsHeardOnce(_ *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(1, 2)))
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	b.moves("with the next pointer", lossManifest(1, 3), true)
	b.moves("with the same again", lossManifest(1, 3), false)
	b.must(losses.Lost(b.ctx(), lossManifest(1, 3)))
	b.beats("said again of the next pointer", 1, true)
}

func lossOfAnOlderManifest(_ *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(2, 3)))
	b.must(losses.Lost(b.ctx(), lossManifest(2, 2)))
	b.must(losses.Lost(b.ctx(), lossManifest(1, 3)))
	b.must(losses.Lost(b.ctx(), lossManifest(3, 3)))
	b.beats("of others", 2, false)
}

func lossOfNothing(t *testing.T, b bench, losses work.LossReporter) {
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	if p, err := b.Manifest(b.ctx(), "web"); p != nil || err != nil {
		t.Errorf("a pointer came of it: %+v, %v", p, err)
	}
	b.moves("the first", lossManifest(1, 2), false)
}

func lossIsSeen(t *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(1, 2)))
	seen := func(want bool) {
		t.Helper()
		alone, err := b.Manifest(b.ctx(), "web")
		b.must(err)
		glanced, _, _, err := b.disrupt.Peek(b.ctx(), "web")
		b.must(err)
		if loaded := b.load().Manifest; loaded.Lost != want || alone.Lost != want || glanced.Lost != want {
			t.Errorf("lost is %t, %t and %t, want %t", loaded.Lost, alone.Lost, glanced.Lost, want)
		}
	}
	seen(false)
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	seen(true)
	flagged, err := b.Manifest(b.ctx(), "web")
	b.must(err)
	flagged.HeadSeq++
	b.must(b.point(*flagged)) // whatever the pointer says that is written
	seen(false)
}

func lossChangesNothing(t *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(1, 2)))
	before := *b.load().Manifest
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	after := *b.load().Manifest
	after.Lost = false
	if after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

func lossOfAnOlderEpoch(_ *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(1, 2)))
	b.must(losses.Lost(b.ctx(), lossManifest(1, 2)))
	b.moves("a new leader's first", lossManifest(2, 1), true)
	b.beats("a new leader's", 2, false)
}

func lossIsOfOneCluster(_ *testing.T, b bench, losses work.LossReporter) {
	b.must(b.point(lossManifest(1, 2)))
	other := lossManifest(1, 2)
	other.Cluster = "shop"
	b.must(b.point(other))
	b.must(losses.Lost(b.ctx(), other))
	b.beats("another cluster's", 1, false)
}
