package seam

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// What `joiner plan provision --output json` writes, as far as it is used.
type (
	plan struct {
		Claims        []claim      `json:"claims"`
		Nominations   []nomination `json:"nominations"`
		Unschedulable []refusal    `json:"unschedulable"`
	}
	claim struct {
		NodePool      string                                    `json:"nodePool"`
		InstanceTypes []string                                  `json:"instanceTypes"`
		Zones         []string                                  `json:"zones"`
		CapacityTypes []string                                  `json:"capacityTypes"`
		Requirements  []v1.NodeSelectorRequirementWithMinValues `json:"requirements"`
		Requests      map[corev1.ResourceName]resource.Quantity `json:"requests"`
		Labels        map[string]string                         `json:"labels"`
		Annotations   map[string]string                         `json:"annotations"`
		Taints        []corev1.Taint                            `json:"taints"`
		Pods          []string                                  `json:"pods"`
	}
	nomination struct {
		Node string   `json:"node"`
		Pods []string `json:"pods"`
	}
	refusal struct {
		Pod     string `json:"pod"`
		Reasons []struct {
			NodePool string `json:"nodePool"`
			Code     string `json:"code"`
			Message  string `json:"message"`
		} `json:"reasons"`
	}
)

// Schedule says what Joiner would do for the pods that wait, in the place of Provisioner.Schedule. The allocator made
// by build, nil where dynamic resources are off, then has to find devices for the plan.
func Schedule(ctx context.Context, w World, build Build) (scheduler.Results, error) {
	g := gather(ctx, w)
	var p plan
	must(json.Unmarshal([]byte(toTheirs.Replace(string(g.ask(ctx, w.Clock.Now(), "provision")))), &p))
	results := g.results(&p, w.Cluster)
	g.allocate(ctx, build, &results)
	admit(ctx, w.Client, results.NewNodeClaims)
	w.Cluster.MarkPodSchedulingDecisions(ctx, results.PodErrors, results.NodePoolToPodMapping(), results.ExistingNodeToPodMapping())
	scheduler.UnschedulablePodsCount.Set(float64(len(results.PodErrors)), map[string]string{scheduler.ControllerLabel: injection.GetControllerName(ctx)})
	results.Record(ctx, w.Recorder, w.Cluster)
	return results, nil
}

func (g *gathered) results(p *plan, cluster *state.Cluster) scheduler.Results {
	results := scheduler.Results{PodErrors: map[*corev1.Pod]error{}}
	for i := range p.Claims {
		results.NewNodeClaims = append(results.NewNodeClaims, g.newNodeClaim(&p.Claims[i]))
	}
	existing := map[string]*scheduler.ExistingNode{} // by name of the node and of the NodeClaim
	for _, n := range cluster.DeepCopyNodes().Active() {
		node := &scheduler.ExistingNode{StateNode: n}
		results.ExistingNodes = append(results.ExistingNodes, node)
		existing[n.Name()] = node
		if n.Node != nil {
			existing[n.Node.Name] = node
		}
		if n.NodeClaim != nil {
			existing[n.NodeClaim.Name] = node
		}
	}
	for _, n := range p.Nominations {
		node := existing[n.Node]
		if node == nil { // Karpenter's memory does not have it
			node = &scheduler.ExistingNode{StateNode: state.NewNode()}
			node.Node, node.NodeClaim = g.nodes[n.Node], g.claims[n.Node]
			results.ExistingNodes = append(results.ExistingNodes, node)
			existing[n.Node] = node
		}
		node.Pods = append(node.Pods, g.named(n.Pods)...)
	}
	for _, u := range p.Unschedulable {
		var reasons []string
		for _, r := range u.Reasons {
			reasons = append(reasons, strings.TrimPrefix(r.NodePool+": ", ": ")+r.Code+": "+r.Message+g.theirWords(r.NodePool, r.Code, r.Message))
		}
		results.PodErrors[g.named([]string{u.Pod})[0]] = errors.New(strings.Join(reasons, "; "))
	}
	return results
}

func (g *gathered) named(keys []string) []*corev1.Pod {
	return lo.Map(keys, func(key string, _ int) *corev1.Pod {
		pod := g.pods[key]
		if pod == nil {
			ginkgo.Fail("joiner's plan speaks of pod " + key + ", which is not there")
		}
		return pod
	})
}

// theirWords are what Karpenter says for a reason, where specs look for that; "" for any other.
func (g *gathered) theirWords(pool, code, message string) string {
	switch {
	case code == "NoInstanceTypes", code == "PoolInvalid" && strings.HasPrefix(message, "spec.template.spec.requirements: "):
		return " (nodepool requirements filtered out all available instance types)"
	case code == "MinValues" && g.pools[pool] != nil:
		var keys []string
		for _, r := range g.pools[pool].Spec.Template.Spec.Requirements {
			if r.MinValues != nil && !slices.Contains(keys, r.Key) {
				keys = append(keys, r.Key)
			}
		}
		slices.Sort(keys)
		return " (minValues requirement is not met for label(s) (label(s)=[" + strings.Join(keys, " ") + "]))"
	}
	return ""
}

// admit has the API server look at the claims of a plan. A spec takes one that is refused for one that was not planned, and may pass by it.
func admit(ctx context.Context, c client.Client, claims []*scheduler.NodeClaim) {
	for _, claim := range claims {
		template := claim.NodeClaimTemplate // what is made of it below is a copy's
		template.Requirements = maps.Clone(template.Requirements)
		if err := c.Create(ctx, template.ToNodeClaim(), client.DryRunAll); apierrors.IsInvalid(err) {
			ginkgo.Fail("joiner's plan has a claim that is refused: " + err.Error())
		}
	}
}

// newNodeClaim returns a planned claim as Karpenter's scheduler does, with what the plan still accepts.
func (g *gathered) newNodeClaim(c *claim) *scheduler.NodeClaim {
	pool := g.pools[c.NodePool]
	if pool == nil {
		ginkgo.Fail("joiner's plan speaks of NodePool " + c.NodePool + ", which is not there")
	}
	out := &scheduler.NodeClaim{NodeClaimTemplate: *scheduler.NewNodeClaimTemplate(pool), Pods: g.named(c.Pods)}
	requirements := slices.Clone(c.Requirements)
	for _, r := range requirements { // the plan's take the place of the pool's: a minValues may be lower
		delete(out.Requirements, r.Key)
	}
	for key, values := range map[string][]string{
		corev1.LabelInstanceTypeStable: c.InstanceTypes, corev1.LabelTopologyZone: c.Zones, v1.CapacityTypeLabelKey: c.CapacityTypes,
	} {
		requirements = append(requirements, v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values})
	}
	for key, value := range c.Labels {
		if !v1.WellKnownLabels.Has(key) {
			requirements = append(requirements, v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
		}
	}
	out.Requirements.Add(scheduling.NewNodeSelectorRequirementsWithMinValues(requirements...).Values()...)
	out.Labels = lo.Assign(out.Labels, c.Labels)
	out.Annotations = lo.Assign(out.Annotations, lo.OmitByKeys(c.Annotations, []string{v1.NodePoolHashAnnotationKey, v1.NodePoolHashVersionAnnotationKey}))
	out.Spec.Taints = c.Taints
	out.Spec.Resources.Requests = c.Requests
	byName := lo.KeyBy(g.types[c.NodePool], func(t *cloudprovider.InstanceType) string { return t.Name })
	out.InstanceTypeOptions = lo.FilterMap(c.InstanceTypes, func(name string, _ int) (*cloudprovider.InstanceType, bool) {
		t, ok := byName[name]
		return t, ok
	})
	return out
}
