// Package disruption decides which nodes to disrupt: [Plan] takes one snapshot, what the ledger knows beyond it and what each
// class can buy, and says which nodes are empty, drifted, expired within budgets, too many, or more expensive than what their pods
// need, what takes their place, what that saves, and why every other node stays. [Revalidate] evaluates a command that is on its way
// once more, on a later snapshot.
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not record,
// taint or drain; the flow does. What moved pods need is asked of core/pack, on a fork of the snapshot without the nodes.
//
// How it works, in the order of the files:
//
//  1. The cluster is looked up once (planner.go): which node is whose, its pods, its price, whom it may be disrupted by.
//  2. A fork of it (fork.go) is as it will be once open commands are carried out: their nodes are gone, their replacements on
//     their way, pods that wait where they have their place. Whatever is decided changes the fork, for what comes after.
//  3. Of each node everything is collected that speaks for disrupting it and everything that forbids it (candidate.go, block.go),
//     what earlier commands say included (history.go): what forbids one reason may leave another.
//  4. Budgets (budget.go) are shared by all commands of a plan.
//  5. Empty nodes go (empty.go), then what static pools have too many of, and what of them drifted (static.go), then what drifted
//     or is too old (drift.go), and last what costs more than its pods need (consolidate.go), if pools that are Balanced
//     approve (balanced.go).
//
// Effort is bounded by counts; a plan that was cut short says when to look again.
package disruption
