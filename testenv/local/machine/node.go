package machine

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

const (
	// livingLabel marks the Nodes whose pods kwok looks after. It is
	// a label, the only thing about a Node here that no real kubelet sets,
	// because kwok releases a Node only when its label is gone.
	livingLabel = "testenv.joiner.sh/kubelet"
	livingValue = "running"

	cloudProviderTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	nodeIPAnnotation   = "alpha.kubernetes.io/provided-node-ip"
	attachAnnotation   = "volumes.kubernetes.io/controller-managed-attach-detach"
	zoneIDLabel        = "topology.k8s.aws/zone-id"
	kernelVersion      = "6.12.0-1.amzn2023"
	containerdVersion  = "containerd://2.1.0"
	notReadyReason     = "KubeletNotReady"
	notReadyMessage    = "container runtime network not ready: cni plugin not initialized"
	readyReason        = "KubeletReady"
	readyMessage       = "kubelet is posting ready status"
	sufficientMemory   = "KubeletHasSufficientMemory"
	noDiskPressure     = "KubeletHasNoDiskPressure"
	sufficientPID      = "KubeletHasSufficientPID"
)

// newNode is the Node as the kubelet registers it, not ready yet.
func newNode(i Instance, k kubelet, r resources, now metav1.Time) *corev1.Node {
	arch, system := i.goArch(), systemOf(i)
	labels := map[string]string{
		corev1.LabelHostname:   k.nodeName,
		corev1.LabelOSStable:   system.os,
		corev1.LabelArchStable: arch,
		kubeletapis.LabelOS:    system.os,
		kubeletapis.LabelArch:  arch,
	}
	if system.build != "" {
		labels[corev1.LabelWindowsBuild] = system.build
	}
	maps.Copy(labels, k.labels)
	labels[livingLabel] = livingValue
	taints := append([]corev1.Taint(nil), k.config.RegisterWithTaints...)
	if k.externalCloud {
		awaits := corev1.Taint{Key: cloudProviderTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}
		taints = append(taints, awaits)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        k.nodeName,
			Labels:      labels,
			Annotations: map[string]string{nodeIPAnnotation: i.PrivateIP, attachAnnotation: "true"},
		},
		Spec: corev1.NodeSpec{ProviderID: k.providerID, Taints: taints},
		Status: corev1.NodeStatus{
			Capacity:    r.capacity,
			Allocatable: r.allocatable,
			Conditions:  conditions(false, now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: i.PrivateIP},
				{Type: corev1.NodeHostName, Address: k.nodeName},
			},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:               "ec2" + i.ID,
				SystemUUID:              "ec2" + i.ID,
				BootID:                  "boot-" + i.ID,
				KernelVersion:           kernelVersion,
				OSImage:                 system.name,
				ContainerRuntimeVersion: containerdVersion,
				KubeletVersion:          k.version,
				OperatingSystem:         system.os,
				Architecture:            arch,
			},
		},
	}
}

// conditions are the four that a kubelet reports.
func conditions(isReady bool, now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	state := condition(corev1.NodeReady, corev1.ConditionFalse, notReadyReason, notReadyMessage)
	if isReady {
		state = condition(corev1.NodeReady, corev1.ConditionTrue, readyReason, readyMessage)
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, sufficientMemory, "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, noDiskPressure, "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, sufficientPID, "kubelet has sufficient PID available"),
		state,
	}
}

// cloudLabels are those that the cloud controller manager adds.
func cloudLabels(i Instance) map[string]string {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable:      i.Type,
		corev1.LabelInstanceType:            i.Type,
		corev1.LabelTopologyZone:            i.Zone,
		corev1.LabelFailureDomainBetaZone:   i.Zone,
		corev1.LabelTopologyRegion:          i.Region,
		corev1.LabelFailureDomainBetaRegion: i.Region,
	}
	if i.ZoneID != "" {
		labels[zoneIDLabel] = i.ZoneID
	}
	return labels
}
