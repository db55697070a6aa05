package translate

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StripClaim returns a PersistentVolumeClaim with no more than Volume reads.
func StripClaim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: stripMeta(&claim.ObjectMeta),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: claim.Spec.StorageClassName, VolumeName: claim.Spec.VolumeName,
			AccessModes: claim.Spec.AccessModes,
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase},
	}
	out.Annotations = only(claim.Annotations, corev1.BetaStorageClassAnnotation, annotationBound)
	return out
}

// StripVolume returns a PersistentVolume with no more than Volume reads: no attributes of its source, which may name
// secrets.
func StripVolume(volume *corev1.PersistentVolume) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{
		ObjectMeta: stripMeta(&volume.ObjectMeta),
		Spec:       corev1.PersistentVolumeSpec{NodeAffinity: volume.Spec.NodeAffinity},
	}
	out.Labels = only(volume.Labels, placeLabels...)
	source := &volume.Spec.PersistentVolumeSource
	switch {
	case source.CSI != nil:
		out.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: source.CSI.Driver}
	case source.AWSElasticBlockStore != nil:
		out.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{}
	case source.Local != nil:
		out.Spec.Local = &corev1.LocalVolumeSource{}
	case source.HostPath != nil:
		out.Spec.HostPath = &corev1.HostPathVolumeSource{}
	}
	return out
}

// StripSelector returns an object that Selectors takes with no more than they read.
func StripSelector(object any) any {
	switch o := object.(type) {
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: stripMeta(&o.ObjectMeta),
			Spec: corev1.ServiceSpec{Selector: o.Spec.Selector}}
	case *corev1.ReplicationController:
		return &corev1.ReplicationController{ObjectMeta: stripMeta(&o.ObjectMeta),
			Spec: corev1.ReplicationControllerSpec{Selector: o.Spec.Selector}}
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{ObjectMeta: stripMeta(&o.ObjectMeta),
			Spec: appsv1.ReplicaSetSpec{Selector: o.Spec.Selector}}
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{ObjectMeta: stripMeta(&o.ObjectMeta),
			Spec: appsv1.StatefulSetSpec{Selector: o.Spec.Selector}}
	}
	return object
}

func stripMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}
}

// only returns the part of a map with these keys, nil where there is none.
func only(all map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := all[key]; ok {
			if out == nil {
				out = make(map[string]string, len(keys))
			}
			out[key] = value
		}
	}
	return out
}
