// Package disruption decides which nodes to disrupt: [Plan] takes one snapshot, what the ledger knows beyond it and
// what each class can buy, and says which nodes are empty, drifted, expired within budgets, too many, or more expensive
// than what their pods need, what takes their place, what that saves, and why every other node stays. [Revalidate]
// evaluates a command that is on its way once more, on a later snapshot; [Live] what the API server has of one node.
//
//	plan := disruption.Plan(disruption.Input{Snapshot: snapshot, Catalogs: catalogs, Claims: claims, NowUnix: now})
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not
// record, taint or drain; the flow does. What moved pods need is asked of core/pack, on a fork of the snapshot without
// the nodes.
//
// How it works. Each file refers only to those before it:
//
//  1. The cluster is the input looked up once (cluster.go, price.go): which node is whose (poolnode.go), its pods, its
//     price. What earlier commands say is read from it (history.go, tried.go).
//  2. A fork of it (fork.go, fork_begin.go) is as it will be once open commands are carried out: their nodes are gone,
//     their replacements on their way, pods that wait where they have their place. Whatever is decided changes the
//     fork, for what comes after.
//  3. Of each node everything is collected that speaks for disrupting it and everything that forbids it (evaluate.go,
//     block.go): what forbids one reason may leave another. Budgets (budget.go) are shared by all commands of a plan.
//  4. Empty nodes go (empty.go), then what drifted or is too old (drift.go), of static pools before the others and
//     after what those have too many of (static.go), and last what costs more than its pods need (consolidate.go), if
//     pools that are Balanced approve (balanced.go).
//  5. Consolidation searches (consolidate_search.go) in a simulation of the fork (consolidate_simulation.go), which
//     only the planner's own decisions reach, and divides what it finds into commands (consolidate_commands.go).
//
// Effort is bounded by counts; a plan that was cut short says when to look again.
package disruption
