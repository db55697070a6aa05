package translate

import "github.com/joiner-sh/joiner/shared/model"

// labelTemplateGeneration is on every pod of a DaemonSet: which version of its template made it.
const labelTemplateGeneration = "pod-template-generation"

type daemonKey struct{ namespace, name string }

// DaemonShape returns what the next pod of a DaemonSet will be, given the shape of its template and that of its newest
// pod; nil = it has none. The pod shows what admission made of it (defaults, sidecars, overhead), the template where it
// may run, as the pod itself is tied to its one node. A pod of an older template says nothing.
func DaemonShape(template, newest *model.PodShape) *model.PodShape {
	if newest == nil || newest.Labels[labelTemplateGeneration] != template.Labels[labelTemplateGeneration] {
		return template
	}
	out := *newest
	out.RequiredNodeAffinity = template.RequiredNodeAffinity
	return &out
}

// newestDaemons returns the draft of the youngest living pod of each DaemonSet; of equals the first by name. Pods are
// sorted, and their shapes are numbers of drafts.
func newestDaemons(pods []model.Pod, list []draft) map[daemonKey]int {
	out, made := make(map[daemonKey]int), make(map[daemonKey]int64)
	for i := range pods {
		pod := &pods[i]
		shape := list[pod.Shape].shape
		if shape.OwnerKind != "DaemonSet" || pod.Terminal() || pod.DeletedUnix != 0 {
			continue
		}
		key := daemonKey{pod.Namespace, shape.OwnerName}
		if _, ok := out[key]; !ok || pod.CreatedUnix > made[key] {
			out[key], made[key] = pod.Shape, pod.CreatedUnix
		}
	}
	return out
}
