// Package clusterfile writes large clusters for tests and benchmarks, the way kubectl prints them.
//
//	err := clusterfile.Write(file, 1000, 10_000)
package clusterfile

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Write writes what `kubectl get nodes,pods,… -A -o json` prints of a cluster: nodes with their images and conditions,
// pods with environment, probes, volumes and status. Of ten pods nine run, one waits.
func Write(w io.Writer, nodes, pods int) error {
	random := rand.New(rand.NewPCG(1, 2))
	items := []any{json.RawMessage(pool), json.RawMessage(class)}
	for i := range nodes {
		items = append(items, node(i))
	}
	for i := range pods {
		items = append(items, pod(i, nodes, random.IntN(200)))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "    ")
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List",
		"metadata": map[string]string{"resourceVersion": ""}, "items": items})
}

const (
	pool = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default", "uid": "pool-default", "generation": 1},
		"spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}}}}`
	class = `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default", "uid": "class-default", "generation": 1},
		"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "node",
			"subnetSelectorTerms": [{"tags": {"a": "b"}}], "securityGroupSelectorTerms": [{"tags": {"a": "b"}}]}}`
)

var created = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.us-west-2.compute.internal", i/256, i%256)
}

// quantities are amounts by name: cpu, memory, pods.
func quantities(cpu, memory, pods string) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory)}
	if pods != "" {
		out[corev1.ResourcePods], out["hugepages-2Mi"] = resource.MustParse(pods), resource.MustParse("0")
	}
	return out
}

func node(i int) *corev1.Node {
	zone, instance := "us-west-2"+string(rune('a'+i%3)), fmt.Sprintf("i-%017x", i)
	out := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), UID: types.UID(fmt.Sprintf("node-%d", i)), ResourceVersion: "12345678",
			CreationTimestamp: created,
			Annotations:       map[string]string{"csi.volume.kubernetes.io/nodeid": `{"ebs.csi.aws.com":"` + instance + `"}`, "node.alpha.kubernetes.io/ttl": "0"},
			Labels: map[string]string{
				"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m7i.4xlarge",
				"beta.kubernetes.io/os":                    "linux",
				"failure-domain.beta.kubernetes.io/region": "us-west-2", "failure-domain.beta.kubernetes.io/zone": zone,
				"karpenter.k8s.aws/instance-family": "m7i", "karpenter.sh/capacity-type": "on-demand",
				"karpenter.sh/initialized": "true",
				"karpenter.sh/nodepool":    "default", "karpenter.sh/registered": "true", "kubernetes.io/arch": "amd64",
				"kubernetes.io/hostname": nodeName(i), "kubernetes.io/os": "linux",
				"node.kubernetes.io/instance-type": "m7i.4xlarge",
				"topology.kubernetes.io/region":    "us-west-2", "topology.kubernetes.io/zone": zone,
			},
		},
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + zone + "/" + instance},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
				Address: fmt.Sprintf("10.0.%d.%d", i/256, i%256)}},
			Allocatable: quantities("15890m", "60963540Ki", "234"), Capacity: quantities("16", "63980244Ki", "234"),
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", BootID: "boot", ContainerRuntimeVersion: "containerd://2.1.0",
				KernelVersion: "6.12", KubeletVersion: "v1.36.0", OperatingSystem: "linux",
			},
		},
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure, corev1.NodeReady} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, LastHeartbeatTime: created, LastTransitionTime: created, Reason: "KubeletHas",
			Message: fmt.Sprintf("kubelet has said something about %s at some length", kind),
		})
	}
	for k := range 30 {
		image := fmt.Sprintf("registry.example/team/service-%d", k)
		out.Status.Images = append(out.Status.Images,
			corev1.ContainerImage{Names: []string{fmt.Sprintf("%s@sha256:%064x", image, k*i), image + ":v1.2.3"},
				SizeBytes: int64(1000000 + k)})
	}
	return out
}

// pod is the i-th one, of a service: the last of ten waits.
func pod(i, nodes, service int) *corev1.Pod {
	name, image := fmt.Sprintf("service-%d", service), fmt.Sprintf("registry.example/team/service-%d", service)
	memory := fmt.Sprintf("%dMi", 128*(1+service%8))
	container := corev1.Container{
		Name: "main", Image: image + ":v1.2.3", ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		LivenessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz",
				Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}},
			FailureThreshold: 3, PeriodSeconds: 10, SuccessThreshold: 1, TimeoutSeconds: 1,
		},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
			Requests: quantities(fmt.Sprintf("%dm", 50*(1+service%16)), memory, ""),
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access",
			MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
	}
	for k := range 12 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", k),
			Value: fmt.Sprintf("some value that is neither short nor long %d", i)})
	}
	tolerated := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To[int64](300)}
	}
	out := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9f-%d", name, i), GenerateName: name + "-5d4f8c7b9f-",
			Namespace: fmt.Sprintf("team-%d", service%10),
			UID:       types.UID(fmt.Sprintf("pod-%d", i)), ResourceVersion: "123456789", CreationTimestamp: created,
			Annotations: map[string]string{"prometheus.io/port": "8080", "prometheus.io/scrape": "true"},
			Labels: map[string]string{"app": name, "pod-template-hash": "5d4f8c7b9f",
				"team": fmt.Sprintf("team-%d", service%10)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-5d4f8c7b9f",
				UID:        types.UID(fmt.Sprintf("11111111-2222-3333-4444-%012d", service)),
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: nodeName(i % nodes), Containers: []corev1.Container{container}, DNSPolicy: corev1.DNSClusterFirst,
			EnableServiceLinks: ptr.To(true),
			PreemptionPolicy:   ptr.To(corev1.PreemptLowerPriority), Priority: ptr.To[int32](0),
			RestartPolicy: corev1.RestartPolicyAlways, SchedulerName: corev1.DefaultSchedulerName,
			SecurityContext: &corev1.PodSecurityContext{}, ServiceAccountName: "default",
			TerminationGracePeriodSeconds: ptr.To[int64](30),
			Tolerations: []corev1.Toleration{tolerated(corev1.TaintNodeNotReady),
				tolerated(corev1.TaintNodeUnreachable)},
			Volumes: []corev1.Volume{{Name: "kube-api-access",
				VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					DefaultMode: ptr.To[int32](420),
					Sources:     []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}}},
				}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.0.1.1", QOSClass: corev1.PodQOSBurstable,
			StartTime: &created,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: created}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Ready: true, Started: ptr.To(true), Image: container.Image,
				ImageID:     fmt.Sprintf("%s@sha256:%064x", image, service),
				ContainerID: fmt.Sprintf("containerd://%064x", service),
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: created}},
			}},
		},
	}
	if i%10 == 9 {
		out.Spec.NodeName, out.Status.Phase = "", corev1.PodPending
		out.Status.Conditions[0].Status, out.Status.Conditions[0].Reason = corev1.ConditionFalse,
			corev1.PodReasonUnschedulable
		out.Status.Conditions[0].Message = "0/1000 nodes are available: 1000 Insufficient cpu."
	}
	return out
}
