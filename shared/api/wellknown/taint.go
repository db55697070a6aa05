package wellknown

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ephemeral lists the taints that are on a node only while it comes up.
var ephemeral = []corev1.Taint{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
	{Key: TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule},
	{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute},
}

// DisruptedTaint returns the taint of a node that is about to leave.
func DisruptedTaint() corev1.Taint {
	return corev1.Taint{Key: TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredTaint returns the taint a node carries from boot until registration.
func UnregisteredTaint() corev1.Taint {
	return corev1.Taint{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute}
}

// IsEphemeralTaint says whether taint goes away by itself while a node comes up: such a taint keeps no pod from being
// planned onto an uninitialised node, and keeps the node uninitialised. Only key and effect count, never the value.
func IsEphemeralTaint(taint corev1.Taint) bool {
	if strings.HasPrefix(taint.Key, TaintReadinessPrefix) {
		return true
	}
	for _, e := range ephemeral {
		if e.Key == taint.Key && e.Effect == taint.Effect {
			return true
		}
	}
	return false
}
