// Package reclaim decides which nodes to give back: [Plan] takes one snapshot, what the ledger knows beyond it and what each
// class can buy, and says which nodes are empty, drifted, expired within budgets, too many, or dearer than what their pods
// need, what takes their place, what that saves, and why every other node stays. [Holds] judges a command that is on its way
// once more, on a later snapshot.
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not record,
// taint or drain; the flow does. What moved pods need is asked of core/pack, on a fork of the snapshot without the nodes.
package reclaim
