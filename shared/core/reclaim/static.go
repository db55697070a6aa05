package reclaim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// excess returns how many nodes a static pool has beyond its size. Machines on their way count, and are no nodes yet: of those it
// has too many of, it loses them once they have joined.
func (v *view) excess(pool *model.Pool) int {
	if pool.Replicas == nil {
		return 0
	}
	if known, counted := v.surplus[pool.Name]; counted {
		return known
	}
	if v.surplus == nil {
		v.surplus = make(map[string]int)
	}
	joined := 0
	for _, m := range v.members {
		if m.Node.Pool() == pool.Name && m.Claim != nil && m.command == nil && m.Claim.State == model.Initialized && m.Node.DeletedUnix == 0 && !v.deleted(m.Claim) {
			joined++
		}
	}
	v.surplus[pool.Name] = max(0, joined-int(max(0, *pool.Replicas)))
	return v.surplus[pool.Name]
}

// shrink gives back what static pools have beyond their size, whatever budgets say, as it is what people asked for: nodes without
// pods first, then those without a pod that must not be disturbed, each time those that cost least to lose.
func (v *view) shrink() {
	for _, pool := range v.static() {
		n := v.excess(pool)
		if n == 0 {
			continue
		}
		var members []*member
		for _, m := range v.those(shrinking) {
			if m.Node.Pool() == pool.Name {
				members = append(members, m)
			}
		}
		slices.SortStableFunc(members, v.byLoss)
		members = members[:min(n, len(members))]
		for chunk := range slices.Chunk(members, model.MaxCommandNodes) {
			if v.full() {
				for _, m := range chunk {
					v.cut(m)
				}
				continue
			}
			v.choose(v.command(model.ReasonReplicas, chunk, outcome{}), chunk)
			v.surplus[pool.Name] -= len(chunk)
		}
	}
}

// static returns the pools of a fixed size, by name.
func (v *view) static() []*model.Pool {
	var out []*model.Pool
	for _, name := range slices.Sorted(maps.Keys(v.pools)) {
		if v.pools[name].Replicas != nil {
			out = append(out, v.pools[name])
		}
	}
	return out
}

// byLoss orders nodes by what it costs to lose them: those of whom no pod has to be made anew and none must not be disturbed,
// then the others by whether any must not be, then by what their pods cost, less where a node has not long to live anyway.
func (v *view) byLoss(a, b *member) int {
	rank := func(m *member) int {
		switch kept := v.shielded(m); {
		case len(m.Pods) == 0 && !kept:
			return 0
		case !kept:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(v.loss(a), v.loss(b)), strings.Compare(a.name(), b.name()))
}

// shielded reports whether a pod of the node must not be disturbed now.
func (v *view) shielded(m *member) bool {
	return slices.ContainsFunc(v.podsOf[m.name()], func(i int) bool {
		pod := &v.in.Snapshot.Pods[i]
		return pod.DeletedUnix == 0 && pack.Shielded(v.in.Snapshot.ShapeOf(pod).DoNotDisrupt, pod.StartedUnix).Active(v.now)
	})
}

// loss returns what the pods of a node cost to disturb, all of them, times the part of its life that is left, in millionths of an
// ordinary pod.
func (v *view) loss(m *member) int64 {
	sum := int64(0)
	for _, i := range v.podsOf[m.name()] {
		sum += podCost(v.in.Snapshot.ShapeOf(&v.in.Snapshot.Pods[i]))
	}
	left := int64(1000)
	if m.Claim.ExpireSeconds != nil && *m.Claim.ExpireSeconds > 0 {
		seconds := min(*m.Claim.ExpireSeconds, int64(1)<<40)
		age := max(0, v.now-cmp.Or(m.Claim.CreatedUnix, m.Claim.LaunchedUnix, v.now))
		left = max(0, seconds-age) * 1000 / seconds
	}
	return sum * left
}

// renewStatic replaces nodes of static pools that drifted or are too old, one for one, while the pool has no more than its size.
func (v *view) renewStatic() {
	for _, pool := range v.static() {
		var members []*member
		for _, m := range v.those(eventual) {
			if m.Node.Pool() == pool.Name {
				members = append(members, m)
			}
		}
		slices.SortStableFunc(members, byAge)
		for i, m := range members {
			reason := renewal(m)
			switch {
			case v.excess(pool) > 0:
				m.keep(model.KeptReason{Code: Static, Message: "NodePool " + pool.Name + " has more nodes than spec.replicas; it is brought to its size first"})
				continue
			case !m.may(replacing):
				continue
			case !v.room.fits(reason, m):
				v.constrain(m, reason)
				continue
			case v.full():
				v.cut(m)
				continue
			}
			claims := pack.Fill(v.input(members[i:i+1], nil, nil), pool.Name, 1)
			if len(claims) == 0 {
				m.keep(model.KeptReason{Code: NoReplacement, Message: "nothing can be launched in its place: the limits of NodePool " + pool.Name + ", or what its requirements leave, allow no machine more now"})
				continue
			}
			v.choose(v.command(reason, members[i:i+1], outcome{claims: claims, price: claims[0].Price}), members[i:i+1])
		}
	}
}
