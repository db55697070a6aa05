package world

import (
	"context"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// Learn notes how much memory a node of a type had.
func (l *Ledger) Learn(_ context.Context, reg model.Registration, learned model.LearnedOf) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.learned[scope(reg)]
	if kept == nil {
		kept = map[[2]string]model.LearnedOf{}
		l.learned[scope(reg)] = kept
	}
	key := [2]string{learned.InstanceType, learned.Images}
	before, known := kept[key]
	if known && !before.Forgotten(learned.SeenUnix) && (before.MiB < learned.MiB || before.MiB == learned.MiB && before.SeenUnix >= learned.SeenUnix) {
		return nil
	}
	kept[key] = learned
	l.note(LedgerWritten{Op: "learn"})
	return nil
}

// Learned returns what was learned of types, by type, then images.
func (l *Ledger) Learned(_ context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []model.LearnedOf
	for _, learned := range l.learned[scope(reg)] {
		if !learned.Forgotten(nowUnix) {
			all = append(all, learned)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].InstanceType != all[j].InstanceType {
			return all[i].InstanceType < all[j].InstanceType
		}
		return all[i].Images < all[j].Images
	})
	return all, nil
}
