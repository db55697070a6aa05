package problem

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/model"
)

var namespaceNames = []string{"default", "team-a", "team-b"}

func meta(namespace, name string) metav1.ObjectMeta {
	uid := strings.ReplaceAll(strings.Trim(namespace+"."+name, "."), "/", ".")
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + uid), CreationTimestamp: metav1.Unix(Now-3600, 0)}
}

func (m *maker) namespaces() {
	labels := map[string]map[string]string{
		"default": {"env": "prod"}, "team-a": {"env": "prod", "team": "a"}, "team-b": {"env": "test", "team": "b"}, "kube-system": {},
	}
	for _, name := range append([]string{"kube-system"}, namespaceNames...) {
		n := &corev1.Namespace{ObjectMeta: meta("", name)}
		n.Labels = map[string]string{corev1.LabelMetadataName: name}
		for key, value := range labels[name] {
			n.Labels[key] = value
		}
		m.Namespaces = append(m.Namespaces, n)
	}
}

// namespace is where a workload is.
func (m *maker) namespace() string {
	if m.Has(Namespaces) {
		return pick(m.die, namespaceNames...)
	}
	return "default"
}

var priorityValues = map[string]int32{"low": -10, "": 0, "high": 1000}

func (m *maker) priorities() {
	for _, name := range []string{"low", "high"} {
		m.Priorities = append(m.Priorities, &schedulingv1.PriorityClass{ObjectMeta: meta("", name), Value: priorityValues[name]})
	}
}

// daemonSets makes up to three; what they ask for is small, so that there is room for them.
func (m *maker) daemonSets() {
	if !m.Has(Daemons) {
		return
	}
	for i := range m.between(1, 3) {
		name := fmt.Sprintf("daemon-%d", i)
		namespace := "kube-system"
		if m.chance(15) {
			namespace = "default"
		}
		labels := map[string]string{"daemon": name}
		set := &appsv1.DaemonSet{ObjectMeta: meta(namespace, name), Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{container("main", int64(m.between(1, 3))*50, int64(m.between(1, 4))*64*mebi)},
			}},
		}}
		spec := &set.Spec.Template.Spec
		switch {
		case m.chance(30):
			spec.NodeSelector = map[string]string{model.LabelArch: pick(m.die, "amd64", "arm64")}
		case m.chance(20):
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.nodeSelector()}}
		}
		if m.chance(50) {
			spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		} else if m.Has(Taints) && m.chance(50) {
			spec.Tolerations = m.tolerations()
		}
		if m.Has(Ports) && m.chance(40) {
			spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: pick(m.die, ports...), Protocol: corev1.ProtocolTCP}}
		}
		m.DaemonSets = append(m.DaemonSets, set)
	}
}

func container(name string, cpuMilli, memoryBytes int64) corev1.Container {
	c := corev1.Container{Name: name, Image: "registry/app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	if cpuMilli > 0 {
		c.Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI)
	}
	if memoryBytes > 0 {
		c.Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(memoryBytes, resource.BinarySI)
	}
	return c
}

// The storage classes. The limited one can only be had in two zones; nothing is provisioned for the local one.
const (
	ebs          = "ebs.csi.aws.com"
	efs          = "efs.csi.aws.com"
	classWait    = "wait"
	classLimited = "limited"
	classNow     = "now"
	classShared  = "shared"
	classLocal   = "local"
)

func (m *maker) storageClasses() {
	wait, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	add := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		class := &storagev1.StorageClass{ObjectMeta: meta("", name), Provisioner: provisioner, VolumeBindingMode: &mode}
		m.Storage = append(m.Storage, class)
		return class
	}
	add(classWait, ebs, wait).Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	add(classLimited, ebs, wait).AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
		{Key: corev1.LabelTopologyZone, Values: some(m.die, zones...)},
	}}}
	add(classNow, ebs, now)
	add(classShared, efs, wait)
	add(classLocal, "kubernetes.io/no-provisioner", wait)
}
