package wellknown

import corev1 "k8s.io/api/core/v1"

// Labels that Kubernetes itself defines.
const (
	LabelZone         = corev1.LabelTopologyZone
	LabelRegion       = corev1.LabelTopologyRegion
	LabelInstanceType = corev1.LabelInstanceTypeStable
	LabelArch         = corev1.LabelArchStable
	LabelOS           = corev1.LabelOSStable
	LabelHostname     = corev1.LabelHostname
	LabelWindowsBuild = corev1.LabelWindowsBuild
)

// aliases maps deprecated label keys, and a storage driver's own zone key, to the key in use.
var aliases = map[string]string{
	corev1.LabelFailureDomainBetaZone:   LabelZone,
	corev1.LabelFailureDomainBetaRegion: LabelRegion,
	"beta.kubernetes.io/arch":           LabelArch,
	"beta.kubernetes.io/os":             LabelOS,
	corev1.LabelInstanceType:            LabelInstanceType,
	LabelEBSZone:                        LabelZone,
}

// Normalize returns the key that is used today for key; a key without an alias is returned unchanged.
func Normalize(key string) string {
	if current, ok := aliases[key]; ok {
		return current
	}
	return key
}
