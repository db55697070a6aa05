package ekscluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// K7: a NodeClaim whose quantities are spelled otherwise when they are written again (1024Mi is 1Gi) is released all the same: what
// is written is the finalizers alone, and a condition on the version that was read.
func TestK7ANodeClaimWhoseQuantitiesChangeWhenReadIsLetGo(t *testing.T) {
	const stored = `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"web-1","uid":"u-1","resourceVersion":"7","generation":2,
		"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["example.com/a","karpenter.sh/termination"]},
		"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[],
		"resources":{"requests":{"memory":"1024Mi","cpu":"1000m"}}},"status":{"capacity":{"memory":"2048Mi"}}}`
	var mu sync.Mutex
	var patches []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			patches = append(patches, r.URL.Path+" "+string(body))
			mu.Unlock()
		}
		_, _ = io.WriteString(w, stored)
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL}, "prod", "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Free(t.Context(), apiv1.KindNodeClaim, model.Object{Name: "web-1", UID: "u-1"}); err != nil {
		t.Fatal(err)
	}
	if len(patches) != 1 {
		t.Fatalf("%d patches: %v", len(patches), patches)
	}
	var patch map[string]map[string]any
	_, body, _ := strings.Cut(patches[0], " ")
	if err := json.Unmarshal([]byte(body), &patch); err != nil {
		t.Fatal(err)
	}
	meta := patch["metadata"]
	left, _ := meta["finalizers"].([]any)
	if len(patch) != 1 || len(meta) != 3 || len(left) != 1 || left[0] != "example.com/a" || meta["uid"] != "u-1" || meta["resourceVersion"] != "7" {
		t.Errorf("%s", patches[0])
	}
}

// K8: while a NodeClaim is finalized its conditions are of its latest generation: its deletion is one, and so is every edit after.
func TestK8ConditionsCarryTheLatestGenerationWhileAClaimIsFinalized(t *testing.T) {
	claim := model.Claim{
		Name: "web-1", State: model.Initialized, LaunchedUnix: 100, RegisteredUnix: 130, InitializedUnix: 140, NodeName: "n", ProviderID: "aws:///a/i-1",
	}
	object := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Generation: 1}}
	showState(object, &claim)
	claim.State, claim.FailureCode, claim.FailureMessage = model.Draining, model.EndedExpired, "it is older than 720h"
	for _, step := range []struct {
		generation int64
		drain      model.Drain
		of         []string
	}{
		{2, model.Drain{SinceUnix: 200, Waits: []string{"pod a"}}, []string{apiv1.ConditionDrained, apiv1.ConditionDisruptionReason}},
		{3, model.Drain{SinceUnix: 200, Waits: []string{"pod a"}}, []string{apiv1.ConditionDrained, apiv1.ConditionDisruptionReason}},
		{4, model.Drain{SinceUnix: 200, EmptyUnix: 210}, []string{apiv1.ConditionDrained, apiv1.ConditionVolumesDetached}},
		{5, model.Drain{SinceUnix: 200, EmptyUnix: 210, DetachedUnix: 220, EndUnix: 221},
			[]string{apiv1.ConditionDrained, apiv1.ConditionVolumesDetached, apiv1.ConditionInstanceTerminating, apiv1.ConditionDisruptionReason}},
	} {
		object.Generation, claim.Drain = step.generation, &step.drain
		showEnd(object, &claim)
		have := map[string]int64{}
		for _, c := range object.Status.Conditions {
			have[c.Type] = c.ObservedGeneration
		}
		for _, kind := range step.of {
			if have[kind] != step.generation {
				t.Errorf("%s is of generation %d, want %d", kind, have[kind], step.generation)
			}
		}
	}
}
