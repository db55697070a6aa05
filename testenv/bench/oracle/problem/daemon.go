package problem

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// DaemonPod returns the pod of the set for the node as its controller creates it: not bound, and bound for no other node.
func DaemonPod(set *appsv1.DaemonSet, node string) *corev1.Pod {
	made := daemon.NewPod(set, "").DeepCopy()
	pod := &corev1.Pod{ObjectMeta: meta(set.Namespace, set.Name+"-"+node), Spec: made.Spec}
	pod.Labels = made.Labels
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: &yes}}
	pod.Spec.Affinity = util.ReplaceDaemonSetPodNodeNameNodeAffinity(pod.Spec.Affinity, node)
	pod.Status.Phase = corev1.PodPending
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			request(&list[i])
		}
	}
	return pod
}

// request does to a container what an API server does before it stores a pod: what is limited is requested, where it is not already.
func request(container *corev1.Container) {
	for name, limit := range container.Resources.Limits { // each on its own
		if _, has := container.Resources.Requests[name]; has {
			continue
		}
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		container.Resources.Requests[name] = limit
	}
}
