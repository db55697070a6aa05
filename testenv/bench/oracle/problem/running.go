package problem

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// Settled is how large clusters are of which nodes are given back: many nodes for their pods.
var Settled = Size{Workloads: 8, Replicas: 5, Nodes: 14, Existing: 100}

// Settle makes the problem one of giving nodes back, once no pod waits any more: what pools say of that, PodDisruptionBudgets
// of some workloads, and pods and nodes that are to be left alone.
func (p *Problem) Settle() {
	d := die{rand.New(rand.NewPCG(p.Seed, 4))}
	for _, pool := range p.Pools {
		none := time.Duration(0)
		pool.Spec.Disruption = apiv1.Disruption{ConsolidateAfter: apiv1.NewNillableDuration(&none), ConsolidationPolicy: apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
			Budgets: []apiv1.Budget{{Nodes: pick(d, "100%", "100%", "100%", "50%", "1")}}}
		pool.Spec.Template.Spec.ExpireAfter = apiv1.NewNillableDuration(nil)
	}
	seen := map[string]bool{}
	for _, pod := range p.Pods {
		owner := pod.OwnerReferences[0]
		if owner.Kind == "DaemonSet" {
			continue
		}
		if d.chance(3) {
			pod.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}
		if name := pod.Namespace + "-" + owner.Name; !seen[name] {
			seen[name] = true
			if d.chance(15) {
				p.budget(pod, name, pick(d, int32(0), 1, 3))
			}
		}
	}
	for _, node := range p.Nodes {
		if d.chance(5) {
			node.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}
	}
}

// budget makes one for the pods with all labels of the pod.
func (p *Problem) budget(pod *corev1.Pod, name string, allowed int32) {
	most := intstr.FromInt32(max(1, allowed))
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta(pod.Namespace, name), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most,
		Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}}}
	b.Status.DisruptionsAllowed = allowed
	p.Budgets = append(p.Budgets, b)
}

// Running returns the problem as the disruption function of what to give back takes it: nodes of pools have claims that came up long ago,
// and in one problem of three some have drifted.
func (p *Problem) Running() disruption.Input {
	in := p.Input()
	d := die{rand.New(rand.NewPCG(p.Seed, 5))}
	out := disruption.Input{Snapshot: in.Snapshot, Catalogs: in.Catalogs, Usage: in.Usage, NowUnix: in.NowUnix}
	drifted := 0
	if p.Seed%3 == 0 {
		drifted = 30
	}
	for i := range out.Snapshot.Nodes {
		node := &out.Snapshot.Nodes[i]
		if node.Pool() == "" {
			continue
		}
		claim := p.claim(node)
		if d.chance(drifted) {
			claim.Drift, claim.DriftUnix = "NodePoolDrift", Now-600+int64(i)
		}
		out.Claims = append(out.Claims, claim)
		out.Snapshot.Claims = append(out.Snapshot.Claims, model.Object{Name: claim.Name, UID: claim.ObjectUID})
	}
	slices.SortFunc(out.Snapshot.Claims, func(a, b model.Object) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (p *Problem) claim(node *model.Node) model.Claim {
	claim := model.Claim{
		Name: "claim-" + node.Name, Pool: node.Pool(), PoolUID: "uid-" + node.Pool(), Class: Class, State: model.Initialized, Version: 5, Intent: "intent-" + node.Name,
		InstanceID: "i-" + node.Name, ProviderID: node.ProviderID, InstanceType: node.Labels[model.LabelInstanceType], Zone: node.Labels[model.LabelZone],
		CapacityType: node.Labels[model.LabelCapacityType], Capacity: node.Capacity, Allocatable: node.Allocatable, NodeName: node.Name, NodeUID: node.UID,
		CreatedUnix: node.CreatedUnix, LaunchedUnix: node.CreatedUnix, RegisteredUnix: node.CreatedUnix, InitializedUnix: node.CreatedUnix, ObjectUID: "object-" + node.Name,
	}
	if !node.Initialized() {
		claim.State, claim.InitializedUnix = model.Registered, 0
	}
	if t, err := p.Type(claim.InstanceType); err == nil {
		for _, o := range t.Offerings {
			if o.Zone == claim.Zone && o.CapacityType == claim.CapacityType {
				claim.Price = o.Price
			}
		}
	}
	claim.Reserved = model.Resources{model.Nodes: 1}
	for name, amount := range node.Capacity {
		claim.Reserved[name] = amount
	}
	return claim
}

// Stored reports whether every volume the pod has exists: then where it may be made anew is known.
func (p *Problem) Stored(pod *corev1.Pod) bool {
	for _, volume := range pod.Spec.Volumes {
		if volume.Ephemeral != nil {
			return false
		}
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		i := slices.IndexFunc(p.Claims, func(c *corev1.PersistentVolumeClaim) bool {
			return c.Namespace == pod.Namespace && c.Name == volume.PersistentVolumeClaim.ClaimName
		})
		if i < 0 || p.Claims[i].Status.Phase != corev1.ClaimBound {
			return false
		}
	}
	return true
}
