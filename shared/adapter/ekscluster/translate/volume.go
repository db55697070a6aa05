package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// ebsDriver is the CSI driver that serves the volumes once built into Kubernetes, which their classes still name by
// ebsInTree.
const (
	ebsDriver = "ebs.csi.aws.com"
	ebsInTree = "kubernetes.io/aws-ebs"
)

const (
	annotationBound            = "pv.kubernetes.io/bind-completed"
	annotationDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	annotationDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// placeLabels are the labels by which a volume made before volumes had a node affinity says where it is. Several values
// are joined by two underscores.
var placeLabels = []string{
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
	corev1.LabelFailureDomainBetaRegion,
}

// Volume returns a PersistentVolumeClaim joined with the volume it names; volume is nil where there is none.
func Volume(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) model.Volume {
	out := model.Volume{
		Namespace:   claim.Namespace,
		Name:        claim.Name,
		Phase:       string(claim.Status.Phase),
		DeletedUnix: unix(claim.DeletionTimestamp),
		VolumeName:  claim.Spec.VolumeName,
		Missing:     claim.Spec.VolumeName != "" && volume == nil,
		Class:       classOf(claim.Annotations, claim.Spec.StorageClassName),
		OncePod:     oncePod(claim.Spec.AccessModes),
	}
	if _, complete := claim.Annotations[annotationBound]; claim.Spec.VolumeName != "" && !complete {
		out.Unbound = true
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
	out.Affinity = alsoAt(out.Affinity, volume.Labels)
	return out
}

// classOf returns the storage class a claim asks for, as kube-scheduler reads it: the annotation of old before the
// field. A claim that says "no class" in so many words gets none by default either.
func classOf(annotations map[string]string, field *string) string {
	if class, ok := annotations[corev1.BetaStorageClassAnnotation]; ok && class != "" {
		return class
	}
	switch {
	case field == nil:
		return ""
	case *field == "":
		return model.NoStorageClass
	}
	return *field
}

func oncePod(modes []corev1.PersistentVolumeAccessMode) bool {
	return slices.Contains(modes, corev1.ReadWriteOncePod)
}

// alsoAt narrows a volume's node affinity to where its labels say it is.
func alsoAt(terms []model.NodeTerm, labels map[string]string) []model.NodeTerm {
	var place []model.Requirement
	for _, key := range placeLabels {
		if value, ok := labels[key]; ok && value != "" {
			place = append(place, model.Requirement{Key: key, Operator: model.In, Values: strings.Split(value, "__")})
		}
	}
	switch {
	case place == nil:
		return terms
	case terms == nil:
		return []model.NodeTerm{{Requirements: place}}
	}
	for i := range terms {
		if len(terms[i].Requirements)+len(terms[i].Fields) > 0 { // an empty term matches nothing and stays so
			terms[i].Requirements = slices.Concat(terms[i].Requirements, place)
		}
	}
	return terms
}

// ephemeral returns the claims that are made for the pod, in volume order.
func ephemeral(spec *corev1.PodSpec) []model.EphemeralClaim {
	var out []model.EphemeralClaim
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.Ephemeral == nil {
			continue
		}
		claim := model.EphemeralClaim{Volume: v.Name}
		if template := v.Ephemeral.VolumeClaimTemplate; template != nil {
			claim.Class = classOf(template.Annotations, template.Spec.StorageClassName)
			claim.OncePod = oncePod(template.Spec.AccessModes)
		}
		out = append(out, claim)
	}
	return out
}

// StorageClass returns a storage class.
func StorageClass(class *storagev1.StorageClass) model.Storage {
	out := model.Storage{
		Name:        class.Name,
		Provisioner: class.Provisioner,
		Immediate:   class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate,
		Default: class.Annotations[annotationDefaultClass] == "true" ||
			class.Annotations[annotationDefaultClassBeta] == "true",
	}
	if out.Provisioner == ebsInTree {
		out.Provisioner = ebsDriver
	}
	for i := range class.AllowedTopologies {
		var term model.NodeTerm
		for _, e := range class.AllowedTopologies[i].MatchLabelExpressions {
			term.Requirements = append(term.Requirements,
				model.Requirement{Key: e.Key, Operator: model.In, Values: e.Values})
		}
		out.AllowedTopologies = append(out.AllowedTopologies, term)
	}
	return out
}
