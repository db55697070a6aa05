package reclaim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// maxTries is how many nodes that drifted or are too old are looked at for one plan. Each takes a plan of its own for its pods.
const maxTries = 100

// renewal returns the reason for which a node is replaced by a like one.
func renewal(m *member) string {
	if m.may(drifting) {
		return model.ReasonDrifted
	}
	return model.ReasonExpired
}

// byAge orders nodes to renew: those without pods first, then those whose time came first.
func byAge(a, b *member) int {
	since := func(m *member) int64 {
		if m.DriftUnix > 0 {
			return m.DriftUnix
		}
		return cmp.Or(m.Claim.CreatedUnix, m.Claim.LaunchedUnix)
	}
	busy := func(m *member) int { return min(1, len(m.Pods)) }
	return cmp.Or(cmp.Compare(busy(a), busy(b)), cmp.Compare(since(a), since(b)), strings.Compare(a.name(), b.name()))
}

// queue is what is to be renewed of one pool.
type queue struct {
	pool    string
	members []*member
}

// renew replaces nodes that drifted or are too old. Pools take turns, so that one whose nodes cannot be replaced holds up no
// other (R41), and so do the nodes of a pool, over several plans, where more of them cannot be than are looked at for one.
func (v *view) renew() {
	queues := v.toRenew()
	v.rotate(queues)
	for tries := 0; len(queues) > 0; {
		for i := range queues {
			q := &queues[i]
			m := q.members[0]
			q.members = q.members[1:]
			reason := renewal(m)
			switch {
			case !m.may(eventual): // a command before this one moves pods onto it
			case !v.room.fits(reason, m):
				v.constrain(m, reason)
			case v.full(), tries >= maxTries:
				v.cut(m)
				v.lookAgain(v.now + soonSeconds)
			default:
				if len(m.Pods) > 0 {
					tries++
				}
				v.renewOne(m, reason)
			}
		}
		queues = slices.DeleteFunc(queues, func(q queue) bool { return len(q.members) == 0 })
	}
}

// toRenew returns what is to be renewed, by pool, each in its order.
func (v *view) toRenew() []queue {
	var queues []queue
	for _, m := range v.those(eventual) {
		if m.Pool.Replicas != nil {
			continue
		}
		pool := m.Node.Pool()
		i := slices.IndexFunc(queues, func(q queue) bool { return q.pool == pool })
		if i < 0 {
			i = len(queues)
			queues = append(queues, queue{pool: pool})
		}
		queues[i].members = append(queues[i].members, m)
	}
	slices.SortFunc(queues, func(a, b queue) int { return strings.Compare(a.pool, b.pool) })
	for _, q := range queues {
		slices.SortStableFunc(q.members, byAge)
	}
	return queues
}

// rotate begins each long queue further on from minute to minute.
func (v *view) rotate(queues []queue) {
	for i := range queues {
		q := &queues[i]
		if n := len(q.members); n > maxTries {
			from := int(v.now/60%int64(n)) * maxTries % n
			q.members = slices.Concat(q.members[from:], q.members[:from])
		}
	}
}

// renewOne replaces a node by what its pods need beside the room there is, if they all have a place then. They do not go to nodes
// that are to be renewed themselves, from where they would have to move again, unless there is nothing else for them.
func (v *view) renewOne(m *member, reason string) {
	o := v.without([]*member{m}, v.lasting())
	if len(o.homeless) > 0 {
		o = v.without([]*member{m}, v.unready)
	}
	if len(o.homeless) > 0 {
		m.keep(describe(o.homeless))
		return
	}
	if len(o.claims) > 0 && !m.may(replacing) {
		return
	}
	command := v.command(reason, []*member{m}, o)
	if no := v.unbalanced(&command, []*member{m}); no != nil {
		m.keep(*no)
		v.awaitBalance(no)
		return
	}
	v.choose(command, []*member{m})
}

// lasting returns what takes no pods of nodes that are renewed: what is not ready, and what is to be renewed.
func (v *view) lasting() map[string]bool {
	out := maps.Clone(v.unready)
	for _, m := range v.members {
		if m.could&eventual != 0 && !m.planned {
			out[m.name()] = true
		}
	}
	return out
}
