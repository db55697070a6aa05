// Package check evaluates an answer to a scheduling problem by the problem's own Kubernetes objects. It shares nothing with
// any planner: label selectors are those of apimachinery, everything else is written here, plainly and slowly.
//
// [Plan] makes the cluster the answer leads to, each new node launched as the offering the answer names, and returns a
// [Report] of every rule that is broken there: a pod placed twice or not at all, a node too small for its pods and daemons,
// a selector, taint or required affinity not met, a pod beside one it must not be with, a spread skewed, a claim whose other
// listed types would not hold its pods or whose zone is left open where its pods need it settled, and a spot claim with
// less choice than its pods allow.
//
// Rules between pods are kube-scheduler's, read on the final state, with one addition: a zone counts as a domain of a
// spread constraint from the moment the pod's pool could buy there, as it would to kube-scheduler once a node was there.
// Preferences are nobody's fault. Not evaluated are volumes, host ports and fields no family has.
//
// An [Answer] is the JSON of `joiner plan provision -o json`; [FromPlan] makes one of a model.Plan.
//
// [Disrupt] evaluates a plan about giving nodes back of a cluster in the same way: the cluster its commands lead to is evaluated as
// a plan for the pods they displace, and besides that budgets, what keeps nodes and pods, sums, and names.
//
//	report := check.Plan(p, check.FromPlan(pack.Plan(p.Input())))
//	for _, v := range report.Violations { fmt.Println(v) }
package check
