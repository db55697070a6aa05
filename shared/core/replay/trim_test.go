package replay

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// uid is some number's UID: as random as real ones, so that it does not compress better.
func uid(n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d", n))
	return hex.EncodeToString(sum[:16])
}

// testCluster is a cluster of nodes that all joined, each with 20 pods where they were planned.
func testCluster(nodes int) (*model.Snapshot, []model.Claim) {
	snapshot := &model.Snapshot{Shapes: []model.PodShape{{Namespace: "shop"}}}
	var types []string
	for i := range 60 {
		types = append(types, fmt.Sprintf("m%d.%dxlarge", i%8, i))
	}
	var claims []model.Claim
	for i := range nodes {
		name, id := fmt.Sprintf("ip-10-%d-%d.ec2.internal", i/256, i%256), "aws:///us-west-2a/i-0"+uid(i)[:16]
		snapshot.Nodes = append(snapshot.Nodes, model.Node{Name: name, ProviderID: id, Labels: map[string]string{model.LabelInitialized: "true"}})
		claim := model.Claim{
			Name: "default-" + uid(i)[:5], Pool: "default", Class: "default", State: model.Initialized, Intent: uid(i), ProviderID: id, NodeName: name,
			InstanceID: id[20:], InstanceType: types[i%60], Zone: "us-west-2a", CapacityType: model.Spot, Price: model.MicroUSD(40_000 + i),
			Requirements:  []model.Requirement{{Key: model.LabelInstanceType, Operator: model.In, Values: types}},
			InstanceTypes: types, Labels: map[string]string{"team": "blue"}, Allocatable: model.Resources{model.CPU: 4000, model.Memory: 1 << 34},
			CreatedUnix: int64(1_700_000_000 + 97*i), InitializedUnix: int64(1_700_000_060 + 97*i),
		}
		for p := range 20 {
			ref := model.PodRef{Namespace: "shop", Name: "web-" + uid(1_000_000 + 20*i + p)[:10], UID: uid(1_000_000 + 20*i + p)}
			claim.Pods = append(claim.Pods, ref)
			snapshot.Pods = append(snapshot.Pods, model.Pod{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID, NodeName: name})
		}
		claims = append(claims, claim)
	}
	return snapshot, claims
}

func packed(t *testing.T, v any) int {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := json.NewEncoder(zip).Encode(v); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// What is kept of a question is small beside the cluster it is of: docs/architecture/records.md names these figures.
func TestQuestionsAreSmall(t *testing.T) {
	const mostPerNode = 100 // bytes
	for _, nodes := range []int{10, 100, 1000, 5000} {
		snapshot, claims := testCluster(nodes)
		input := packed(t, Trim(&model.PlannerInput{Claims: claims}, snapshot, nil))
		disruptInputs := packed(t, TrimDisruption(&model.DisruptionInput{Claims: claims}, snapshot))
		whole := packed(t, claims)
		t.Logf("%5d nodes: %7d bytes to provision, %7d to judge; %7d untrimmed", nodes, input, disruptInputs, whole)
		if input > 1000+mostPerNode*nodes || disruptInputs > 1000+mostPerNode*nodes {
			t.Errorf("of %d nodes %d and %d bytes are kept, more than %d for each", nodes, input, disruptInputs, mostPerNode)
		}
	}
}

// Pods that have yet to come to a claim stay in what is kept.
func TestTrimKeepsPromises(t *testing.T) {
	snapshot, claims := testCluster(2)
	claims[0].Pods = append(claims[0].Pods, model.PodRef{Namespace: "shop", Name: "late", UID: "late"}, model.PodRef{Namespace: "shop", Name: "gone", UID: "gone"})
	snapshot.Pods = append(snapshot.Pods, model.Pod{Namespace: "shop", Name: "late", UID: "late"})
	kept := Trim(&model.PlannerInput{Claims: claims}, snapshot, []int{len(snapshot.Pods) - 1}).Claims
	if len(kept[0].Pods) != 1 || kept[0].Pods[0].UID != "late" || len(kept[1].Pods) != 0 || len(claims[0].Pods) != 22 {
		t.Errorf("%+v", kept)
	}
	snapshot.Pods[0].NodeName = claims[1].NodeName // it runs elsewhere than it was planned
	evaluated := TrimDisruption(&model.DisruptionInput{Claims: claims}, snapshot).Claims
	if len(evaluated[0].Pods) != 2 || evaluated[0].Pods[0].UID != snapshot.Pods[0].UID {
		t.Errorf("%+v", evaluated[0].Pods)
	}
}
