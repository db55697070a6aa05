package translate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Limits of one pod. Above them deciding would cost more than any honest pod is worth.
const (
	maxContainers    = 100
	maxAffinityTerms = 50
	maxSpreads       = 20
)

// beyondModel returns a sentence for each part of a spec that the model has no words for.
func beyondModel(spec *corev1.PodSpec) []string {
	var out []string
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(spec.Containers) + len(spec.InitContainers); n > maxContainers {
		complain("spec has %d containers, at most %d are supported; split the pod", n, maxContainers)
	}
	if n := affinityTerms(spec.Affinity); n > maxAffinityTerms {
		complain("spec.affinity has %d terms, at most %d are supported; use fewer", n, maxAffinityTerms)
	}
	if n := len(spec.TopologySpreadConstraints); n > maxSpreads {
		complain("spec.topologySpreadConstraints has %d entries, at most %d are supported; use fewer", n, maxSpreads)
	}
	if spec.SchedulingGroup != nil {
		complain("spec.schedulingGroup is set: scheduling pods as a group is not supported; leave it out")
	}
	if windowsAnywhere(spec) {
		complain("spec.os.name: %q: kube-scheduler does not read it, and may bind the pod to a Linux node; "+
			"add spec.nodeSelector[%s]: windows", spec.OS.Name, corev1.LabelOSStable)
	}
	for i := range spec.Volumes {
		if kind := cloudDisk(&spec.Volumes[i]); kind != "" {
			complain("spec.volumes[%d].%s: %q: a disk named in the pod is not supported; use a PersistentVolumeClaim",
				i, kind, spec.Volumes[i].Name)
		}
	}
	return out
}

// windowsAnywhere reports whether a pod is for Windows and nothing keeps it from Linux nodes, where a kubelet refuses
// it. A RuntimeClass may do so, and is not looked into.
func windowsAnywhere(spec *corev1.PodSpec) bool {
	if spec.OS == nil || spec.OS.Name != corev1.Windows || spec.RuntimeClassName != nil {
		return false
	}
	for _, key := range []string{corev1.LabelOSStable, "beta.kubernetes.io/os"} {
		if spec.NodeSelector[key] == string(corev1.Windows) {
			return false
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return required == nil || !allOf(required.NodeSelectorTerms, aboutOS)
}

// allOf reports whether each of the terms, of which there are some, is as asked.
func allOf(terms []corev1.NodeSelectorTerm, is func(corev1.NodeSelectorTerm) bool) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return !is(t) })
}

// aboutOS reports whether a term says which operating systems it is about.
func aboutOS(term corev1.NodeSelectorTerm) bool {
	return slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == corev1.LabelOSStable || r.Key == "beta.kubernetes.io/os"
	})
}

func affinityTerms(a *corev1.Affinity) int {
	if a == nil {
		return 0
	}
	n := 0
	if node := a.NodeAffinity; node != nil {
		n += len(node.PreferredDuringSchedulingIgnoredDuringExecution)
		if required := node.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			n += len(required.NodeSelectorTerms)
		}
	}
	if pod := a.PodAffinity; pod != nil {
		n += len(pod.RequiredDuringSchedulingIgnoredDuringExecution)
		n += len(pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pod := a.PodAntiAffinity; pod != nil {
		n += len(pod.RequiredDuringSchedulingIgnoredDuringExecution)
		n += len(pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return n
}

// cloudDisk returns the field that ties a volume to one disk of a cloud, and so to its zone; empty for any other
// volume.
func cloudDisk(v *corev1.Volume) string {
	switch {
	case v.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore"
	case v.GCEPersistentDisk != nil:
		return "gcePersistentDisk"
	case v.AzureDisk != nil:
		return "azureDisk"
	case v.Cinder != nil:
		return "cinder"
	}
	return ""
}
