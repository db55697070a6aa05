package disruption

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// fitter says quickly whether pods may fit nodes that exist: by resources, node selectors and taints alone. What it
// denies is not so, what it affirms is left to core/pack.
type fitter struct {
	snapshot *model.Snapshot
	dims     []string
	nodes    []*model.Node
	index    map[string]int // into nodes, by name
	free     []int64        // by node and dimension; all below 0 of a node that takes none
	requests [][]int64      // by shape; nil = not looked up yet
}

func newFitter(snapshot *model.Snapshot) fitter {
	names := map[string]bool{model.CPU: true, model.Pods: true}
	for i := range snapshot.Shapes {
		for name := range snapshot.Shapes[i].Requests { // sorted below
			names[name] = true
		}
	}
	return fitter{
		snapshot: snapshot, dims: slices.Sorted(maps.Keys(names)), index: make(map[string]int),
		requests: make([][]int64, len(snapshot.Shapes)),
	}
}

// add adds a node without any pod.
func (f *fitter) add(node *model.Node) {
	f.index[node.Name] = len(f.nodes)
	f.nodes = append(f.nodes, node)
	for _, name := range f.dims {
		f.free = append(f.free, node.Allocatable[name])
	}
}

// remove has a node take nothing any more.
func (f *fitter) remove(name string) {
	if n, known := f.index[name]; known {
		for d := range f.freeOn(n) {
			f.free[n*len(f.dims)+d] = -1
		}
	}
}

func (f *fitter) freeOn(n int) []int64 { return f.free[n*len(f.dims) : (n+1)*len(f.dims)] }

// request returns what pods of a shape ask for.
func (f *fitter) request(shape int) []int64 {
	known := f.requests[shape]
	if known == nil {
		known = make([]int64, len(f.dims))
		for d, name := range f.dims {
			known[d] = max(0, f.snapshot.Shapes[shape].Requests[name])
		}
		f.requests[shape] = known
	}
	return known
}

// put takes what a pod holds off what is free on a node.
func (f *fitter) put(pod *model.Pod, node string) {
	n, known := f.index[node]
	if !known || pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(f.snapshot.Shapes) {
		return
	}
	room := f.freeOn(n)
	for d, amount := range f.request(pod.Shape) {
		room[d] -= amount
	}
}

// trial returns a fitter to try things out on.
func (f *fitter) trial() fitter {
	out := *f
	out.free = slices.Clone(f.free)
	return out
}

// move finds places for pods of a node on others, largest first, and takes the node away; else it changes nothing and
// returns false. It marks the nodes it puts pods on.
func (f *fitter) move(name string, pods []int, marked map[string]bool) bool {
	from, known := f.index[name]
	if !known {
		from = -1
	}
	shapes := make([]int, len(pods))
	for n, i := range pods {
		shapes[n] = f.snapshot.Pods[i].Shape
	}
	slices.SortFunc(shapes, func(a, b int) int { return slices.Compare(f.request(b), f.request(a)) })
	taken := make([]int, 0, len(shapes))
	for _, shape := range shapes {
		n := f.place(shape, from)
		if n < 0 {
			for k, n := range taken {
				f.shift(n, shapes[k], 1)
			}
			return false
		}
		f.shift(n, shape, -1)
		taken = append(taken, n)
	}
	for _, n := range taken {
		marked[f.nodes[n].Name] = true
	}
	f.remove(name)
	return true
}

func (f *fitter) shift(n, shape int, by int64) {
	room := f.freeOn(n)
	for d, amount := range f.request(shape) {
		room[d] += by * amount
	}
}

// place returns the first node but one that holds a pod of the shape, −1 where none does.
func (f *fitter) place(shape, but int) int {
	request := f.request(shape)
	dims := len(f.dims)
nodes:
	for n := range f.nodes {
		room := f.free[n*dims : (n+1)*dims]
		for d, amount := range request {
			if amount > room[d] && amount > 0 {
				continue nodes
			}
		}
		if n != but && f.admits(n, shape) {
			return n
		}
	}
	return -1
}

// admits reports whether the node's labels and taints let pods of the shape in.
func (f *fitter) admits(n, shape int) bool {
	node, s := f.nodes[n], &f.snapshot.Shapes[shape]
	for key, value := range s.NodeSelector { // all must hold: the order does not matter
		if has, known := node.Labels[key]; known && has != value { // what is not there may be under another name
			return false
		}
	}
	return !slices.ContainsFunc(node.Taints, func(t model.Taint) bool {
		return t.Effect != model.PreferNoSchedule && !pack.Tolerates(s.Tolerations, t)
	})
}
