package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// addEphemeralClaims makes the claims of the pod's ephemeral volumes that are not there yet, as their controller does.
func (c *Cluster) addEphemeralClaims(pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil {
			continue
		}
		name := pod.Name + "-" + v.Name
		_, err := c.objects.Core().V1().PersistentVolumeClaims().Lister().PersistentVolumeClaims(pod.Namespace).Get(name)
		if !errors.IsNotFound(err) {
			continue
		}
		yes := true
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}},
			},
			Spec:   v.Ephemeral.VolumeClaimTemplate.Spec,
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
		}
		if err := c.add(claim); err != nil {
			return err
		}
	}
	return nil
}

// provision makes and binds the volumes that the pod waits for, in the zone of its node, as a CSI provisioner does.
func (c *Cluster) provision(pod *corev1.Pod, node *corev1.Node) error {
	binder := c.plugins[names.VolumeBinding].(*volumebinding.VolumeBinding).Binder
	claims, err := binder.GetPodVolumeClaims(c.logger, pod)
	if err != nil {
		return fmt.Errorf("look up the claims of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	found, _, err := binder.FindPodVolumes(c.logger, pod, claims, node)
	if err != nil {
		return fmt.Errorf("look up the volumes of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if len(found.StaticBindings) > 0 {
		return fmt.Errorf("pod %s/%s would take a volume that waits for a claim, which is not done here", pod.Namespace, pod.Name)
	}
	for _, missing := range found.DynamicProvisions {
		if err := c.bindNewVolume(missing.PVC, node); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) bindNewVolume(claim *corev1.PersistentVolumeClaim, node *corev1.Node) error {
	class, err := c.objects.Storage().V1().StorageClasses().Lister().Get(*claim.Spec.StorageClassName)
	if err != nil {
		return fmt.Errorf("provision claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	name := "pv-" + claim.Namespace + "-" + claim.Name
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, StorageClassName: class.Name,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: name}},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
		inZone := corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{inZone}}},
		}}
	}
	if err := c.add(volume); err != nil {
		return err
	}
	bound := claim.DeepCopy()
	bound.Spec.VolumeName = name
	metav1.SetMetaDataAnnotation(&bound.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	bound.Status.Phase = corev1.ClaimBound
	return c.add(bound)
}
