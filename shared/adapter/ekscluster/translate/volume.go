package translate

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// ebsDriver is the CSI driver that serves the volumes once built into Kubernetes.
const ebsDriver = "ebs.csi.aws.com"

// Volume returns a PersistentVolumeClaim joined with the volume it names; volume is nil where there is none.
func Volume(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) model.Volume {
	out := model.Volume{
		Namespace:   claim.Namespace,
		Name:        claim.Name,
		Phase:       string(claim.Status.Phase),
		DeletedUnix: unix(claim.DeletionTimestamp),
		VolumeName:  claim.Spec.VolumeName,
		Missing:     claim.Spec.VolumeName != "" && volume == nil,
	}
	switch {
	case claim.Spec.StorageClassName != nil:
		out.Class = *claim.Spec.StorageClassName
	default:
		out.Class = claim.Annotations[corev1.BetaStorageClassAnnotation]
	}
	if volume == nil || claim.Spec.VolumeName == "" {
		return out
	}
	spec := &volume.Spec
	out.Local = spec.Local != nil || spec.HostPath != nil
	switch {
	case spec.CSI != nil:
		out.Driver = spec.CSI.Driver
	case spec.AWSElasticBlockStore != nil:
		out.Driver = ebsDriver
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		for i := range spec.NodeAffinity.Required.NodeSelectorTerms {
			term := &spec.NodeAffinity.Required.NodeSelectorTerms[i]
			out.Affinity = append(out.Affinity, model.NodeTerm{
				Requirements: nodeRequirements(term.MatchExpressions),
				Fields:       nodeRequirements(term.MatchFields),
			})
		}
	}
	return out
}

// StorageClass returns a storage class.
func StorageClass(class *storagev1.StorageClass) model.Storage {
	out := model.Storage{
		Name:        class.Name,
		Provisioner: class.Provisioner,
		Immediate:   class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate,
	}
	for i := range class.AllowedTopologies {
		var term model.NodeTerm
		for _, e := range class.AllowedTopologies[i].MatchLabelExpressions {
			term.Requirements = append(term.Requirements, model.Requirement{Key: e.Key, Operator: model.In, Values: e.Values})
		}
		out.AllowedTopologies = append(out.AllowedTopologies, term)
	}
	return out
}
