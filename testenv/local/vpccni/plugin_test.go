package vpccni_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/testenv/local/vpccni"
)

// enable says in the DaemonSet whether pods may have interfaces of their own.
func enable(t *testing.T, value string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []map[string]any{
		{"name": "aws-node", "env": []map[string]string{{"name": "ENABLE_POD_ENI", "value": value}}},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().DaemonSets("kube-system").Patch(t.Context(), "aws-node", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestNodesGetBranchInterfacesWhereThePluginAllowsThem(t *testing.T) {
	large, burstable := boot(t, 1, "m5.large"), boot(t, 2, "t3.large")
	// running is how many pods of the DaemonSet run as it says now.
	running := func(value string) {
		t.Helper()
		eventually(t, "the plugin runs on both nodes with "+value, func() (bool, string) {
			pods, err := client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=aws-node"})
			if err != nil {
				return false, err.Error()
			}
			n := 0
			for _, p := range pods.Items {
				if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && p.Spec.Containers[0].Env[0].Value == value {
					n++
				}
			}
			return n == 2, fmt.Sprintf("%d of %d pods", n, len(pods.Items))
		})
	}
	has := func(node string) int64 {
		t.Helper()
		n, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		amount, capacity := n.Status.Allocatable[vpccni.BranchInterfaces], n.Status.Capacity[vpccni.BranchInterfaces]
		if amount.Cmp(capacity) != 0 {
			t.Errorf("%s can allocate %s of %s", node, amount.String(), capacity.String())
		}
		return amount.Value()
	}
	running("false")
	time.Sleep(time.Second)
	if n := has(large); n != 0 {
		t.Errorf("a node has %d interfaces for pods before the plugin allows them", n)
	}
	enable(t, "true")
	defer enable(t, "false")
	running("true")
	eventually(t, "interfaces for pods on the node of a type that takes them", func() (bool, string) { return has(large) == 9, fmt.Sprint(has(large)) })
	if n := has(burstable); n != 0 {
		t.Errorf("a node of a type that takes none has %d", n)
	}
}

const policies = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: securitygrouppolicies.vpcresources.k8s.aws}
spec:
  group: vpcresources.k8s.aws
  names: {kind: SecurityGroupPolicy, listKind: SecurityGroupPolicyList, plural: securitygrouppolicies, singular: securitygrouppolicy}
  scope: Namespaced
  versions:
    - name: v1beta1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: database, namespace: default, labels: {role: database}}
---
apiVersion: vpcresources.k8s.aws/v1beta1
kind: SecurityGroupPolicy
metadata: {name: by-pod, namespace: default}
spec:
  podSelector: {matchLabels: {app: shop}}
  securityGroups: {groupIds: [sg-1]}
---
apiVersion: vpcresources.k8s.aws/v1beta1
kind: SecurityGroupPolicy
metadata: {name: by-both, namespace: default}
spec:
  podSelector: {matchLabels: {app: store}}
  serviceAccountSelector: {matchLabels: {role: database}}
  securityGroups: {groupIds: [sg-1]}
---
apiVersion: vpcresources.k8s.aws/v1beta1
kind: SecurityGroupPolicy
metadata: {name: of-no-group, namespace: default}
spec:
  podSelector: {matchLabels: {app: nothing}}
  securityGroups: {groupIds: []}
`

func TestPodsOfASecurityGroupPolicyRequestABranchInterface(t *testing.T) {
	made := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		t.Helper()
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "shop"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main"}, {Name: "second", Image: "example/second"}}},
		}
		if change != nil {
			change(p)
		}
		created, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	requests := func(p *corev1.Pod) int64 {
		asked, most := p.Spec.Containers[0].Resources.Requests[vpccni.BranchInterfaces], p.Spec.Containers[0].Resources.Limits[vpccni.BranchInterfaces]
		if asked.Cmp(most) != 0 || len(p.Spec.Containers[1].Resources.Requests) > 0 {
			t.Errorf("%s requests %s of %s, its second container %v", p.Name, asked.String(), most.String(), p.Spec.Containers[1].Resources.Requests)
		}
		return asked.Value()
	}
	if n := requests(made("before-the-kind", nil)); n != 0 {
		t.Errorf("where there is no such kind a pod requests %d", n)
	}
	if err := plane.Apply(t.Context(), []byte(policies)); err != nil {
		t.Fatal(err)
	}
	labeled := func(app string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels["app"] = app }
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   int64
	}{
		"matched":              {nil, 1},
		"another-app":          {labeled("other"), 0},
		"another-namespace":    {func(p *corev1.Pod) { p.Namespace = "kube-public" }, 0},
		"host-network":         {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, 0},
		"windows":              {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"} }, 0},
		"one-of-two-selectors": {labeled("store"), 0},
		"both-selectors":       {func(p *corev1.Pod) { p.Labels["app"], p.Spec.ServiceAccountName = "store", "database" }, 1},
		"of-no-group":          {labeled("nothing"), 0},
	} {
		if got := requests(made(name, c.change)); got != c.want {
			t.Errorf("%s: it requests %d interfaces, want %d", name, got, c.want)
		}
	}
	keeps := made("keeps-its-own", func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	})
	if cpu := keeps.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; cpu.String() != "100m" || requests(keeps) != 1 {
		t.Errorf("it requests %v", keeps.Spec.Containers[0].Resources)
	}
}
