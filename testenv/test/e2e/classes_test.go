package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestFourClassesRunTheirPods has a pool of each of four classes: AL2023 bought as spot and on demand, Bottlerocket on
// arm64, Windows, and a GPU with a large disk. Each runs its own pods on instances of its own image, kubectl describe says
// what each class resolved to, and another image or another subnet shows as drift.
func TestFourClassesRunTheirPods(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	c.apply(t, namespace("work"),
		classOf("general", "al2023@"+olderAL2023),
		classOf("bottlerocket", "bottlerocket@latest"),
		classOf("windows", "windows2022@latest"),
		classOf("gpu", "al2023@latest", "blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 200Gi, volumeType: gp3, iops: 6000, encrypted: true}}]"),
		pool("general", "general", general, nil, nil),
		pool("arm", "bottlerocket", `{key: kubernetes.io/arch, operator: In, values: [arm64]}, {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}`,
			[]string{"taints: [{key: dedicated, value: arm, effect: NoSchedule}]"}, nil),
		pool("windows", "windows", `{key: kubernetes.io/os, operator: In, values: [windows]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}`,
			[]string{"taints: [{key: os, value: windows, effect: NoSchedule}]"}, nil),
		pool("gpu", "gpu", `{key: karpenter.k8s.aws/instance-category, operator: In, values: [g]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}`,
			[]string{"taints: [{key: nvidia.com/gpu, effect: NoSchedule}]"}, nil),
	)
	for _, name := range []string{"general", "bottlerocket", "windows", "gpu"} {
		c.awaitReady(t, classes, name)
	}
	for _, name := range []string{"general", "arm", "windows", "gpu"} {
		c.awaitReady(t, nodePools, name)
	}
	c.apply(t,
		deployment("work", "spot", 12, "500m", "nodeSelector: {karpenter.sh/capacity-type: spot}"),
		deployment("work", "steady", 6, "500m", "nodeSelector: {karpenter.sh/capacity-type: on-demand, karpenter.sh/nodepool: general}"),
		deployment("work", "arm", 8, "500m", "tolerations: [{key: dedicated, operator: Equal, value: arm, effect: NoSchedule}]", "nodeSelector: {kubernetes.io/arch: arm64, karpenter.sh/nodepool: arm}"),
		deployment("work", "windows", 4, "500m", "tolerations: [{key: os, operator: Exists}]", "nodeSelector: {kubernetes.io/os: windows}"),
		gpuPod("work"),
	)
	c.awaitRunning(t, "work", 12+6+8+4+1, 4*time.Minute)
	c.oneEach(t)
	c.eachOnItsImage(t)
	c.describesItsClasses(t)
	c.driftsByImage(t)
	c.driftsBySubnet(t)
}

// olderAL2023 is a released version of the image that is not the newest.
const olderAL2023 = "v20250917"

// classOf is a class of an alias; spec is added as YAML lines.
func classOf(name, alias string, spec ...string) string {
	text := strings.Replace(class(name), "al2023@latest", alias, 1)
	for _, line := range spec {
		text += "  " + line + "\n"
	}
	return text
}

// eachOnItsImage fails unless every instance runs an image its class resolved to, with the disks its class asks for.
func (c *cluster) eachOnItsImage(t *testing.T) {
	t.Helper()
	wants := map[string]string{"general": "amazon-eks-node-al2023-", "bottlerocket": "bottlerocket-aws-k8s-", "windows": "Windows_Server-2022-", "gpu": "amazon-eks-node-al2023-"}
	names := map[string]string{}
	for name := range wants {
		for _, image := range c.statusList(t, name, "amis") {
			names[text(image["id"])] = text(image["name"])
		}
	}
	seen := map[string]int{}
	for _, i := range c.running() {
		class := i.Tags[model.LabelNodeClass]
		seen[class]++
		if !strings.HasPrefix(names[i.ImageID], wants[class]) {
			t.Errorf("instance %s of class %s runs %s (%s), want one of %s", i.ID, class, i.ImageID, names[i.ImageID], wants[class])
		}
		if class == "gpu" && !strings.Contains(names[i.ImageID], "-nvidia-") {
			t.Errorf("instance %s has a GPU and runs %s", i.ID, names[i.ImageID])
		}
	}
	for class := range wants {
		if seen[class] == 0 {
			t.Errorf("no machine of class %s", class)
		}
	}
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		system := map[bool]string{true: "windows", false: "linux"}[node.Labels[model.LabelNodePool] == "windows"]
		if node.Labels["kubernetes.io/os"] != system {
			t.Errorf("node %s of pool %s has the operating system %q", node.Name, node.Labels[model.LabelNodePool], node.Labels["kubernetes.io/os"])
		}
		if node.Labels[model.LabelNodePool] != "gpu" {
			continue
		}
		if storage := node.Status.Capacity.StorageEphemeral().Value(); storage < 190<<30 {
			t.Errorf("node %s has %d bytes of storage; its class asks for a disk of 200 GiB", node.Name, storage)
		}
	}
}

// statusList returns a list of an EC2NodeClass's status.
func (c *cluster) statusList(t *testing.T, class, field string) []map[string]any {
	t.Helper()
	object, err := c.dynamic.Resource(classes).Get(t.Context(), class, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", field)
	var out []map[string]any
	for _, entry := range list {
		out = append(out, entry.(map[string]any))
	}
	return out
}

// describesItsClasses fails unless kubectl describe shows what every selector resolved to, and why the class is ready.
func (c *cluster) describesItsClasses(t *testing.T) {
	t.Helper()
	for _, name := range []string{"general", "bottlerocket", "windows", "gpu"} {
		out, err := exec.CommandContext(t.Context(), c.Kube.Assets().Kubectl, "--kubeconfig", c.Kube.KubeconfigPath(), "describe", "ec2nodeclass", name).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl describe ec2nodeclass %s: %v\n%s", name, err, out)
		}
		wants := []string{"Subnets:", "Security Groups:", "Amis:", "Instance Profile:", "SubnetsReady", "SecurityGroupsReady", "AMIsReady", "InstanceProfileReady", "ValidationSucceeded"}
		for _, list := range []string{"subnets", "securityGroups", "amis"} {
			for _, entry := range c.statusList(t, name, list) {
				wants = append(wants, text(entry["id"]))
			}
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("kubectl describe ec2nodeclass %s does not say %q:\n%s", name, want, out)
			}
		}
		if name == "general" {
			t.Logf("%s", out)
		}
	}
}

// drifted returns the reasons of the Drifted conditions of a pool's claims, by claim; "" for one that is not.
func (c *cluster) drifted(ctx context.Context, t *testing.T, pool string) map[string]string {
	t.Helper()
	list, err := c.dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{LabelSelector: model.LabelNodePool + "=" + pool})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, object := range list.Items {
		status, reason, _ := c.condition(ctx, nodeClaims, object.GetName(), "Drifted")
		out[object.GetName()] = ""
		if status == "True" {
			out[object.GetName()] = reason
		}
	}
	return out
}

// awaitDrift waits until every claim of the pool has drifted for the reason.
func (c *cluster) awaitDrift(t *testing.T, pool, reason string) {
	t.Helper()
	await(t, 4*time.Minute, "claims of "+pool+" drift by "+reason, func(ctx context.Context) string {
		claims := c.drifted(ctx, t, pool)
		for name, is := range claims {
			if is != reason {
				return fmt.Sprintf("%s: %q", name, is)
			}
		}
		if len(claims) == 0 {
			return "no claim"
		}
		return ""
	})
}

// driftsByImage moves the general class to the newest image.
func (c *cluster) driftsByImage(t *testing.T) {
	t.Helper()
	for name, reason := range c.drifted(t.Context(), t, "general") {
		if reason != "" {
			t.Errorf("claim %s has drifted by %s and nothing was changed", name, reason)
		}
	}
	c.apply(t, classOf("general", "al2023@latest"))
	c.awaitDrift(t, "general", "AMIDrift")
}

// driftsBySubnet takes the discovery tag off every subnet that instances of the Bottlerocket class are in.
func (c *cluster) driftsBySubnet(t *testing.T) {
	t.Helper()
	used := map[string]bool{}
	for _, i := range c.running() {
		if i.Tags[model.LabelNodeClass] == "bottlerocket" {
			used[i.SubnetID] = true
		}
	}
	if all := len(c.statusList(t, "bottlerocket", "subnets")); len(used) == all {
		t.Fatal("machines are in every subnet, so that none would be left")
	}
	client := ec2.NewFromConfig(c.Cloud.Config())
	key := "karpenter.sh/discovery"
	for id := range used {
		if _, err := client.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key}}}); err != nil {
			t.Fatal(err)
		}
	}
	if !full() { // else what the class resolves to is looked up again by its age
		c.patch(t, classes, "bottlerocket", `{"metadata": {"annotations": {"example.com/look": "again"}}}`)
	}
	c.awaitDrift(t, "arm", "SubnetDrift")
}
