// Package spread keeps the topology spread of pods while nodes are disrupted:
//
//   - [KeepTwoZones] gives the pods of a workload that is to keep two zones a constraint that says so.
//   - [Balance] sees to it that constraints that must hold do so in whatever order the pods of a plan's commands leave.
//   - [NoteGivenUp] says which ScheduleAnyway constraints a plan's commands give up.
//
// A plan uses it in this order, with the indexes of the pods that each command moves:
//
//	snapshot = spread.KeepTwoZones(snapshot)
//	balance := spread.NewBalance(snapshot)
//	reason := balance.Add(&command, pods) // nil = the command is one of those that later ones are checked with
//	spread.NoteGivenUp(snapshot, commands)
//
// The idea of Balance: in the worst case all pods that come to a domain have come, and all that leave the others have
// left, before any other has moved. What holds then holds in every order.
//
// Reference: kube-scheduler's PodTopologySpread plugin.
package spread
