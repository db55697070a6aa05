package vector

// Finder answers which is the first slot of a list that has room for a request, by a tree of the most that is free in
// each part of the list.
type Finder struct {
	dims  int
	size  int // leaves, a power of two
	Count int // slots
	most  []int64
}

// NewFinder returns a finder for so many slots, of which free says how much is free.
func NewFinder(dims, count int, free func(slot int) Vector) Finder {
	size := 1
	for size < count {
		size *= 2
	}
	f := Finder{dims: dims, size: size, Count: count, most: make([]int64, 2*size*dims)}
	for i := range f.most {
		f.most[i] = -1 << 62
	}
	for i := range count {
		copy(f.most[(size+i)*dims:], free(i))
	}
	for node := size - 1; node >= 1; node-- {
		f.pull(node)
	}
	return f
}

func (f *Finder) pull(node int) {
	left, right, out := f.most[2*node*f.dims:], f.most[(2*node+1)*f.dims:], f.most[node*f.dims:]
	for d := range f.dims {
		out[d] = max(left[d], right[d])
	}
}

// Update notes what is free at slot i now.
func (f *Finder) Update(i int, free Vector) {
	node := f.size + i
	copy(f.most[node*f.dims:(node+1)*f.dims], free)
	for node /= 2; node >= 1; node /= 2 {
		f.pull(node)
	}
}

// First returns the first slot at or after from that has room for the request, −1 where there is none.
func (f *Finder) First(request Vector, from int) int {
	if from >= f.Count {
		return -1
	}
	return f.descend(1, 0, f.size, request, from)
}

func (f *Finder) descend(node, low, high int, request Vector, from int) int {
	if high <= from || !request.Fits(Vector(f.most[node*f.dims:(node+1)*f.dims])) {
		return -1
	}
	if high-low == 1 {
		return low
	}
	middle := (low + high) / 2
	if found := f.descend(2*node, low, middle, request, from); found >= 0 {
		return found
	}
	return f.descend(2*node+1, middle, high, request, from)
}
