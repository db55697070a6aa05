package wire

import (
	"encoding/binary"
	"unsafe"

	"github.com/joiner-sh/joiner/shared/model"
)

// podBytes is the least a pod takes in its columns: shared length, suffix length, UID, shape, node, flags, created.
const podBytes = 7

// podSize is what a pod takes without the texts it points to.
const podSize = int(unsafe.Sizeof(model.Pod{}))

// reader takes columns apart. After the first violation it has failed and everything it returns is empty; nothing it
// allocates is larger than what is left to read times a constant, or than a limit.
type reader struct {
	rest   []byte
	failed bool
	heavy  bool  // it failed for want of room
	budget int64 // for pods, as they are charged; see Weight
}

func (r *reader) fail() { r.failed, r.rest = true, nil }

// charge takes something out of the room before it is made.
func (r *reader) charge(bytes int) {
	if r.budget -= int64(bytes); r.budget < 0 {
		r.heavy = true
		r.fail()
	}
}

// take returns the next n bytes, nil where there are not as many.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// length reads a count of things that take at least one byte each.
func (r *reader) length() int {
	v := r.uvarint()
	if v > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(v)
}

func (r *reader) text(limit int) string {
	n := r.length()
	if n > limit {
		r.fail()
	}
	r.charge(n + textOverhead)
	if r.failed {
		return ""
	}
	return string(r.take(n))
}

func (r *reader) pods() []model.Pod {
	count := r.length()
	if count == 0 || count > MaxPods || count > len(r.rest)/podBytes {
		if count != 0 {
			r.fail()
		}
		return nil
	}
	if r.charge(count * podSize); r.failed {
		return nil
	}
	pods := make([]model.Pod, count)
	r.namespaces(pods)
	r.names(pods)
	r.uids(pods)
	for i := range pods {
		shape := r.uvarint()
		if shape >= MaxShapes {
			r.fail()
		}
		pods[i].Shape = int(shape)
	}
	r.nodes(pods)
	flags := r.take(count)
	if r.failed {
		return nil
	}
	r.optional(pods, flags)
	if r.failed {
		return nil
	}
	return pods
}

func (r *reader) namespaces(pods []model.Pod) {
	at := 0
	for range r.length() {
		namespace := r.text(maxNamespaceBytes)
		run := r.uvarint()
		if r.failed || run == 0 || run > uint64(len(pods)-at) {
			r.fail()
			return
		}
		for end := at + int(run); at < end; at++ {
			pods[at].Namespace = namespace
		}
	}
	if at != len(pods) {
		r.fail()
	}
}

// names puts all names into one text and cuts it: one allocation instead of one per pod.
func (r *reader) names(pods []model.Pod) {
	r.charge(len(pods) * (1 + 8)) // what the names share, and where they end
	if r.failed {
		return
	}
	shared := make([]uint8, len(pods))
	for i := range shared {
		n := r.uvarint()
		if n > maxNameBytes {
			r.fail()
			return
		}
		shared[i] = uint8(n)
	}
	r.charge(entryFactor * 32 * len(pods))
	if r.failed {
		return
	}
	all := make([]byte, 0, 32*len(pods))
	ends := make([]int, len(pods))
	before := 0 // where the name before begins
	for i := range pods {
		start, keep := len(all), int(shared[i])
		suffix := r.take(r.length())
		if r.failed || keep > start-before || keep+len(suffix) > maxNameBytes {
			r.fail()
			return
		}
		if all = append(all, all[before:before+keep]...); len(all)+len(suffix) > 32*len(pods) {
			if r.charge(entryFactor * (keep + len(suffix))); r.failed {
				return
			}
		}
		all = append(all, suffix...)
		before, ends[i] = start, len(all)
	}
	text, start := string(all), 0
	for i := range pods {
		pods[i].Name = text[start:ends[i]]
		start = ends[i]
	}
}

func (r *reader) uids(pods []model.Pod) {
	form := r.take(1)
	switch {
	case r.failed:
	case form[0] == uidsBinary:
		raw := r.take(16 * len(pods))
		r.charge(entryFactor * len(uuidText) * len(pods))
		if r.failed {
			return
		}
		all := make([]byte, 0, len(uuidText)*len(pods))
		for i := range pods {
			all = appendUUID(all, raw[16*i:16*i+16])
		}
		text := string(all)
		for i := range pods {
			pods[i].UID = text[len(uuidText)*i : len(uuidText)*(i+1)]
		}
	case form[0] == uidsText:
		for i := range pods {
			pods[i].UID = r.text(maxUIDBytes)
		}
	default:
		r.fail()
	}
}

func (r *reader) nodes(pods []model.Pod) {
	count := r.length()
	if count > len(pods) {
		r.fail()
		return
	}
	r.charge(count * textHeader)
	if r.failed {
		return
	}
	table := make([]string, 1, 1+count)
	for range count {
		table = append(table, r.text(maxNameBytes))
	}
	for i := range pods {
		n := r.uvarint()
		if n >= uint64(len(table)) {
			r.fail()
			return
		}
		pods[i].NodeName = table[n]
	}
}

func (r *reader) optional(pods []model.Pod, flags []byte) {
	before := int64(0)
	for i := range pods {
		p := &pods[i]
		before += r.varint()
		p.CreatedUnix = before
		p.Phase = model.Phase(flags[i] & flagPhase)
		p.Unschedulable = flags[i]&flagUnschedulable != 0
		p.Ready = flags[i]&flagReady != 0
	}
	each := func(flag byte, read func(*model.Pod)) {
		for i := range pods {
			if flags[i]&flag != 0 && !r.failed {
				read(&pods[i])
			}
		}
	}
	each(flagStarted, func(p *model.Pod) { p.StartedUnix = p.CreatedUnix + r.varint() })
	each(flagDeleted, func(p *model.Pod) { p.DeletedUnix = p.CreatedUnix + r.varint() })
	each(flagNominated, func(p *model.Pod) { p.NominatedNode = r.text(maxNameBytes) })
	each(flagClaims, func(p *model.Pod) {
		n := r.length()
		if n > maxClaims {
			r.fail()
		}
		r.charge(entryFactor * textHeader * n)
		for ; n > 0 && !r.failed; n-- {
			p.Claims = append(p.Claims, r.text(maxClaimBytes))
		}
	})
}
