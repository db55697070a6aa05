package v1

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/api/condition"
)

func hashedPool() *NodePool {
	hours := 720 * time.Hour
	return newPool(func(t *NodeClaimTemplate) {
		t.Metadata.Labels = map[string]string{"team": "a"}
		t.Metadata.Annotations = map[string]string{"note": "b"}
		t.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Effect: corev1.TaintEffectNoExecute}}
		t.Spec.StartupTaints = []corev1.Taint{{Key: "c", Effect: corev1.TaintEffectNoSchedule}}
		t.Spec.ExpireAfter = NewNillableDuration(&hours)
		t.Spec.TerminationGracePeriod = ptr(NewDuration(time.Hour))
	})
}

func TestPoolHashChangesWithTheTemplateOnly(t *testing.T) {
	taints := func(p *NodePool) []corev1.Taint { return p.Spec.Template.Spec.Taints }
	tests := []struct {
		name    string
		change  func(*NodePool)
		drifted bool
	}{
		{"label", func(p *NodePool) { p.Spec.Template.Metadata.Labels["team"] = "b" }, true},
		{"annotation", func(p *NodePool) { p.Spec.Template.Metadata.Annotations["note"] = "c" }, true},
		{"taint", func(p *NodePool) { taints(p)[0].Value = "x" }, true},
		{"taint becomes startup taint", func(p *NodePool) {
			p.Spec.Template.Spec.StartupTaints = append(p.Spec.Template.Spec.StartupTaints, taints(p)[0])
			p.Spec.Template.Spec.Taints = taints(p)[1:]
		}, true},
		{"class", func(p *NodePool) { p.Spec.Template.Spec.NodeClassRef.Name = "other" }, true},
		{"expiry", func(p *NodePool) { p.Spec.Template.Spec.ExpireAfter = NewNillableDuration(nil) }, true},
		{"grace period", func(p *NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = nil }, true},
		{"grace period of nothing", func(p *NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = ptr(NewDuration(0)) }, true},

		{"text of a duration", func(p *NodePool) { p.Spec.Template.Spec.TerminationGracePeriod.text = "60m" }, false},
		{"order of taints", func(p *NodePool) { taints(p)[0], taints(p)[1] = taints(p)[1], taints(p)[0] }, false},
		{"time of a taint", func(p *NodePool) { taints(p)[0].TimeAdded = &metav1.Time{Time: time.Unix(1, 0)} }, false},
		{"requirements", func(p *NodePool) {
			p.Spec.Template.Spec.Requirements = []Requirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}
		}, false},
		{"budgets", func(p *NodePool) { p.Spec.Disruption.Budgets = []Budget{{Nodes: "0"}} }, false},
		{"weight", func(p *NodePool) { p.Spec.Weight = ptr(int32(5)) }, false},
		{"limits", func(p *NodePool) { p.Spec.Limits = corev1.ResourceList{} }, false},
		{"replicas", func(p *NodePool) { p.Spec.Replicas = ptr(int64(5)) }, false},
	}
	before := hashedPool().Hash()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := hashedPool()
			tt.change(pool)
			if after := pool.Hash(); (after != before) != tt.drifted {
				t.Errorf("hash %s, before %s; want a change: %v", after, before, tt.drifted)
			}
		})
	}
}

// Hashes are stored in clusters: this one may change only together with NodePoolHashVersion.
func TestPoolHashOfThisVersionStays(t *testing.T) {
	const want = "8447664171848252880"
	if got := hashedPool().Hash(); got != want || NodePoolHashVersion != "joiner-v1" {
		t.Errorf("hash %s of version %s, want %s of joiner-v1", got, NodePoolHashVersion, want)
	}
}

func TestCopiesAreDeep(t *testing.T) {
	pool := hashedPool()
	pool.Spec.Disruption.Budgets = []Budget{{Duration: ptr(NewDuration(time.Hour))}}
	before := pool.Hash()
	other := pool.DeepCopy()
	*other.Spec.Template.Spec.ExpireAfter.Duration = 0
	other.Spec.Template.Metadata.Labels["team"] = "z"
	other.Spec.Disruption.Budgets[0].Duration.Duration = 0
	if pool.Hash() != before || pool.Spec.Disruption.Budgets[0].Duration.Duration != time.Hour {
		t.Error("a change of the copy is seen in the original")
	}
}

func TestKindsAreKnownToASchemeAndHaveReadiness(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for kind, types := range map[string]condition.Types{KindNodePool: NodePoolConditions, KindNodeClaim: NodeClaimConditions} {
		value, err := scheme.New(GroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		object, ok := value.(condition.Object)
		if !ok {
			t.Fatalf("%T has no conditions", value)
		}
		set := types.For(object, now)
		for _, dependent := range types.Dependents {
			if set.IsTrue(condition.Ready) {
				t.Errorf("%s is ready before %s is", kind, dependent)
			}
			set.SetTrue(dependent)
		}
		if !set.IsTrue(condition.Ready) {
			t.Errorf("%s is not ready although all of %v are true", kind, types.Dependents)
		}
	}
}
