package provision

import (
	"cmp"
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	mib          = int64(1) << 20
	learnAtOnce  = 10               // writes in one run; the next resync goes on
	relearnAfter = int64(24 * 3600) // seconds after which it is noted again that nodes still show what is known
)

// learner notes how much memory nodes really have.
type learner struct {
	*state
	classes  *classes
	memories Memories
}

// learn notes how much memory the nodes of claims really have where that is less than the catalog knows of, or nothing
// is known yet, for every cluster of the account and region. A node counts while its image is the one that a node of
// its type and class would get now. It looks at every node that has joined, not only at those that just have, so that
// nothing is lost with a run; without the shared catalog it rests, because that is what brings back what was noted.
func (l *learner) learn(ctx context.Context) {
	if l.classes.catalog == nil || l.classes.catalogUse.Source != catalogShared {
		return
	}
	nodes := l.nodesByProvider()
	least := map[[2]string]model.LearnedOf{}
	doubted := map[[2]string]bool{}
	images := map[[2]string]string{} // image a node of class and type would get now
	for i := range l.ledger.Claims {
		claim := &l.ledger.Claims[i]
		joined := nodes[claim.ProviderID]
		if claim.State != model.Registered && claim.State != model.Initialized || len(joined) != 1 ||
			joined[0].Capacity[model.Memory] < mib {
			continue
		}
		class, known := l.classes.resolvedClass(claim.Class)
		info := l.classes.instanceType(claim.InstanceType)
		if !known || info == nil {
			continue
		}
		about := [2]string{claim.InstanceType, class.Status.ImagesKey()}
		of := [2]string{claim.Class, claim.InstanceType}
		if _, asked := images[of]; !asked {
			images[of] = l.classes.imageFor(class, info)
		}
		seen := model.Learned{Images: about[1], MiB: joined[0].Capacity[model.Memory] / mib, SeenUnix: l.now()}
		if images[of] != claim.ImageID || claim.ImageID == "" || !news(info.LearnedMiB, seen) {
			continue
		}
		if floor := offering.MinMemoryMiB(info); seen.MiB < floor {
			if !doubted[about] {
				l.problem("node %s of type %s reports %d MiB of memory, and that type has at least %d MiB: "+
					"the report is ignored; check its kubelet and kernel settings",
					joined[0].Name, claim.InstanceType, seen.MiB, floor)
			}
			doubted[about] = true
			continue
		}
		if before, have := least[about]; !have || seen.MiB < before.MiB {
			least[about] = model.LearnedOf{InstanceType: claim.InstanceType, Learned: seen}
		}
	}
	l.note(ctx, least)
}

// note writes what is new, by type and images, so much at once.
func (l *learner) note(ctx context.Context, least map[[2]string]model.LearnedOf) {
	var all []model.LearnedOf
	for _, learned := range least {
		all = append(all, learned)
	}
	slices.SortFunc(all, func(a, b model.LearnedOf) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Images, b.Images))
	})
	for _, learned := range all[:min(len(all), learnAtOnce)] {
		err := l.effect(ctx, EffectLearn, func() error { return l.memories.Learn(ctx, l.reg, learned) })
		if err != nil {
			l.problem("record the memory of instance types: %v", err)
			return
		}
	}
}

// news reports whether what a node shows is less than what is known, was not known, or has not been seen for long.
func news(known []model.Learned, seen model.Learned) bool {
	for _, learned := range known {
		if learned.Images == seen.Images && !learned.Forgotten(seen.SeenUnix) {
			return seen.MiB < learned.MiB || seen.MiB == learned.MiB && seen.SeenUnix-learned.SeenUnix >= relearnAfter
		}
	}
	return seen.Images != ""
}
