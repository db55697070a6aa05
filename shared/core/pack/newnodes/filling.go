package newnodes

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// filling is what goes onto one node, and of which batches it is taken.
type filling struct {
	pool     *offerings.Pool
	Batches  []remainingBatch
	dims     int
	cpu      int           // its dimension
	memory   int           // its dimension
	requests []int64       // of a unit, by batch
	counts   []int         // units still to be placed, by batch
	leaning  []float64     // CPU asked for per byte of memory, by batch
	smallest vector.Vector // of each resource, the least any batch with units left asks for
	times    int           // for how many batches each of the list stands that is filled from
	seed     int           // batch that the node is opened for

	free      vector.Vector // of the node
	index     *device.Index
	devices   *device.Devices // of the node, less what is taken; nil = not looked at yet
	column    int             // that the node is bought by
	items     []item
	nodeRules nodeRules
	inside    []int32 // units of each batch on the node
	entry     []int32 // where in items a batch's are
}

// fill works out what goes onto a node bought by the column: as many units of the seed as fit, then of each batch of
// the list that accepts the offering. It leaves the filling in r.items and r.free and returns what it is worth.
func (r *filling) fill(seed, seedOption, column int, list []int) int64 {
	r.begin(seed, column)
	flag := r.Batches[seed].options[seedOption].Flag
	value := r.add(seed, seedOption, r.stock(seed))
	free, dims := r.free, r.dims
batches:
	for _, l := range list {
		request := r.requests[l*dims : l*dims+dims]
		for d, amount := range request {
			if amount > free[d] && amount > 0 {
				continue batches
			}
		}
		if r.counts[l] == 0 || l == seed {
			continue
		}
		if added, joined := r.addAny(l, -1, column, flag, r.stock(l)); added > 0 {
			if value, flag = value+added, joined; !r.smallest.Fits(free) {
				return value
			}
		}
	}
	return value
}

// fillEvenly is fill, but for taking turns between batches that ask for more CPU and batches that ask for more memory
// than the node has of them, so that both are used up together.
func (r *filling) fillEvenly(seed, seedOption, column int, list []int) int64 {
	room := r.pool.Free[r.pool.Market.Columns[column].Instance]
	cpu, memory := r.cpu, r.memory
	if room[cpu] <= 0 || room[memory] <= 0 {
		return 0
	}
	r.begin(seed, column)
	flag := r.Batches[seed].options[seedOption].Flag
	perCPU, perMemory := 1/float64(room[cpu]), 1/float64(room[memory])
	value := r.add(seed, seedOption, 1)
	free, requests, dims := r.free, r.requests, r.dims
	balance := float64(room[cpu]) / float64(room[memory])
	var next [2]int // into list, of batches that lean to CPU and to memory
	first := [2]int{-1, -1}
	first[side(r.leaning[seed], balance)] = seed // the rest of the seed goes first
	for {
		gap := float64(float64(free[cpu])*perCPU) - float64(float64(free[memory])*perMemory)
		turn := 0
		if gap < 0 {
			turn, gap = 1, -gap
		}
		l := -1
		for range 2 {
			if first[turn] >= 0 {
				l = first[turn]
				break
			}
			i := next[turn]
			for ; i < len(list); i++ {
				x := list[i]
				if request := requests[x*dims : x*dims+dims]; request[cpu] <= free[cpu] && request[memory] <= free[memory] && side(r.leaning[x], balance) == turn && x != seed && int(r.inside[x]) < r.counts[x]*r.times {
					break
				}
			}
			if next[turn] = i; i < len(list) {
				l = list[i]
				break
			}
			turn, gap = 1-turn, 0
		}
		if l < 0 {
			return value
		}
		only := -1
		if l == seed {
			only = seedOption
		}
		added, joined := r.addAny(l, only, column, flag, r.unitsFor(l, gap, perCPU, perMemory))
		switch {
		case added > 0:
			if value, flag = value+added, joined; !r.smallest.Fits(free) {
				return value
			}
		case l == seed:
			first[turn] = -1
		default:
			next[turn]++
		}
	}
}

// side returns 0 where a batch leans to CPU, 1 where it leans to memory, beside what there is of both.
func side(leaning, balance float64) int {
	if leaning < balance {
		return 1
	}
	return 0
}

// unitsFor returns how many units of the batch make up for a gap between the parts of CPU and of memory that are free;
// at least one.
func (r *filling) unitsFor(l int, gap, perCPU, perMemory float64) int {
	if r.stock(l) > 1 {
		request := r.requests[l*r.dims : (l+1)*r.dims]
		if by := float64(float64(request[r.cpu])*perCPU) - float64(float64(request[r.memory])*perMemory); by != 0 {
			return max(1, int(gap/max(by, -by)))
		}
	}
	return 1
}

// addAny is add by the first option that the column is of and that goes with the flag, or by one option alone; −1 =
// any. It returns the flag of both as well.
func (r *filling) addAny(l, only, column, flag, want int) (added int64, joined int) {
	for o, option := range r.Batches[l].options {
		if only >= 0 && o != only || !option.OfferingSet.Mask.Has(column) {
			continue
		}
		if both, ok := r.pool.Flags.Join(flag, option.Flag); ok {
			if added = r.add(l, o, want); added > 0 {
				return added, both
			}
		}
	}
	return 0, flag
}

// stock returns how many units of the batch there are, those it stands for included.
func (r *filling) stock(l int) int {
	if l == r.seed {
		return r.counts[l]
	}
	return r.counts[l] * r.times
}

// begin empties the filling and takes the room of a node bought by the column.
func (r *filling) begin(seed, column int) {
	for _, it := range r.items {
		r.inside[it.Batch] = 0
	}
	copy(r.free, r.pool.Free[r.pool.Market.Columns[column].Instance])
	r.items, r.seed, r.devices, r.column = r.items[:0], seed, nil, column
	r.nodeRules.reset()
}

// add puts at most want more units of the batch into r.free and returns their worth.
func (r *filling) add(l, o, want int) int64 {
	batch := &r.Batches[l]
	n := batch.PodGroup.Request.Copies(r.free, min(want, r.stock(l)-int(r.inside[l])))
	if batch.PodGroup.Hosts && n > 0 {
		n = r.nodeRules.fits(batch.PodGroup, n)
	}
	if batch.PodGroup.SoftMost > 0 {
		n = min(n, int(batch.PodGroup.SoftMost)-int(r.inside[l]))
	}
	if len(batch.PodGroup.Devices) > 0 && n > 0 {
		n = r.takeDevices(batch.PodGroup.Devices, n)
	}
	if n <= 0 {
		return 0
	}
	r.free.Take(batch.PodGroup.Request, n)
	if batch.PodGroup.Hosts {
		r.nodeRules.put(batch.PodGroup, n)
	}
	if r.inside[l] > 0 && r.items[r.entry[l]].option == o {
		r.items[r.entry[l]].count += n
	} else {
		r.entry[l] = int32(len(r.items))
		r.items = append(r.items, item{Batch: l, option: o, count: n})
	}
	r.inside[l] += int32(n)
	return int64(n) * batch.options[o].Value
}

// takeDevices takes devices for up to n units and returns for how many they suffice.
func (r *filling) takeDevices(unit []*device.Claims, n int) int {
	if r.devices == nil {
		r.devices = r.devicesOf(r.pool.Market.Columns[r.column].Instance)
	}
	for i := range n {
		after := r.devices.TakeAll(unit)
		if after == nil {
			return i
		}
		r.devices = after
	}
	return n
}

// devicesOf returns the devices that a node of the type has for pods.
func (r *filling) devicesOf(t int) *device.Devices { return DevicesOf(r.index, r.pool, t) }

// withDevices returns the columns of the set whose types have the devices for the items.
func (r *Packing) withDevices(set *offerings.Set, items []item) *offerings.Set {
	if !slices.ContainsFunc(items, func(it item) bool { return len(r.Batches[it.Batch].PodGroup.Devices) > 0 }) {
		return set
	}
	mask := slices.Clone(set.Mask)
	known := make(map[int]bool)
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		t := r.Pool.Market.Columns[c].Instance
		suits, is := known[t]
		if !is {
			suits = suffice(r.devicesOf(t), r.Batches, items)
			known[t] = suits
		}
		if !suits {
			mask.Clear(c)
		}
	}
	return r.Pool.SetOf(mask)
}

// drivers returns the drivers whose devices the node's pods claim, should it be bought as its cheapest offering.
func (r *Packing) drivers(n *Node) []string {
	before, claiming := r.devicesOf(r.Pool.Market.Columns[n.Column].Instance), false
	devices := before
	for _, it := range n.Items {
		unit := r.Batches[it.Batch].PodGroup.Devices
		claiming = claiming || len(unit) > 0
		for range it.count {
			if after := devices.TakeAll(unit); after != nil {
				devices = after
			}
		}
	}
	if !claiming {
		return nil
	}
	return devices.DriversSince(before)
}

// suffice reports whether the devices suffice for the items, one after the other.
func suffice(devices *device.Devices, batches []remainingBatch, items []item) bool {
	for _, it := range items {
		for range it.count {
			if devices = devices.TakeAll(batches[it.Batch].PodGroup.Devices); devices == nil {
				return false
			}
		}
	}
	return true
}

// nodeRules is what rules between pods of one node say of the node being filled.
type nodeRules struct {
	count []int32
	limit []int32 // −1 = none
	used  []int   // slots to clear
	ports []model.HostPort
}

func newNodeRules(rules *group.PodRules) nodeRules {
	b := nodeRules{count: make([]int32, len(rules.Hosts)), limit: make([]int32, len(rules.Hosts))}
	for i := range b.limit {
		b.limit[i] = -1
	}
	return b
}

func (b *nodeRules) reset() {
	for _, s := range b.used {
		b.count[s], b.limit[s] = 0, -1
	}
	b.used = b.used[:0]
	b.ports = b.ports[:0]
}

// fits returns how many units of the pod group, at most n, the pods on the node let in.
func (b *nodeRules) fits(c *group.PodGroup, n int) int {
	for i := range c.Constraints {
		u := &c.Constraints[i]
		if !u.ByHost {
			continue
		}
		count := b.count[u.Slot]
		switch u.Kind {
		case group.Affinity:
			return 0
		case group.AntiAffinity:
			if count > 0 {
				return 0
			}
			if u.Self > 0 {
				n = min(n, 1)
			}
		case group.Spread:
			if u.Self > 0 {
				n = min(n, int((u.MaxSkew-count)/u.Self))
			} else if count > u.MaxSkew {
				return 0
			}
		}
	}
	for _, a := range c.Contributions {
		if a.ByHost && b.limit[a.Slot] >= 0 {
			n = min(n, int((b.limit[a.Slot]-b.count[a.Slot])/a.Weight))
		}
	}
	if len(c.Ports) > 0 {
		n = min(n, 1)
		if _, clash := topology.PortConflict(c.Ports, b.ports); clash {
			return 0
		}
	}
	return max(0, n)
}

// put notes that n units of the pod group are on the node.
func (b *nodeRules) put(c *group.PodGroup, n int) {
	for _, a := range c.Contributions {
		if a.ByHost {
			b.count[a.Slot] += a.Weight * int32(n)
			b.used = append(b.used, a.Slot)
		}
	}
	for i := range c.Constraints {
		if u := &c.Constraints[i]; u.ByHost && u.Kind == group.Spread {
			if b.limit[u.Slot] < 0 || u.MaxSkew < b.limit[u.Slot] {
				b.limit[u.Slot] = u.MaxSkew
			}
			b.used = append(b.used, u.Slot)
		}
	}
	b.ports = append(b.ports, c.Ports...)
}

// podsOf returns how many pods a node is opened for.
func (r *filling) podsOf(n *Node) int {
	total := 0
	for _, it := range n.Items {
		total += it.count * r.Batches[it.Batch].PodGroup.Stride
	}
	return total
}

// Filled reports whether a new node has all the pods it was opened for.
func (r *filling) Filled(n *Node) bool {
	return len(n.Pods) > 0 && len(n.Pods) == r.podsOf(n)
}

// PodBatchesOf returns the pods of a filled node as they were before it was opened for them.
func (r *filling) PodBatchesOf(n *Node) []*PodBatch {
	var out []*PodBatch
	at := 0
	for _, it := range n.Items {
		of := r.Batches[it.Batch].podBatch
		end := at + it.count*of.PodGroup.Stride
		out = append(out, &PodBatch{PodGroup: of.PodGroup, Pods: slices.Clone(n.Pods[at:end]), Values: of.Values, Pools: of.Pools})
		at = end
	}
	return out
}
