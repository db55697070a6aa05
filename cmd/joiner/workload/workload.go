package workload

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/joiner-sh/joiner/shared/core/admit"
)

// maxReplicas is for how many pods of one workload a plan is made.
const maxReplicas = 100_000

// Made are the pods that the controller of a workload would create, with the claims for their volumes.
type Made struct {
	Pods   []*corev1.Pod
	Claims []*corev1.PersistentVolumeClaim
	Note   string // what a reader may not expect; "" = nothing
}

// Mistake is a field that no pods can be made of, and what is wrong with it.
type Mistake struct{ Field, What string }

// manifest is one that makes pods.
type manifest struct {
	kind, owner string // of the pods' controller
	apiVersion  string
	meta        *metav1.ObjectMeta
	template    *corev1.PodTemplateSpec
	field       string // that says how many
	pods        int
	labels      func(n int, pod string) map[string]string // that the controller adds; nil = none
	volumes     []corev1.PersistentVolumeClaim            // templates
	note        string
}

// Of returns the pods that a workload makes; nil where the object is none, or is one that a cluster has: its pods
// are objects of their own there. A DaemonSet's pods are planned with each node.
func Of(object metav1.Object) (*Made, *Mistake) {
	if object == nil || object.GetUID() != "" || metav1.GetControllerOf(object) != nil {
		return nil, nil
	}
	var w manifest
	switch o := object.(type) {
	case *appsv1.Deployment:
		hash := templateHash(&o.Spec.Template)
		w = manifest{kind: "ReplicaSet", owner: o.Name + "-" + hash, apiVersion: "apps/v1", template: &o.Spec.Template,
			field: "spec.replicas", pods: replicas(o.Spec.Replicas, 1),
			labels: func(int, string) map[string]string {
				return map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
			}}
	case *appsv1.ReplicaSet:
		w = manifest{kind: "ReplicaSet", owner: o.Name, apiVersion: "apps/v1", template: &o.Spec.Template,
			field: "spec.replicas", pods: replicas(o.Spec.Replicas, 1)}
	case *appsv1.StatefulSet:
		w = manifest{kind: "StatefulSet", owner: o.Name, apiVersion: "apps/v1", template: &o.Spec.Template,
			field: "spec.replicas", pods: replicas(o.Spec.Replicas, 1), volumes: o.Spec.VolumeClaimTemplates,
			labels: func(n int, pod string) map[string]string {
				return map[string]string{appsv1.StatefulSetPodNameLabel: pod, appsv1.PodIndexLabel: strconv.Itoa(n)}
			}}
	case *batchv1.Job:
		w = jobWorkload(o.Name, &o.Spec)
	case *batchv1.CronJob:
		w = jobWorkload(o.Name, &o.Spec.JobTemplate.Spec)
		w.field = "spec.jobTemplate." + w.field
		w.note = "it is planned as the pods of one run"
	default:
		return nil, nil
	}
	w.meta = &metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}
	if w.pods > maxReplicas {
		return nil, &Mistake{w.field, fmt.Sprintf("%d: more than %d pods; plan for fewer", w.pods, maxReplicas)}
	}
	if len(w.template.Spec.Containers) == 0 {
		field := "spec.template.spec.containers"
		if _, is := object.(*batchv1.CronJob); is {
			field = "spec.jobTemplate." + field
		}
		return nil, &Mistake{field, "not set; a pod has one at least"}
	}
	return w.expand(), nil
}

func replicas(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return int(max(0, *n))
}

// jobWorkload returns the pods that a job runs at a time.
func jobWorkload(name string, spec *batchv1.JobSpec) manifest {
	w := manifest{kind: "Job", owner: name, apiVersion: "batch/v1", template: &spec.Template,
		field: "spec.parallelism", pods: replicas(spec.Parallelism, 1),
		labels: func(n int, _ string) map[string]string {
			out := map[string]string{batchv1.JobNameLabel: name, "job-name": name}
			if spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion {
				out[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(n)
			}
			return out
		}}
	w.pods = min(w.pods, replicas(spec.Completions, w.pods))
	if spec.Suspend != nil && *spec.Suspend {
		w.pods, w.note = 0, "it is suspended and makes no pods"
	}
	return w
}

// expand makes the pods.
func (w *manifest) expand() *Made {
	out := &Made{Note: w.note}
	if w.pods == 0 && out.Note == "" {
		out.Note = w.field + " is 0: it makes no pods"
	}
	controller := true
	owner := []metav1.OwnerReference{{APIVersion: w.apiVersion, Kind: w.kind, Name: w.owner, Controller: &controller}}
	for n := range w.pods {
		pod := &corev1.Pod{Spec: *w.template.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
			Namespace: w.meta.Namespace, Name: fmt.Sprintf("%s-%d", w.meta.Name, n), OwnerReferences: owner,
			Labels: maps.Clone(w.template.Labels), Annotations: w.template.Annotations,
		}}
		if w.labels != nil {
			if pod.Labels == nil {
				pod.Labels = map[string]string{}
			}
			maps.Copy(pod.Labels, w.labels(n, pod.Name))
		}
		for i := range w.volumes {
			out.Claims = append(out.Claims, claimFor(pod, &w.volumes[i]))
		}
		out.Pods = append(out.Pods, pod)
	}
	return out
}

// claimFor gives a pod the volume of a template, and returns the claim for it.
func claimFor(pod *corev1.Pod, of *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{Spec: *of.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: of.Name + "-" + pod.Name, Labels: of.Labels, Annotations: of.Annotations,
	}}
	volumes := slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == of.Name })
	named := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}
	pod.Spec.Volumes = append(volumes,
		corev1.Volume{Name: of.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: named}})
	return claim
}

// templateHash stands for the hash that a Deployment gives its pods: another template has another one.
func templateHash(template *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		return "template" // nothing of what was read from JSON fails here
	}
	sum := fnv.New32a()
	_, _ = sum.Write(text)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
}

// Annotations says which annotations of pods do not have the effect that is meant.
func Annotations(all map[string]string) []string {
	var out []string
	for _, f := range admit.PodAnnotations(all) {
		out = append(out, f.String())
	}
	return out
}
