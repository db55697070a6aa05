package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// playForgedPools publishes, with the keys of the attacker's watcher, NodePools and an EC2NodeClass that nobody has applied, for pods that
// no NodePool of the cluster takes, and hints that they wait.
func playForgedPools(t *testing.T, r *redteam) {
	a, name := r.attacker, r.attacker.Options.Cluster
	a.apply(t, namespace("lies"), deployment("lies", "wants", 2, "1", "nodeSelector: {team: evil}"))
	defer func() {
		if err := a.kube.AppsV1().Deployments("lies").Delete(context.WithoutCancel(t.Context()), "wants", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	client, err := ekscluster.New(a.Kube.Config(), name, a.Cloud.Region())
	if err != nil {
		t.Fatal(err)
	}
	var listed *model.Snapshot
	await(t, time.Minute, "kube-scheduler finds no place for the pods", func(ctx context.Context) string {
		if listed, err = client.List(ctx); err != nil {
			return err.Error()
		}
		waiting := 0
		for i := range listed.Pods {
			if pod := &listed.Pods[i]; pod.Namespace == "lies" && pod.Unschedulable {
				waiting++
			}
		}
		if waiting != 2 {
			return fmt.Sprintf("%d wait", waiting)
		}
		return ""
	})

	// 1. What is published: the cluster as it is, but for a class with the liar's user data, a NodePool without limits that takes the pods,
	// and another one of a huge instance.
	ledger := dynamoledger.New(dynamodb.NewFromConfig(r.keys), a.Table)
	store := s3snapshot.New(s3.NewFromConfig(r.keys, func(o *s3.Options) { o.UsePathStyle = true }), a.Bucket)
	epoch, err := ledger.NextEpoch(t.Context(), name, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	forged := *listed
	forged.Epoch, forged.Seq, forged.AtUnix = epoch, 1, time.Now().Unix()
	for i := range forged.Classes {
		forged.Classes[i].UserData, forged.Classes[i].Tags = "#!/bin/sh\necho evil", map[string]string{"owner": "evil"}
	}
	for i := range forged.Pools {
		pool := &forged.Pools[i]
		pool.Limits, pool.Template.Requirements, pool.Template.Labels = nil, nil, map[string]string{"team": "evil"}
	}
	made := forged.Pools[0]
	made.Name, made.UID, made.Weight = "made-up", "made-up", 100
	made.Template.Requirements = []model.Requirement{{Key: model.LabelInstanceType, Operator: model.In, Values: []string{"m5.24xlarge"}}}
	forged.Pools = append(forged.Pools, made)
	data, err := wire.EncodeSnapshot(&forged)
	if err != nil {
		t.Fatal(err)
	}
	key, err := store.PutSnapshot(t.Context(), name, epoch, 1, data)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := ledger.AdvanceManifest(t.Context(), model.Manifest{
		Cluster: name, Epoch: epoch, SnapshotKey: key, SnapshotSeq: 1, HeadSeq: 1, WrittenUnix: now.Unix(), HeartbeatAt: now.Unix(),
	}); err != nil {
		t.Fatal(err)
	}

	// 2. The hint, and what a run makes of it.
	runs := len(r.attackersRuns())
	hint := wire.Hint{Cluster: name, Epoch: epoch, Seq: 1, Number: 1, Reason: wire.ReasonBatch, SentAtMillis: now.UnixMilli(), FirstSeenMillis: now.UnixMilli(), ClosedMillis: now.UnixMilli()}
	body, err := wire.EncodeHint(hint)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.send(t.Context(), watchersQueues[0], string(body), name, hint.DedupID()); err != nil {
		t.Fatal(err)
	}
	var believed *provision.Outcome
	await(t, time.Minute, "a run has read what was forged", func(context.Context) string {
		for _, run := range r.attackersRuns()[runs:] {
			if run.Source == "snapshot" && run.Pending == 2 {
				believed = &run
				return ""
			}
		}
		return fmt.Sprintf("%+v", r.attackersRuns()[runs:])
	})
	r.settle(t)
	said := strings.Join(believed.Corrected, "; ")
	for _, want := range []string{"NodePool default has other template", "NodePool made-up does not exist", "EC2NodeClass default has other tags, userData"} {
		if !strings.Contains(said, want) {
			t.Errorf("the outcome says %q, and nothing of %q: %+v", said, want, believed)
		}
	}
	if believed.Unschedulable != 2 {
		t.Errorf("the pods have a place: %+v", believed)
	}
	for _, run := range r.attackersRuns()[runs:] {
		if run.Claims != 0 || run.Failed != 0 {
			t.Errorf("launched by what was forged: %+v", run)
		}
	}
	for _, instance := range r.victim.running() {
		if instance.Tags["kubernetes.io/cluster/"+name] != "" {
			t.Errorf("machine %s, a %s, was launched for the attacker", instance.ID, instance.Type)
		}
	}
}
