package existing

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Take removes n copies of request from the existing node's free room.
func (p *Nodes) Take(n int, request vector.Vector, copies int) {
	s := p.List[n]
	s.Free.Take(request, copies)
	if !s.Closed && !s.Blind {
		p.finders[s.signature].Update(s.slot, s.Free)
	}
}

// finderOf returns what finds room on the existing nodes of the list.
func (p *Nodes) finderOf(list []int) vector.Finder {
	return vector.NewFinder(len(p.dims), len(list), func(slot int) vector.Vector { return p.List[list[slot]].Free })
}

// sign numbers what of each existing node from the given one on the pod groups can see, so that like existing nodes are
// evaluated once. It returns the numbers that existing nodes were added to.
func (p *Nodes) sign(from int) []int {
	var grown []int
	b := make([]byte, 0, 256)
	for i := from; i < len(p.List); i++ {
		s, n := p.List[i], 0
		if s.cache >= 0 {
			n = p.knownSign(s)
		} else {
			b = p.appendSign(b[:0], s)
			n = p.signOf(b, s.Churning)
		}
		s.signature = n
		if s.Closed || s.Blind {
			continue
		}
		s.slot = len(p.BySign[n])
		if s.slot == p.finders[n].Count {
			grown = append(grown, n)
		}
		p.BySign[n] = append(p.BySign[n], i)
	}
	return grown
}

// appendSign writes down what of the existing node the pod groups can see, but for whether it is churning.
func (p *Nodes) appendSign(b []byte, s *Node) []byte {
	b = append(b, s.noted...)
	for _, t := range s.Taints {
		b = append(append(append(append(append(append(b, end...), t.Key...), end...), t.Value...), end...), t.Effect...)
	}
	for _, set := range s.coming {
		b = strconv.AppendInt(append(append(b, end...), "daemon"+end...), int64(set), 10)
	}
	if s.Market != nil {
		b = append(append(append(b, end...), "claim"+end...), s.Name...)
	}
	if !s.Initialized {
		b = append(append(b, end...), "coming"+end...)
	}
	return b
}

// signOf numbers a text and whether the existing node is churning.
func (p *Nodes) signOf(text []byte, churning bool) int {
	if churning {
		text = append(append(text, end...), "churning"+end...)
	}
	n, known := p.signs[string(text)]
	if !known {
		n = len(p.signs)
		p.signs[string(text)] = n
		p.BySign, p.finders = append(p.BySign, nil), append(p.finders, vector.Finder{})
	}
	return n
}

// knownSign is signOf what the cache knows of the existing node.
func (p *Nodes) knownSign(s *Node) int {
	if p.known == nil {
		p.known = p.cache.signsOf(p.keys)
	}
	text := p.known.text(p, s)
	for len(p.byText) < len(p.known.texts) {
		p.byText = append(p.byText, [2]int{-1, -1})
	}
	n := &p.byText[text][0]
	if s.Churning {
		n = &p.byText[text][1]
	}
	if *n < 0 {
		*n = p.signOf([]byte(p.known.texts[text]), s.Churning)
	}
	return *n
}

// FirstWith returns the first slot at or after from of the signature's existing nodes that has room for the request, −1
// where there is none.
func (p *Nodes) FirstWith(sign int, request vector.Vector, from int) int {
	for {
		slot := p.finders[sign].First(request, from)
		if slot < 0 || !p.List[p.BySign[sign][slot]].unread {
			return slot
		}
		p.Node(p.BySign[sign][slot]) // it may have less room than it seemed to have
	}
}

// end ends a text; it is in no label and no taint, but those of new nodes' names.
const end = "\x00"

// note writes down the existing node's labels of the keys.
func (p *Nodes) note(s *Node, keys []string) {
	from := len(p.noted)
	for _, key := range keys {
		if value, has := s.Label(key); has {
			p.noted = append(append(p.noted, '='), value...)
		}
		p.noted = append(p.noted, end...)
	}
	s.noted = p.noted[from:]
}

// fewNodes is how many like existing nodes are not worth lining up.
const fewNodes = 64

// lineUp orders like existing nodes so that neighbors are free in like proportions: then the most that is free of each
// resource in a part of the list is often free on one existing node, and the finder need not look far.
func (p *Nodes) lineUp(list []int) {
	if len(list) <= fewNodes {
		return
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	for _, n := range list {
		p.List[n].shape = float64(p.List[n].Free[cpu]) / float64(max(1, p.List[n].Free[memory]))
	}
	slices.SortFunc(list, func(a, b int) int {
		x, y := p.List[a], p.List[b]
		if x.Initialized != y.Initialized {
			return vector.CompareBools(y.Initialized, x.Initialized)
		}
		return cmp.Or(cmp.Compare(x.shape, y.shape), cmp.Compare(a, b))
	})
	for slot, n := range list {
		p.List[n].slot = slot
	}
}

// Like returns the first slot of the signature's existing nodes that is free in the proportion of the request, or leans
// more to CPU.
func (p *Nodes) Like(sign int, request vector.Vector) int {
	list := p.BySign[sign]
	if len(list) <= fewNodes || p.Few {
		return 0
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	shape := float64(request[cpu]) / float64(max(1, request[memory]))
	low, high := 0, len(list)
	for low < high {
		middle := (low + high) / 2
		if s := p.List[list[middle]]; s.Initialized && s.shape < shape {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(list) && !p.List[list[low]].Initialized {
		return 0
	}
	return low
}
