// Package translate turns Kubernetes objects into the nouns of package model.
//
// It decides what of an object scheduling looks at, and drops the rest: environment, commands, volumes that take no
// part, images, managed fields never get past it. What an object asks for that the model cannot express is said in
// Unsupported (pods, classes) or Invalid (pools), one sentence with field and value each; no object makes it panic. It
// leaves to others what the nouns mean for a decision: label aliases and operators to core/requirement, whether a pod
// waits for capacity to core/pack and flow/publish.
//
// Requests are those of Kubernetes' own arithmetic (init containers, sidecars, overhead, resources of the pod as a
// whole, resizing in place), with one pod. They round up, to a milli-CPU or a whole unit, and so does what a node
// offers: kube-scheduler counts both alike. Limits and reserved amounts round down.
//
// Three labels are different on every pod of a workload and would give each pod a shape of its own: the StatefulSet's
// pod name and pod index, and the Job's completion index. Shapes leave them out, and a pod whose own affinity or spread
// selects on one of them is Unsupported.
//
// [Builder] makes a whole snapshot of objects in any order. It fills in what an API server would have (defaults of
// requests, PriorityClass, RuntimeClass), and where an object cannot be read it names object, field and value.
//
//	builder := translate.Builder{AbsentConditionIsPending: true}
//	known, err := builder.AddUnstructured(object)
//	snapshot := builder.Snapshot("prod", now)
package translate
