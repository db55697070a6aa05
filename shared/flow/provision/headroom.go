package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/model"
)

// Room that CapacityBuffers keep free waits for ever, so that it alone is no reason to plan each minute. A check that
// found all of it on nodes is noted with what that depended on, and is good for some minutes while nothing of that
// changes.

// headroomFor is how long a check that found all room there is good for, in seconds.
const headroomFor = 300

// buffers is the room that CapacityBuffers keep free.
type buffers struct{ *state }

// places counts the pending pods that are room of CapacityBuffers.
func (b *buffers) places() int {
	n := 0
	for _, i := range b.pending() {
		if b.snapshot.Pods[i].Buffer != "" {
			n++
		}
	}
	return n
}

// kept reports whether nothing can have changed since a check that found all room there.
func (b *buffers) kept() bool {
	note := b.ledger.Notes.Headroom
	return note != nil && b.shown.Epoch != 0 && note.Epoch == b.shown.Epoch && note.Seq == b.shown.Seq &&
		b.now()-note.AtUnix < headroomFor && note.AtUnix <= b.now() && note.Ledger == b.capacityDigest()
}

// capacityDigest stands for what the ledger says of capacity beyond the snapshot.
func (b *buffers) capacityDigest() string {
	var text []byte
	for i := range b.ledger.Claims {
		text = fmt.Appendln(text, "claim", b.ledger.Claims[i].Name, b.ledger.Claims[i].Version)
	}
	for i := range b.ledger.Commands {
		text = fmt.Appendln(text, "command", b.ledger.Commands[i].ID, b.ledger.Commands[i].Version)
	}
	if len(b.ledger.Unread) > 0 {
		text = fmt.Appendln(text, "unread", b.ledger.Unread)
	}
	return digest(text, 12)
}

// update looks at where the room of buffers is by the last plan of this run, notes whether all of it is there, and has
// each buffer say so. Without a plan buffers go on saying what they said, but for what they come to.
func (b *buffers) update(rounds []model.Round) {
	buffers := headroom.LimitBuffers(b.shown)
	if len(buffers) == 0 {
		b.note(false)
		return
	}
	var counts map[string]*headroom.Counts
	if len(rounds) > 0 {
		last := &rounds[len(rounds)-1]
		asked := map[string]bool{}
		for i := range last.Launched {
			asked[last.Launched[i].Name] = true
		}
		counts = headroom.Count(b.snapshot, &last.Plan, asked)
		b.note(!slices.ContainsFunc(buffers, func(b model.Buffer) bool {
			return b.Replicas > 0 && (counts[b.Key()] == nil || counts[b.Key()].There < int(b.Replicas))
		}))
	}
	for i := range buffers {
		at, why := counts[buffers[i].Key()], ""
		if at != nil && len(at.Why) > 0 {
			why = reasonText(at.Why)
		}
		if said := headroom.Status(&buffers[i], at, why); said != buffers[i].Status {
			b.report.Buffers = append(b.report.Buffers, model.BufferReport{
				Namespace: buffers[i].Namespace, Name: buffers[i].Name, UID: buffers[i].UID, Status: said,
			})
		}
	}
}

// note notes whether all room is there.
func (b *buffers) note(there bool) {
	switch {
	case there && b.shown.Epoch != 0:
		b.ledger.Notes.Headroom = &model.HeadroomNote{
			AtUnix: b.now(), Epoch: b.shown.Epoch, Seq: b.shown.Seq, Ledger: b.capacityDigest(),
		}
	case b.ledger.Notes.Headroom != nil:
		b.ledger.Notes.Headroom = nil
	default:
		return
	}
	b.noted = true
}

// bufferOf returns namespace/name of the buffer whose room a pending pod is; empty for pods.
func (s *state) bufferOf(ref model.PodRef) string {
	if pod := s.pod(ref); pod != nil {
		return pod.Buffer
	}
	return ""
}

// claimEvents tells those whom a claim is for what becomes of it: pods, and CapacityBuffers whose room they are.
func (s *state) claimEvents(refs []model.PodRef, warning bool, reason, toPods, toBuffers string) []model.Event {
	var events []model.Event
	room := map[string]int{} // for how many pods, by buffer
	for _, ref := range refs {
		if buffer := s.bufferOf(ref); buffer != "" {
			room[buffer]++
		} else {
			events = append(events, podEvent(ref, warning, reason, toPods))
		}
	}
	return append(events, s.headroomEvents(room, warning, reason, toBuffers)...)
}

// headroomEvents tells buffers which instance brings room of theirs, or why it does not.
func (s *state) headroomEvents(room map[string]int, warning bool, reason, message string) []model.Event {
	var events []model.Event
	for _, key := range slices.Sorted(maps.Keys(room)) {
		if b := find(s.shown.Buffers, func(b *model.Buffer) bool { return b.Key() == key }); b != nil {
			events = append(events, model.Event{
				Kind: "CapacityBuffer", Namespace: b.Namespace, Name: b.Name, UID: b.UID, Warning: warning,
				Reason:  reason,
				Message: fmt.Sprintf("Headroom for %d pods: %s", room[key], message),
			})
		}
	}
	return events
}

func podEvent(pod model.PodRef, warning bool, reason, message string) model.Event {
	return model.Event{
		Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		Warning: warning, Reason: reason, Message: message,
	}
}

// reasonText folds equal reasons of several pools into one.
func reasonText(reasons []model.Reason) string {
	type text struct{ message, remedy string }
	pools := map[text][]string{}
	var order []text
	for _, reason := range reasons {
		t := text{reason.Message, reason.Remedy}
		if _, seen := pools[t]; !seen {
			order = append(order, t)
		}
		if reason.Pool != "" {
			pools[t] = append(pools[t], reason.Pool)
		} else if pools[t] == nil {
			pools[t] = []string{}
		}
	}
	var parts []string
	for _, t := range order {
		part := t.message
		if names := pools[t]; len(names) > 0 {
			part = "nodepool " + strings.Join(names, ", ") + ": " + part
		}
		if t.remedy != "" {
			part += " (" + t.remedy + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
