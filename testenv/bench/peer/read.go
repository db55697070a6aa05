package main

import (
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// cluster is what there is, as Karpenter sees it.
type cluster struct {
	pools   []*karpv1.NodePool
	daemons []*appsv1.DaemonSet
	budgets []*policyv1.PodDisruptionBudget
	nodes   []*corev1.Node
	claims  []*karpv1.NodeClaim // of nodes, by the same index
	bound   []*corev1.Pod
	waiting []*corev1.Pod

	launched int // nodes so far, by decisions that were carried out
}

func (c *cluster) objects() []client.Object {
	var out []client.Object
	for _, o := range c.pools {
		out = append(out, o)
	}
	for _, o := range c.daemons {
		out = append(out, o)
	}
	for _, o := range c.budgets {
		out = append(out, o)
	}
	for i := range c.nodes {
		out = append(out, c.nodes[i], c.claims[i])
	}
	for _, o := range c.bound {
		out = append(out, o)
	}
	for _, o := range c.waiting {
		out = append(out, o)
	}
	return out
}

// readCluster reads one List in JSON.
func readCluster(path string) (*cluster, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &cluster{}
	for i, item := range list.Items {
		if err := c.add(item); err != nil {
			return nil, fmt.Errorf("%s: item %d: %w", path, i, err)
		}
	}
	return c, nil
}

func (c *cluster) add(item json.RawMessage) error {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(item, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "NodePool":
		pool := &karpv1.NodePool{}
		if err := json.Unmarshal(item, pool); err != nil {
			return err
		}
		pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}
		pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
		pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
		c.pools = append(c.pools, pool)
	case "DaemonSet":
		set := &appsv1.DaemonSet{}
		if err := json.Unmarshal(item, set); err != nil {
			return err
		}
		c.daemons = append(c.daemons, set)
	case "PodDisruptionBudget":
		budget := &policyv1.PodDisruptionBudget{}
		if err := json.Unmarshal(item, budget); err != nil {
			return err
		}
		c.budgets = append(c.budgets, budget)
	case "Node":
		node := &corev1.Node{}
		if err := json.Unmarshal(item, node); err != nil {
			return err
		}
		c.nodes, c.claims = append(c.nodes, node), append(c.claims, claimOf(node))
	case "Pod":
		pod := &corev1.Pod{}
		if err := json.Unmarshal(item, pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			c.waiting = append(c.waiting, pod)
		} else {
			c.bound = append(c.bound, pod)
		}
	default:
		return fmt.Errorf("kind %q is not one of problems", meta.Kind)
	}
	return nil
}

// claimOf returns the NodeClaim a node of a pool has once it is initialized and its pods have been left alone for long.
func claimOf(node *corev1.Node) *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "claim-" + node.Name, UID: types.UID("claim-" + node.Name), Labels: node.Labels, CreationTimestamp: node.CreationTimestamp},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"},
			Taints: node.Spec.Taints},
		Status: karpv1.NodeClaimStatus{NodeName: node.Name, ProviderID: node.Spec.ProviderID, Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
	}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(condition)
	}
	return claim
}

// catalog is the file's form.
type catalog struct {
	InstanceTypes []struct {
		Name      string            `json:"name"`
		Capacity  map[string]string `json:"capacity"`
		Overhead  map[string]string `json:"overhead"`
		Labels    map[string]string `json:"labels"`
		Offerings []struct {
			Zone         string  `json:"zone"`
			CapacityType string  `json:"capacityType"`
			PricePerHour float64 `json:"pricePerHour"`
			Available    bool    `json:"available"`
		} `json:"offers"`
	} `json:"instanceTypes"`
}

// readCatalog returns the instance types of a catalog file. Every label key in it becomes well known, as a provider's
// own are.
func readCatalog(path string) ([]*cloudprovider.InstanceType, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file catalog
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	keys := sets.New[string]()
	for _, t := range file.InstanceTypes {
		for key := range t.Labels {
			keys.Insert(key)
		}
	}
	karpv1.WellKnownLabels = karpv1.WellKnownLabels.Union(keys)
	var out []*cloudprovider.InstanceType
	for i := range file.InstanceTypes {
		t := &file.InstanceTypes[i]
		made := &cloudprovider.InstanceType{Name: t.Name}
		zones, capacityTypes := sets.New[string](), sets.New[string]()
		for _, o := range t.Offerings {
			made.Offerings = append(made.Offerings, &cloudprovider.Offering{Available: o.Available, Price: o.PricePerHour,
				Requirements: scheduling.NewLabelRequirements(map[string]string{karpv1.CapacityTypeLabelKey: o.CapacityType, corev1.LabelTopologyZone: o.Zone})})
			if o.Available {
				zones.Insert(o.Zone)
				capacityTypes.Insert(o.CapacityType)
			}
		}
		made.Requirements = scheduling.NewRequirements(
			scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, sets.List(zones)...),
			scheduling.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, sets.List(capacityTypes)...))
		for key := range keys {
			if value, has := t.Labels[key]; has {
				made.Requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value))
			} else {
				made.Requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
			}
		}
		if made.Capacity, err = amounts(t.Capacity); err != nil {
			return nil, fmt.Errorf("%s: %s: capacity: %w", path, t.Name, err)
		}
		overhead, err := amounts(t.Overhead)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: overhead: %w", path, t.Name, err)
		}
		made.Overhead = &cloudprovider.InstanceTypeOverhead{KubeReserved: overhead}
		out = append(out, made)
	}
	return out, nil
}

func amounts(in map[string]string) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for name, text := range in {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, text, err)
		}
		out[corev1.ResourceName(name)] = amount
	}
	return out, nil
}
