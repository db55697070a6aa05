package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// Shrink returns a problem that is as small as it finds and still has what keep looks for: it leaves out whatever can be
// left out, one thing at a time, until nothing can any more. The problem itself is not written to.
func Shrink(p *problem.Problem, keep func(*problem.Problem) bool) *problem.Problem {
	for smaller := true; smaller; {
		smaller = false
		for _, simpler := range simplifications {
			for i := 0; ; {
				next, more := simpler(p, i)
				if !more {
					break
				}
				if next != nil && keep(next) {
					p, smaller = next, true
				} else {
					i++
				}
			}
		}
	}
	return p
}

// simplification returns the problem without its i-th part of some kind: nil where leaving it out changes nothing, and
// false where there is no such part.
type simplification func(p *problem.Problem, i int) (*problem.Problem, bool)

var simplifications = []simplification{
	withoutWorkload, withoutNode,
	without(func(p *problem.Problem) *[]*corev1.Pod { return &p.Pods }),
	withoutDaemonSet, withoutPool, withoutFacts,
	without(func(p *problem.Problem) *[]*corev1.PersistentVolumeClaim { return &p.Claims }),
	without(func(p *problem.Problem) *[]*corev1.PersistentVolume { return &p.Volumes }),
	plainer,
}

// without leaves out one entry of a list.
func without[T any](list func(*problem.Problem) *[]T) simplification {
	return func(p *problem.Problem, i int) (*problem.Problem, bool) {
		if i >= len(*list(p)) {
			return nil, false
		}
		next := *p
		*list(&next) = slices.Delete(slices.Clone(*list(p)), i, i+1)
		return &next, true
	}
}

// withoutPods returns the problem without the pods of a kind.
func withoutPods(p *problem.Problem, which func(*corev1.Pod) bool) *problem.Problem {
	next := *p
	next.Pods = slices.DeleteFunc(slices.Clone(p.Pods), which)
	return &next
}

func withoutWorkload(p *problem.Problem, i int) (*problem.Problem, bool) {
	var owners []string
	for _, pod := range p.Pods {
		if owner := problem.Workload(pod); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	if i >= len(owners) {
		return nil, false
	}
	return withoutPods(p, func(pod *corev1.Pod) bool { return problem.Workload(pod) == owners[i] }), true
}

func withoutNode(p *problem.Problem, i int) (*problem.Problem, bool) {
	if i >= len(p.Nodes) {
		return nil, false
	}
	name := p.Nodes[i].Name
	next := withoutPods(p, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name })
	next.Nodes = slices.Delete(slices.Clone(p.Nodes), i, i+1)
	for at := range next.CSINodes {
		if next.CSINodes[at].Name == name {
			next.CSINodes = slices.Delete(slices.Clone(next.CSINodes), at, at+1)
			break
		}
	}
	return next, true
}

func withoutDaemonSet(p *problem.Problem, i int) (*problem.Problem, bool) {
	if i >= len(p.DaemonSets) {
		return nil, false
	}
	name := p.DaemonSets[i].Name
	next := withoutPods(p, func(pod *corev1.Pod) bool { return problem.Workload(pod) == name })
	next.DaemonSets = slices.Delete(slices.Clone(p.DaemonSets), i, i+1)
	return next, true
}

func withoutPool(p *problem.Problem, i int) (*problem.Problem, bool) {
	if i >= len(p.Pools) {
		return nil, false
	}
	next := *p
	next.Pools = slices.Delete(slices.Clone(p.Pools), i, i+1)
	return &next, true
}

// withoutFacts leaves out instance types and CSINodes.
func withoutFacts(p *problem.Problem, i int) (*problem.Problem, bool) {
	next := *p
	switch {
	case i < len(p.Catalog):
		next.Catalog = slices.Delete(slices.Clone(p.Catalog), i, i+1)
	case i < len(p.Catalog)+len(p.CSINodes):
		at := i - len(p.Catalog)
		next.CSINodes = slices.Delete(slices.Clone(p.CSINodes), at, at+1)
	default:
		return nil, false
	}
	return &next, true
}

// plainings take one thing from a pod. A pod that is none the plainer is left as it was.
var plainings = []func(pod *corev1.Pod){
	func(pod *corev1.Pod) { pod.Spec.Affinity = nil },
	func(pod *corev1.Pod) { ifAffinity(pod, func(a *corev1.Affinity) { a.NodeAffinity = nil }) },
	func(pod *corev1.Pod) { ifAffinity(pod, func(a *corev1.Affinity) { a.PodAffinity = nil }) },
	func(pod *corev1.Pod) { ifAffinity(pod, func(a *corev1.Affinity) { a.PodAntiAffinity = nil }) },
	func(pod *corev1.Pod) { ifAffinity(pod, withoutPreferences) },
	func(pod *corev1.Pod) { pod.Spec.TopologySpreadConstraints = nil },
	func(pod *corev1.Pod) { dropLast(&pod.Spec.TopologySpreadConstraints) },
	func(pod *corev1.Pod) { pod.Spec.TopologySpreadConstraints = tail(pod.Spec.TopologySpreadConstraints) },
	func(pod *corev1.Pod) { pod.Spec.NodeSelector = nil },
	func(pod *corev1.Pod) { pod.Spec.Tolerations = nil },
	func(pod *corev1.Pod) { pod.Spec.Volumes = nil },
	func(pod *corev1.Pod) { dropLast(&pod.Spec.Volumes) },
	func(pod *corev1.Pod) { pod.Spec.Volumes = tail(pod.Spec.Volumes) },
	func(pod *corev1.Pod) { pod.Spec.InitContainers, pod.Spec.Overhead = nil, nil },
	func(pod *corev1.Pod) { pod.Spec.Containers = pod.Spec.Containers[:1] },
	func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = nil },
	func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{} },
	func(pod *corev1.Pod) { ifRequired(pod, func(t *[]corev1.PodAffinityTerm) { dropLast(t) }) },
	func(pod *corev1.Pod) { ifRequired(pod, func(t *[]corev1.PodAffinityTerm) { *t = tail(*t) }) },
	func(pod *corev1.Pod) { delete(pod.Labels, "track") },
	func(pod *corev1.Pod) { delete(pod.Labels, "tier") },
}

// plainer takes one thing from every pod of one workload.
func plainer(p *problem.Problem, i int) (*problem.Problem, bool) {
	var owners []string
	for _, pod := range p.Pods {
		if owner := problem.Workload(pod); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	if i >= len(owners)*len(plainings) {
		return nil, false
	}
	owner, plain := owners[i/len(plainings)], plainings[i%len(plainings)]
	next := *p
	next.Pods = slices.Clone(p.Pods)
	changed := false
	for at, pod := range next.Pods {
		if problem.Workload(pod) == owner {
			next.Pods[at] = pod.DeepCopy()
			plain(next.Pods[at])
			changed = changed || !equality.Semantic.DeepEqual(next.Pods[at], pod)
		}
	}
	if !changed {
		return nil, true
	}
	return &next, true
}

func ifAffinity(pod *corev1.Pod, do func(*corev1.Affinity)) {
	if pod.Spec.Affinity != nil {
		do(pod.Spec.Affinity)
	}
}

func ifRequired(pod *corev1.Pod, do func(*[]corev1.PodAffinityTerm)) {
	ifAffinity(pod, func(a *corev1.Affinity) {
		if a.PodAffinity != nil {
			do(&a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			do(&a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	})
}

func withoutPreferences(a *corev1.Affinity) {
	if a.NodeAffinity != nil {
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
	if a.PodAffinity != nil {
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
	if a.PodAntiAffinity != nil {
		a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	}
}

func dropLast[T any](list *[]T) {
	if len(*list) > 0 {
		*list = (*list)[:len(*list)-1]
	}
}

func tail[T any](list []T) []T {
	if len(list) == 0 {
		return list
	}
	return list[1:]
}

// Like returns what Shrink is to keep: a problem of which a finding of the same check and kind is made.
func Like(f Finding, depth Depth) func(*problem.Problem) bool {
	return func(p *problem.Problem) bool {
		if len(p.Pending()) == 0 {
			return false
		}
		if f.Check == Fit {
			v, err := EvaluateFit(p)
			return err == nil && slices.ContainsFunc(v.Findings, func(g Finding) bool { return g.Kind == f.Kind })
		}
		v, err := Evaluate(p, depth)
		return err == nil && slices.ContainsFunc(v.Findings, func(g Finding) bool { return g.Check == f.Check && g.Kind == f.Kind })
	}
}

// ShrinkDisrupt returns a cluster that is as small as it finds and of which giving nodes back still makes a finding of the check; the
// cluster itself where it makes none.
func ShrinkDisrupt(p *problem.Problem, check Check, depth Depth) *problem.Problem {
	keep := func(p *problem.Problem) bool {
		v, err := evaluateDisrupt(p, depth)
		return err == nil && slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Check == check })
	}
	if !keep(p) {
		return p
	}
	return Shrink(p, keep)
}
