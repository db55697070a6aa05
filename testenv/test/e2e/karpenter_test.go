package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestF136_WhatKubectlShowsOfKarpentersClusterIsAdopted applies what kubectl prints of a cluster that Karpenter runs, as it is.
// joiner adopt --dry-run lists exactly its NodeClaims and writes nothing; with --yes they are ours, and the objects are as they
// were but for their drift hashes.
func TestF136_WhatKubectlShowsOfKarpentersClusterIsAdopted(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Adopters: true, Watchers: -1, EC2: ec2.Timing{Gone: time.Hour}})
	c.pause(t, true)
	dump := c.karpentersInstances(t)
	wanted, err := kube.Objects(dump)
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Kube.Restore(t.Context(), dump)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range wanted {
		if object.GetKind() == "NodeClaim" {
			names = append(names, object.GetName())
		}
	}
	slices.Sort(names)

	listed := func(a *adoption, verdict string) {
		t.Helper()
		var is []string
		for _, claim := range a.NodeClaims {
			is = append(is, claim.Name)
		}
		slices.Sort(is)
		if n := a.verdicts(); !slices.Equal(is, names) || n[verdict] != len(names) {
			t.Fatalf("%q are listed, %v; want %q, all to %s", is, n, names, verdict)
		}
	}
	versions := c.versions(t)
	reported := c.adopt(t, 0, "-o", "json", "--dry-run")
	listed(reported, "adopt")
	if reported.named("default-q9z4m").Drift != "NodeClassDrift" || reported.named("default-7xk2p").Drift != "" || reported.named("batch-2vwqd").State != "Initialized" {
		t.Errorf("%+v", reported.NodeClaims)
	}
	if is := c.versions(t); reported.Applied || len(c.ledger(t).Claims) != 0 || !slices.Equal(versions, is) {
		t.Errorf("something was written: %d claims, NodeClaims and nodes\n%q, before\n%q", len(c.ledger(t).Claims), is, versions)
	}
	listed(c.adopt(t, 0, "-o", "json", "--yes"), "adopt")
	pools := map[string]int{}
	for _, claim := range c.ledger(t).Claims {
		pools[claim.Pool]++
		if i, _ := c.EC2.Lookup(claim.InstanceID); claim.State != model.Initialized || i.Tags["joiner.sh/intent"] != claim.Intent || i.State != "running" {
			t.Errorf("%+v, instance %s is %s with tags %v", claim, i.ID, i.State, i.Tags)
		}
	}
	if len(pools) != 2 || pools["default"] != 2 || pools["batch"] != 1 {
		t.Errorf("claims of pools %v", pools)
	}
	for _, was := range before {
		if was.GetKind() != "NodeClaim" {
			continue
		}
		is, err := c.dynamic.Resource(nodeClaims).Get(t.Context(), was.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if is.GetGeneration() != was.GetGeneration() || !slices.Equal(is.GetFinalizers(), was.GetFinalizers()) || is.GetAnnotations()[model.AnnotationPoolHashVersion] != model.PoolHashVersion {
			t.Errorf("NodeClaim %s: generation %d, finalizers %q, annotations %v", is.GetName(), is.GetGeneration(), is.GetFinalizers(), is.GetAnnotations())
		}
	}
	await(t, time.Minute, "nothing is left to do", func(ctx context.Context) string { // EC2 shows tags late
		again := c.adopt(t, 0, "-o", "json", "--dry-run")
		if n := again.verdicts(); n["ours"] != len(names) {
			return strings.Join(names, " ") + " are not all ours"
		}
		return ""
	})
}

// karpentersInstances runs the instances of examples.Karpenter with the tags that Karpenter gives them, and returns the dump
// with their ids and zone.
func (c *cluster) karpentersInstances(t *testing.T) []byte {
	t.Helper()
	dump, ids := string(examples.Karpenter), []string{"i-0a000000000000001", "i-0a000000000000002", "i-0a000000000000003"}
	if _, err := c.RunForeign(t.Context(), c.Options.Cluster, len(ids)); err != nil {
		t.Fatal(err)
	}
	running := c.running()
	client := ec2sdk.NewFromConfig(c.Cloud.Config())
	wanted := &ec2sdk.DescribeInstancesInput{}
	for _, i := range running {
		wanted.InstanceIds = append(wanted.InstanceIds, i.ID)
	}
	if err := ec2sdk.NewInstanceExistsWaiter(client).Wait(t.Context(), wanted, 2*time.Minute); err != nil { // until then they have no tags to add to
		t.Fatal(err)
	}
	for i, owner := range [][2]string{{"default", "default-7xk2p"}, {"default", "default-q9z4m"}, {"batch", "batch-2vwqd"}} {
		var tags []ec2types.Tag
		for key, value := range map[string]string{
			"karpenter.sh/nodepool": owner[0], "karpenter.sh/nodeclaim": owner[1], "karpenter.k8s.aws/ec2nodeclass": "default", "eks:eks-cluster-name": c.Options.Cluster,
		} {
			tags = append(tags, ec2types.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
		}
		if _, err := client.CreateTags(t.Context(), &ec2sdk.CreateTagsInput{Resources: []string{running[i].ID}, Tags: tags}); err != nil {
			t.Fatal(err)
		}
		dump = strings.ReplaceAll(dump, ids[i], running[i].ID)
	}
	await(t, time.Minute, "EC2 shows their tags", func(ctx context.Context) string {
		if n, err := c.shownWith(ctx, "karpenter.sh/nodeclaim"); err != nil || n < len(ids) {
			return fmt.Sprintf("those of %d machines, %v", n, err)
		}
		return ""
	})
	return []byte(strings.ReplaceAll(dump, "us-west-2a", running[0].Zone))
}
