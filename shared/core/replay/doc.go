// Package replay puts a question to a planner: what the flows ask while they run, and what a decision record says was asked. It is one
// code for both, so that a recorded decision comes out the same, byte for byte, as long as the planners are the same.
//
// A question (model.PlannerInput, model.DisruptionInput) is plain data: what the ledger knew beyond the snapshot, the time, and what people
// set. Beside it stand a snapshot and the region's instance types, which a record names rather than holds. [New] and [DisruptionInput] join them to
// what core/pack and core/disruption take; [Round] and [PlanDisruption] answer. [Trim] and [TrimDisruption] take off a question what no planner
// reads, before it is kept.
//
//	snapshot := replay.Seen(headroom.WithPlaceholders(published), question.Leaving)
//	plan := replay.Round(question, snapshot, types)
//
// It reads no clock and keeps nothing. What the plan then becomes (launches, commands) is the flows'.
package replay
