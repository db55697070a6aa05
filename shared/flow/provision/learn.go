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

// learn notes how much memory the nodes of claims really have where that is less than the catalog knows of, or nothing is
// known yet, for every cluster of the account and region. A node counts while its image is the one that a node of its type
// and class would get now. It looks at every node that has joined, not only at those that just have, so that nothing is lost
// with a run; without the shared catalog it rests, because that is what brings back what was noted.
func (r *pass) learn(ctx context.Context) {
	if r.catalog == nil || r.out.Catalog.Source != sourceShared {
		return
	}
	nodes := r.nodesByProvider()
	least := map[[2]string]model.LearnedOf{}
	doubted := map[[2]string]bool{}
	images := map[[2]string]string{} // image a node of class and type would get now
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		joined := nodes[claim.ProviderID]
		if claim.State != model.Registered && claim.State != model.Initialized || len(joined) != 1 || joined[0].Capacity[model.Memory] < mib {
			continue
		}
		class, known := r.resolvedClass(claim.Class)
		info := r.instanceType(claim.InstanceType)
		if !known || info == nil {
			continue
		}
		about := [2]string{claim.InstanceType, class.Status.ImagesKey()}
		of := [2]string{claim.Class, claim.InstanceType}
		if _, asked := images[of]; !asked {
			images[of] = r.imageFor(class, info)
		}
		seen := model.Learned{Images: about[1], MiB: joined[0].Capacity[model.Memory] / mib, SeenUnix: r.now()}
		if images[of] != claim.ImageID || claim.ImageID == "" || !news(info.LearnedMiB, seen) {
			continue
		}
		if floor := offering.MinMemoryMiB(info); seen.MiB < floor {
			if !doubted[about] {
				r.problem("node %s of type %s reports %d MiB of memory, and that type has at least %d MiB: the report is ignored; check its kubelet and kernel settings",
					joined[0].Name, claim.InstanceType, seen.MiB, floor)
			}
			doubted[about] = true
			continue
		}
		if before, have := least[about]; !have || seen.MiB < before.MiB {
			least[about] = model.LearnedOf{InstanceType: claim.InstanceType, Learned: seen}
		}
	}
	r.note(ctx, least)
}

// note writes what is new, by type and images, so much at once.
func (r *pass) note(ctx context.Context, least map[[2]string]model.LearnedOf) {
	var all []model.LearnedOf
	for _, learned := range least {
		all = append(all, learned)
	}
	slices.SortFunc(all, func(a, b model.LearnedOf) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Images, b.Images))
	})
	for _, learned := range all[:min(len(all), learnAtOnce)] {
		err := r.effect(ctx, EffectLearn, func() error { return r.Memories.Learn(ctx, r.reg, learned) })
		if err != nil {
			r.problem("record the memory of instance types: %v", err)
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

// instanceType returns a type of the catalog; nil where it is not among them any more.
func (r *pass) instanceType(name string) *model.InstanceTypeInfo {
	at, found := slices.BinarySearchFunc(r.catalog.Types, name, func(m model.InstanceTypeInfo, name string) int { return cmp.Compare(m.Name, name) })
	if !found {
		return nil
	}
	return &r.catalog.Types[at]
}

// imageFor returns the id of the image that a node of class and type would get now; "" where there is none.
func (r *pass) imageFor(class model.Class, info *model.InstanceTypeInfo) string {
	types := offering.Catalog([]model.InstanceTypeInfo{*info}, class, r.offeringSettings())
	if len(types) != 1 {
		return ""
	}
	image, _ := offering.ImageFor(class, types[0])
	return image.ID
}

// resolvedClass returns a class with what its selectors mean: as this run resolved it, else as the ledger or the object has it
// for the same generation.
func (r *pass) resolvedClass(name string) (model.Class, bool) {
	if class, resolved := r.classes[name]; resolved {
		return class, true
	}
	for _, class := range r.snapshot.Classes {
		if class.Name != name {
			continue
		}
		for i := range r.ledger.Classes {
			record := &r.ledger.Classes[i]
			if record.Name == name && record.UID == class.UID && record.Status.ObservedGeneration == class.Generation {
				class.Status = record.Status
				return class, true
			}
		}
		return class, class.Status.ObservedGeneration == class.Generation && len(class.Status.Images) > 0
	}
	return model.Class{}, false
}
