// Package headroom makes the room that CapacityBuffers ask for visible to whoever plans: as pods of the lowest priority that wait for
// ever and are never bound.
//
// It decides which places a buffer comes to, under names and UIDs that stay the same from look to look, so that an instance that is on
// its way for a place is not asked for twice; how many places there are at most; and what the buffer's status says of them. What
// a buffer is of and for how many pods is found out where objects are translated; where the places are, by the plans.
//
//	snapshot = headroom.WithPlaceholders(snapshot) // pods and places
//	plan := pack.Plan(pack.Input{Snapshot: snapshot, …})
//	counts := headroom.Count(snapshot, &plan, asked)
package headroom
