package ekscluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// listers reads every kind that decisions look at, except pods.
func (c Reader) listers() []lister {
	core := c.core.CoreV1()
	out := []lister{
		c.nodes(),
		of("namespaces", core.Namespaces().List, func(l *corev1.NamespaceList) []corev1.Namespace { return l.Items }),
		of("daemonsets", c.core.AppsV1().DaemonSets("").List,
			func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }),
		of("poddisruptionbudgets", c.core.PolicyV1().PodDisruptionBudgets("").List,
			func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items }),
		of("persistentvolumeclaims", core.PersistentVolumeClaims("").List,
			func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }),
		of("persistentvolumes", core.PersistentVolumes().List,
			func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items }),
		of("storageclasses", c.core.StorageV1().StorageClasses().List,
			func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items }),
		of("csinodes", c.core.StorageV1().CSINodes().List,
			func(l *storagev1.CSINodeList) []storagev1.CSINode { return l.Items }),
	}
	if len(c.spread) > 0 {
		out = append(out,
			of("services", core.Services("").List, func(l *corev1.ServiceList) []corev1.Service { return l.Items }),
			of("replicationcontrollers", core.ReplicationControllers("").List,
				func(l *corev1.ReplicationControllerList) []corev1.ReplicationController { return l.Items }),
			of("replicasets", c.core.AppsV1().ReplicaSets("").List,
				func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }),
			of("statefulsets", c.core.AppsV1().StatefulSets("").List,
				func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }),
		)
	}
	for _, resource := range customResources {
		out = append(out, c.customLister(resource))
	}
	return out
}
