package workload

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultClass = "storageclass.kubernetes.io/is-default-class"
	ebs          = "ebs.csi.aws.com"
)

// Storage is which StorageClasses the volumes of manifests ask for, and which ones are there.
type Storage struct {
	asked     map[string]bool // "" = the default one
	there     map[string]bool
	byDefault bool
}

// See notes an object that is a StorageClass.
func (s *Storage) See(object metav1.Object) {
	class, is := object.(*storagev1.StorageClass)
	if !is {
		return
	}
	if s.there == nil {
		s.there = map[string]bool{}
	}
	s.there[class.Name] = true
	s.byDefault = s.byDefault || class.Annotations[defaultClass] == "true"
}

// Want notes the class of a claim that a manifest makes.
func (s *Storage) Want(claim *corev1.PersistentVolumeClaim) {
	if s.asked == nil {
		s.asked = map[string]bool{}
	}
	name := ""
	if claim.Spec.StorageClassName != nil {
		name = *claim.Spec.StorageClassName
	}
	s.asked[name] = true
}

// Assumed returns the classes that are asked for and not there, as EKS has them: volumes of EBS that are made where the
// pod is.
func (s *Storage) Assumed() []*storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	var out []*storagev1.StorageClass
	for _, name := range slices.Sorted(maps.Keys(s.asked)) {
		if s.there[name] || name == "" && s.byDefault {
			continue
		}
		class := &storagev1.StorageClass{Provisioner: ebs, VolumeBindingMode: &mode}
		if class.Name = name; name == "" {
			class.Name, class.Annotations = "default", map[string]string{defaultClass: "true"}
		}
		out = append(out, class)
	}
	return out
}

// Assumption says what is assumed of a class.
func Assumption(class *storagev1.StorageClass) string {
	what := "StorageClass " + class.Name
	if len(class.Annotations) > 0 {
		what = "a default StorageClass"
	}
	return what + " is not in the input: volumes of manifests are taken for ones of EBS, made where the pod is"
}
