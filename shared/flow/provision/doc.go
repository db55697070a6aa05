// Package provision owns a claim's registration: pending pods become a plan, the plan's claims are recorded, launched,
// shown as NodeClaim objects, registered when their nodes join and initialized when those are ready.
//
// It is the only launcher and cannot terminate. Every entry is level-triggered: a message is a hint that there is
// something to look at, never what to do, so running twice, late or never changes nothing but the time it takes. What
// must be read, written and asked is behind the ports in ports.go; what is decided is core/pack's; userdata and the
// instance types' capacity are core/userdata's and core/offering's.
//
// [Flow.Run] (flow.go) takes one cluster through phases. Each is a type of its own with what it needs, and no file
// refers to one that refers back to it:
//
//  1. Load (load.go) returns the state: the ledger, and the cluster as its snapshot shows it (state.go). What the run
//     has to say is collected in its invocation (invocation.go).
//  2. Suspensions say which classes and pools nothing is bought for (suspendclass.go, suspendpool.go), pool health
//     whose instances join (health.go).
//  3. The recoverer settles launches that an earlier run left open (recover.go).
//  4. The provisioner plans and launches in rounds (provision.go). In each the planner returns a roundPlan (plan.go):
//     the question, beside pods also replacements (replace.go) and NodeClaims made by hand (standalone.go), and
//     core/pack's answer, compared with what the API server has now (live.go) and without what panics (culprits.go).
//     The drafter works out how its claims are bought (draft.go). The launcher records them, calls EC2 and returns
//     roundLaunches (launch.go, settle.go), within what the region shares (quota.go), a pool's pace (pace.go) and what
//     had no capacity (backoff.go).
//  5. The registrar makes NodeClaims (nodeclaims.go) and registers nodes (register.go, node.go, nominate.go,
//     consistent.go).
//  6. The recorder keeps the decision (record.go), and the reporter publishes events and conditions (report.go).
//  7. Launch templates that nobody uses go (templates.go), and the memory that nodes really have is learned
//     (learn.go).
//
// A run by hand, with flow a Flow whose ports are set:
//
//	outcome, err := flow.Run(ctx, Request{Cluster: "prod", Trigger: TriggerResync, Owner: "me", Deadline: deadline})
package provision
