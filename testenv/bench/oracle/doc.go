// Package oracle evaluates plans by the real kube-scheduler. It makes up problems (package problem), lets core/pack plan them,
// turns the plan into nodes, and asks the scheduler's own plugins (package scheduler) whether it holds. Nothing here
// knows how a plan is made, and no rule of scheduling is written here a second time.
//
// What is evaluated:
//
//   - Whole: every waiting pod is in exactly one of the plan's lists.
//
//   - Holds: every claim becomes a node of its cheapest offer, with its daemons; then the planned pods arrive in random
//     order, each offered its planned node first, and again after others are bound where it was refused. In the end all are
//     bound. Only of pods that spread constraints have wait for each other is less asked: another order binds all, and where
//     they wait the scheduler finds other nodes for them, as it would anyway. HoldsAnyOffering is the same with each claim
//     bought as any other offer it accepts.
//
//   - ExistingFirst: where the scheduler by itself places every waiting pod on nodes that exist, in one of some orders and
//     so that it holds in all, the plan makes no claim and gives up on no pod.
//
//   - Movable: no pod that was put on a claim or given up on could be on a node that exists, all else as planned. It could
//     if the scheduler takes it there when everything else is bound, and the plan that has it there still holds. This is
//     what "existing capacity first" implies of any plan, however good it packs: a pod that must go elsewhere because of
//     another's rule is refused once that other is bound, and a pod that has to move for others breaks the changed plan.
//
//   - GivenUp: no pod that was given up on could be on a new node of a pool that it and the pool's limits allow, all else
//     as planned.
//
//   - Again: planned once more while its instances are on their way, no pod that had a place gets another new node,
//     and none that an instance is coming for is given up on.
//
//   - Moved: of a plan about giving nodes back, command by command: the command's nodes are gone and its replacements there,
//     and then Holds and HoldsAnyOffering are asked of the pods that were on them. Stranded is what of those finds no node at all.
//
//   - Doubted: of such commands that are all committed at once some still hold (disruption.Revalidate) when nothing else has happened,
//     so that something is given back; nearly all do.
//
//   - During: while all commands of a plan are carried out together, its nodes still there and tainted and pod after pod evicted in some
//     order, no pod waits for a spread constraint on every node: provisioning would buy one for it.
//
//   - Skewed: no pod is moved to where a DoNotSchedule constraint of its own has more pods than maxSkew allows, with the nodes that go
//     counted as domains and 0 as the emptiest host.
//
//   - Kept: no such command has a node that its annotation keeps, or one of whose pods may not be evicted.
//
//   - Fit: what pack.NewFitChecker says of a pod on a node is what each filter plugin says, one by one.
//
//   - Devices: clusters of their own, with devices and pods that claim them. What we say of a pod on a node is what
//     kube-scheduler's plugin for dynamic resources says, and it binds all pods of a plan, those of a node in some
//     order.
//
// Problems are evaluated, too, that Karpenter's own unit specs pose (Specs): what they put to `joiner plan provision` and `joiner plan
// disrupt`, kept by testenv/bench/upstream/unit, becomes a cluster, and the plan must be the one the spec accepted. `go run ./run -spec N`
// evaluates one of them again.
//
// A failure names the seed of its problem; `go run ./run -seed N` evaluates that one again and writes it as files that
// `joiner plan provision` reads. Differences we want are listed, with reasons, in DIFFERENCES.md; each is a function in
// difference.go, and one that is listed and never occurs is reported.
//
// What is known to be wrong with plans today is in OWED.md.
//
// `make oracle` is the long form, `go test ./...` in this module the short one. Not evaluated, because the planner does not
// see them: volumes that wait for a claim, gangs, preemption.
//
//	verdict, err := oracle.Evaluate(problem.New(42, problem.Small), oracle.Default)
package oracle
