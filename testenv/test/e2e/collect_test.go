package e2e

import (
	"context"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// M58: TestInstancesNobodyOwnsEnd puts an instance with the cluster's tags into the account that no launch of ours
// made, beside one that lacks a tag, and deletes the NodeClaim of an instance that runs nothing any more: the first
// and the last end, the others stay.
func TestInstancesNobodyOwnsEnd(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{FunctionEnv: map[string]string{"JOINER_CONFIRM_AFTER": "2s"}})
	c.apply(t, namespace("collect"), class("default"), pool("default", "default", general, nil, nil))
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("collect", "web", 1, "3"))
	c.awaitRunning(t, "collect", 1, 2*time.Minute)
	c.apply(t, deployment("collect", "leaving", 1, "3"))
	c.awaitRunning(t, "collect", 2, 2*time.Minute)
	leaving := c.abandon(t, "collect", "leaving")

	orphan := c.foreign(t, leaving, map[string]string{
		"kubernetes.io/cluster/joiner-demo": "owned", "karpenter.sh/nodepool": "default", "joiner.sh/intent": "01NOBODY",
	})
	stranger := c.foreign(t, leaving, map[string]string{"kubernetes.io/cluster/joiner-demo": "owned", "karpenter.sh/nodepool": "default"})
	if _, err := c.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := await(t, 2*time.Minute, "the machines nobody owns have ended", func(context.Context) string {
		for _, id := range []string{orphan, leaving.ID} {
			if i, _ := c.EC2.Lookup(id); i.State != "terminated" && i.State != "shutting-down" {
				return id + " is " + string(i.State)
			}
		}
		return ""
	})
	t.Logf("ended after %s", took.Round(100*time.Millisecond))
	await(t, 2*time.Minute, "the claim of the one is closed", func(context.Context) string {
		if n := len(c.ledger(t).Claims); n != 1 {
			return "claims are left"
		}
		return ""
	})
	if i, _ := c.EC2.Lookup(stranger); i.State != "running" && i.State != "pending" {
		t.Errorf("a machine without our intent tag is %s", i.State)
	}
	c.awaitRunning(t, "collect", 1, time.Minute)
}

// abandon deletes a deployment of one pod and, once that is gone, the NodeClaim of the node it ran on. It returns the
// node's instance.
func (c *cluster) abandon(t *testing.T, namespace, name string) ec2.Instance {
	t.Helper()
	only := metav1.ListOptions{LabelSelector: "app=" + name}
	pods, err := c.kube.CoreV1().Pods(namespace).List(t.Context(), only)
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%+v %v", pods, err)
	}
	node := pods.Items[0].Spec.NodeName
	if err := c.kube.AppsV1().Deployments(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "its pod is gone", func(ctx context.Context) string {
		pods, err := c.kube.CoreV1().Pods(namespace).List(ctx, only)
		if err != nil || len(pods.Items) > 0 {
			return "it is there"
		}
		return ""
	})
	// What nobody waits for is published within five seconds; by an older state the pod would be given another node.
	head, since := c.head(t), time.Now()
	await(t, time.Minute, "that is published", func(context.Context) string {
		if c.head(t) == head && time.Since(since) < 7*time.Second {
			return "the last state is"
		}
		return ""
	})
	for _, claim := range c.ledger(t).Claims {
		if claim.NodeName != node {
			continue
		}
		if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), claim.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		instance, _ := c.EC2.Lookup(claim.InstanceID)
		return instance
	}
	t.Fatalf("no claim has node %s", node)
	return ec2.Instance{}
}

// head is the number of the state the watcher published last.
func (c *cluster) head(t *testing.T) int64 {
	t.Helper()
	manifest := c.ledger(t).Manifest
	if manifest == nil {
		return 0
	}
	return manifest.HeadSeq
}

// foreign runs an instance of the type and image of another that no launch of ours made.
func (c *cluster) foreign(t *testing.T, like ec2.Instance, tags map[string]string) string {
	t.Helper()
	spec := types.TagSpecification{ResourceType: types.ResourceTypeInstance}
	for key, value := range tags {
		spec.Tags = append(spec.Tags, types.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	out, err := ec2sdk.NewFromConfig(c.Cloud.Config()).RunInstances(t.Context(), &ec2sdk.RunInstancesInput{
		ImageId: awssdk.String(like.ImageID), InstanceType: types.InstanceType(like.Type), SubnetId: awssdk.String(c.EC2.Subnets()[0].ID),
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), TagSpecifications: []types.TagSpecification{spec},
	})
	if err != nil || len(out.Instances) != 1 {
		t.Fatalf("run a machine: %v", err)
	}
	return *out.Instances[0].InstanceId
}
