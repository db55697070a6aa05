package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/joiner-sh/joiner/testenv/local/machine"
)

func TestDeploymentRunsOnInstanceThatJoined(t *testing.T) {
	t.Parallel()
	i := instance(1)
	manifest := fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {instance: %s}
      containers:
      - {name: web, image: example/web, resources: {requests: {cpu: 100m, memory: 64Mi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {instance: %[1]s}
      containers:
      - {name: agent, image: example/agent}
`, i.ID)
	if err := plane.Apply(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	awaitPods(t, "app=web", 3, func(pod corev1.Pod) bool { return pod.Spec.NodeName == "" && pod.Status.Phase == corev1.PodPending })

	begun := time.Now()
	boot(t, fleet, events, i, machine.Ready)
	running := func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == i.PrivateDNSName && isRunning(pod) && pod.Status.PodIP != "" && pod.Status.HostIP == i.PrivateIP
	}
	awaitPods(t, "app=web", 3, running)
	awaitPods(t, "app=agent", 1, running)
	t.Logf("from boot to running pods: %s", time.Since(begun).Round(time.Millisecond))

	fleet.Terminated(i.ID)
	events.await(t, i.ID, machine.Deleted)
	if !nodeGone(t, i.PrivateDNSName) {
		t.Error("the node is still there")
	}
	want := []machine.EventKind{machine.Registered, machine.Initialized, machine.Ready, machine.Silent, machine.Deleted}
	if got := events.kinds(i.ID); !slices.Equal(got, want) {
		t.Errorf("events are %v, want %v", got, want)
	}
}

func TestNodeIsWhatAKubeletAndTheCloudProviderMakeIt(t *testing.T) {
	t.Parallel()
	i := instance(2)
	i.UserData = userData(`    config:
      maxPods: 20
      kubeReserved: {cpu: 70m, memory: 574Mi}
      systemReserved: {memory: 100Mi}
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
      - {key: team, value: a, effect: NoSchedule}
    flags:
    - --node-labels="karpenter.sh/nodepool=default,karpenter.sh/capacity-type=spot,instance=` + i.ID + `"
`)
	boot(t, fleet, events, i, machine.Ready)
	n := node(t, i.PrivateDNSName)

	for key, want := range map[string]string{
		"kubernetes.io/hostname":           i.PrivateDNSName,
		"kubernetes.io/os":                 "linux",
		"kubernetes.io/arch":               "arm64",
		"node.kubernetes.io/instance-type": "m7g.large",
		"topology.kubernetes.io/zone":      "us-west-2a",
		"topology.kubernetes.io/region":    "us-west-2",
		"topology.k8s.aws/zone-id":         "usw2-az1",
		"karpenter.sh/nodepool":            "default",
		"karpenter.sh/capacity-type":       "spot",
	} {
		if got := n.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if want := "aws:///us-west-2a/" + i.ID; n.Spec.ProviderID != want {
		t.Errorf("provider id is %q, want %q", n.Spec.ProviderID, want)
	}
	eventually(t, "the node lifecycle controller to lift not-ready", func() (bool, string) {
		taints := taintsOf(node(t, i.PrivateDNSName))
		return taints == "karpenter.sh/unregistered:NoExecute team=a:NoSchedule", taints
	})
	wantResource(t, n.Status.Allocatable, corev1.ResourceCPU, "1930m")
	wantResource(t, n.Status.Allocatable, corev1.ResourcePods, "20")
	wantResource(t, n.Status.Capacity, corev1.ResourceCPU, "2")
	memory := n.Status.Capacity[corev1.ResourceMemory]
	memory.Sub(n.Status.Allocatable[corev1.ResourceMemory])
	if want := resource.MustParse("774Mi"); memory.Cmp(want) != 0 { // 574 + 100 + the 100 of evictionHard
		t.Errorf("memory kept back is %s, want %s", memory.String(), want.String())
	}
}

func TestUnregisteredInstanceTakesNoPods(t *testing.T) {
	t.Parallel()
	i := instance(3)
	i.UserData = userData(`    config: {registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]}
    flags: ["--node-labels=instance=` + i.ID + `"]
`)
	pod := createPod(t, i.ID, func(*corev1.Pod) {})
	boot(t, fleet, events, i, machine.Ready)
	eventually(t, "the scheduler to name the taint", func() (bool, string) {
		state := unschedulableMessage(getPod(t, pod.Name))
		return strings.Contains(state, "untolerated taint"), state
	})

	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n := node(t, i.PrivateDNSName)
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "karpenter.sh/unregistered" })
		_, err := client(t).CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitPod(t, pod.Name, isRunning)
}

func TestDevicesAppearAfterTheNodeIsReady(t *testing.T) {
	t.Parallel()
	const gpu = corev1.ResourceName("nvidia.com/gpu")
	i := instance(4)
	i.Devices = map[string]int{string(gpu): 4}
	pod := createPod(t, i.ID, func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
	})
	r := newRecorder()
	f := otherFleet(t, machine.Options{OnEvent: r.record, Timing: machine.Timing{Devices: 500 * time.Millisecond}})
	boot(t, f, r, i, machine.Ready)
	if got, ok := node(t, i.PrivateDNSName).Status.Allocatable[gpu]; ok {
		t.Errorf("there are %s GPUs when the node has just become ready", got.String())
	}
	r.await(t, i.ID, machine.DevicesReady)
	wantResource(t, node(t, i.PrivateDNSName).Status.Allocatable, gpu, "4")
	awaitPod(t, pod.Name, isRunning)
}

func TestInstanceOfAnotherClusterNeverJoins(t *testing.T) {
	t.Parallel()
	other := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	ca := plane.CertificateAuthority()
	cases := map[string]struct {
		userData []byte
		want     string
	}{
		"other name":         {userDataFor("else", plane.Endpoint(), ca, ""), `names the cluster "else"`},
		"other endpoint":     {userDataFor(clusterName, "https://10.0.0.1", ca, ""), `names the endpoint "https://10.0.0.1"`},
		"other authority":    {userDataFor(clusterName, plane.Endpoint(), other, ""), "certificate authority"},
		"no user data":       {nil, "empty"},
		"shell only":         {multipart("text/x-shellscript", "#!/bin/sh\n"), "no part of type application/node.eks.aws"},
		"protected label":    {userData("    flags: [\"--node-labels=node-role.kubernetes.io/infra=\"]\n"), "may not set node-role.kubernetes.io/infra"},
		"restricted label":   {userData("    flags: [\"--node-labels=node-restriction.kubernetes.io/team=a\"]\n"), "may not set node-restriction"},
		"reserves too much":  {userData("    config: {systemReserved: {memory: 1Ti}}\n"), "memory is reserved"},
		"unknown effect":     {userData("    config: {registerWithTaints: [{key: a, effect: Never}]}\n"), "unknown effect"},
		"reserved not text":  {userData("    config: {kubeReserved: {cpu: 1}}\n"), "kubelet configuration"},
		"soft without grace": {userData("    config: {evictionSoft: {memory.available: 1Gi}}\n"), "evictionSoftGracePeriod"},
	}
	n := 20
	for name, c := range cases {
		i := instance(n)
		n++
		i.UserData = c.userData
		t.Run(name, func(t *testing.T) {
			refusal := boot(t, fleet, events, i, machine.Refused)
			if !strings.Contains(refusal.Err.Error(), c.want) {
				t.Errorf("refused with %q, want %q in it", refusal.Err, c.want)
			}
			if !nodeGone(t, i.PrivateDNSName) {
				t.Error("it has a node")
			}
		})
	}
}

func TestInstanceWhoseRoleMayNotJoinNeverJoins(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	f := otherFleet(t, machine.Options{OnEvent: r.record, MayJoin: func(i machine.Instance) error {
		return fmt.Errorf("no access entry for the role of %s", i.ID)
	}})
	refusal := boot(t, f, r, instance(5), machine.Refused)
	if !strings.Contains(refusal.Err.Error(), "no access entry") {
		t.Errorf("refused with %q", refusal.Err)
	}
}

func TestHungInstanceBecomesUnknownAndKeepsItsNode(t *testing.T) {
	t.Parallel()
	i := instance(6)
	boot(t, fleet, events, i, machine.Ready)
	lease := func() time.Time {
		l, err := client(t).CoordinationV1().Leases("kube-node-lease").Get(t.Context(), i.PrivateDNSName, metav1.GetOptions{})
		if err != nil {
			return time.Time{}
		}
		return l.Spec.RenewTime.Time
	}
	eventually(t, "the first heartbeat", func() (bool, string) { return !lease().IsZero(), "no lease" })
	fleet.Hang(i.ID)
	events.await(t, i.ID, machine.Silent)
	eventually(t, "the node to be unreachable", func() (bool, string) {
		n := node(t, i.PrivateDNSName)
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionUnknown, string(c.Status)
			}
		}
		return false, "no condition"
	})
	fleet.Terminated(i.ID)
	events.await(t, i.ID, machine.Deleted)
}

func TestTerminatedBeforeJoiningLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	f := otherFleet(t, machine.Options{OnEvent: r.record, Timing: machine.Timing{Register: time.Hour}})
	i := instance(7)
	f.Booted(i)
	f.Terminated(i.ID)
	f.Terminated(i.ID)
	late := instance(8)
	f.Terminated(late.ID)
	f.Booted(late)
	f.Stop()
	for _, id := range []string{i.ID, late.ID} {
		if kinds := r.kinds(id); len(kinds) > 0 {
			t.Errorf("%s has %v", id, kinds)
		}
	}
}

func TestNodeOfTerminatedInstanceStaysWhereAsked(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	f := otherFleet(t, machine.Options{OnEvent: r.record, KeepNodes: true})
	i := instance(9)
	boot(t, f, r, i, machine.Ready)
	f.Terminated(i.ID)
	r.await(t, i.ID, machine.Silent)
	f.Stop()
	if nodeGone(t, i.PrivateDNSName) {
		t.Fatal("the node was deleted")
	}
	if err := client(t).CoreV1().Nodes().Delete(t.Context(), i.PrivateDNSName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAddressReusedWaitsForTheOldNode(t *testing.T) {
	t.Parallel()
	old := instance(10)
	boot(t, fleet, events, old, machine.Ready)
	next := instance(11)
	next.PrivateDNSName, next.PrivateIP = old.PrivateDNSName, old.PrivateIP
	retry := boot(t, fleet, events, next, machine.Retrying)
	if !apierrors.IsAlreadyExists(retry.Err) {
		t.Errorf("it retries because of %v", retry.Err)
	}
	fleet.Terminated(old.ID)
	events.await(t, next.ID, machine.Ready)
	if got := node(t, next.PrivateDNSName).Spec.ProviderID; !strings.HasSuffix(got, next.ID) {
		t.Errorf("the node is of %s", got)
	}
}

func TestDeletedNodeOfRunningInstanceDoesNotComeBack(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	f := otherFleet(t, machine.Options{OnEvent: r.record, Timing: machine.Timing{Ready: 300 * time.Millisecond}})
	i := instance(12)
	boot(t, f, r, i, machine.Registered)
	if err := client(t).CoreV1().Nodes().Delete(t.Context(), i.PrivateDNSName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Terminated(i.ID)
	f.Stop() // waits for the instance's last step
	if !nodeGone(t, i.PrivateDNSName) {
		t.Error("the node came back")
	}
	if slices.Contains(r.kinds(i.ID), machine.Ready) {
		t.Error("a machine without a node became ready")
	}
}

func TestTwentyInstancesJoinAtOnce(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for n := range 20 {
		fleet.Booted(instance(100 + n))
	}
	for n := range 20 {
		events.await(t, instance(100+n).ID, machine.Ready)
	}
	t.Logf("20 machines joined in %s", time.Since(begun).Round(time.Millisecond))
	for n := range 20 {
		fleet.Terminated(instance(100 + n).ID)
	}
	for n := range 20 {
		events.await(t, instance(100+n).ID, machine.Deleted)
	}
}
