package provision

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/model"
)

// Room that CapacityBuffers keep free waits for ever, so that it alone is no reason to plan each minute. A check that found all of it on
// nodes is noted with what that depended on, and is good for some minutes while nothing of that changes.

// headroomFor is how long a check that found all room there is good for, in seconds.
const headroomFor = 300

// headroomPods counts the pending pods that are room of CapacityBuffers.
func (r *pass) headroomPods() int {
	n := 0
	for _, i := range r.pending() {
		if r.snapshot.Pods[i].Buffer != "" {
			n++
		}
	}
	return n
}

// headroomKept reports whether nothing can have changed since a check that found all room there.
func (r *pass) headroomKept() bool {
	note := r.ledger.Notes.Headroom
	return note != nil && r.shown.Epoch != 0 && note.Epoch == r.shown.Epoch && note.Seq == r.shown.Seq &&
		r.now()-note.AtUnix < headroomFor && note.AtUnix <= r.now() && note.Ledger == r.capacityDigest()
}

// capacityDigest stands for what the ledger says of capacity beyond the snapshot.
func (r *pass) capacityDigest() string {
	h := sha256.New()
	for i := range r.ledger.Claims {
		fmt.Fprintln(h, "claim", r.ledger.Claims[i].Name, r.ledger.Claims[i].Version)
	}
	for i := range r.ledger.Commands {
		fmt.Fprintln(h, "command", r.ledger.Commands[i].ID, r.ledger.Commands[i].Version)
	}
	if len(r.ledger.Unread) > 0 {
		fmt.Fprintln(h, "unread", r.ledger.Unread)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// headroom looks at where the room of buffers is by the last plan of this run, notes whether all of it is there, and has each
// buffer say so. Without a plan buffers go on saying what they said, but for what they come to.
func (r *pass) headroom() {
	buffers := headroom.LimitBuffers(r.shown)
	if len(buffers) == 0 {
		r.noteHeadroom(false)
		return
	}
	var counts map[string]*headroom.Counts
	if rounds := r.decision.Rounds; len(rounds) > 0 {
		last := &rounds[len(rounds)-1]
		asked := map[string]bool{}
		for i := range last.Launched {
			asked[last.Launched[i].Name] = true
		}
		counts = headroom.Count(r.snapshot, &last.Plan, asked)
		r.noteHeadroom(!slices.ContainsFunc(buffers, func(b model.Buffer) bool {
			return b.Replicas > 0 && (counts[b.Key()] == nil || counts[b.Key()].There < int(b.Replicas))
		}))
	}
	for i := range buffers {
		at, why := counts[buffers[i].Key()], ""
		if at != nil && len(at.Why) > 0 {
			why = reasonText(at.Why)
		}
		if said := headroom.Status(&buffers[i], at, why); said != buffers[i].Status {
			r.report.Buffers = append(r.report.Buffers, model.BufferReport{Namespace: buffers[i].Namespace, Name: buffers[i].Name, UID: buffers[i].UID, Status: said})
		}
	}
}

// noteHeadroom notes whether all room is there.
func (r *pass) noteHeadroom(there bool) {
	switch {
	case there && r.shown.Epoch != 0:
		r.ledger.Notes.Headroom = &model.HeadroomNote{AtUnix: r.now(), Epoch: r.shown.Epoch, Seq: r.shown.Seq, Ledger: r.capacityDigest()}
	case r.ledger.Notes.Headroom != nil:
		r.ledger.Notes.Headroom = nil
	default:
		return
	}
	r.noted = true
}

// bufferOf returns namespace/name of the buffer whose room a pending pod is; empty for pods.
func (r *pass) bufferOf(ref model.PodRef) string {
	if pod := r.pod(ref); pod != nil {
		return pod.Buffer
	}
	return ""
}

// forPeople splits what a claim is for into pods, and for how many pods it is room of each buffer.
func (r *pass) forPeople(refs []model.PodRef) (pods []model.PodRef, room map[string]int) {
	for _, ref := range refs {
		buffer := r.bufferOf(ref)
		if buffer == "" {
			pods = append(pods, ref)
			continue
		}
		if room == nil {
			room = map[string]int{}
		}
		room[buffer]++
	}
	return pods, room
}

// headroomEvents tells buffers which instance brings room of theirs, or why it does not.
func (r *pass) headroomEvents(room map[string]int, warning bool, reason, format string, args ...any) []model.Event {
	var events []model.Event
	for _, key := range slices.Sorted(maps.Keys(room)) {
		at, known := slices.BinarySearchFunc(r.shown.Buffers, key, func(b model.Buffer, key string) int { return cmp.Compare(b.Key(), key) })
		if !known {
			continue
		}
		b := &r.shown.Buffers[at]
		events = append(events, model.Event{
			Kind: "CapacityBuffer", Namespace: b.Namespace, Name: b.Name, UID: b.UID, Warning: warning, Reason: reason,
			Message: fmt.Sprintf("Headroom for %d pods: ", room[key]) + fmt.Sprintf(format, args...),
		})
	}
	return events
}
