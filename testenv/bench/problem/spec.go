package problem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// Spec names a problem.
type Spec struct {
	Family   string // one of Families
	Pods     int    // pending pods; none of a family of Clusters
	Types    int    // instance types to choose from; 0 = 400
	Nodes    int    // nodes that exist; only the families of Existing and Clusters have any
	Seed     uint64 // 0 = 1
	OnDemand bool   // the pool allows on-demand capacity only
}

// Families that start from no node, in the order they are reported.
var Families = []string{"bench", "benchfake", "diverse", "homogeneous", "spread", "gpu", "prefs"}

// Backlogs are the families that start from no node and hold more than one plan takes; see core/fairshare.
var Backlogs = []string{"backlog"}

// Existing are the families that start from nodes.
var Existing = []string{"existing", "existingfull", "existingspread"}

// Clusters are the families of running clusters in which nodes may be given back: of nodes and what runs on them.
var Clusters = []string{"underused", "packed", "guarded"}

func (s Spec) withDefaults() Spec {
	if s.Types == 0 {
		s.Types = 400
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	return s
}

// String returns the spec as a name, fit for a file or a benchmark.
func (s Spec) String() string {
	s = s.withDefaults()
	name := fmt.Sprintf("%s-p%d-t%d", s.Family, s.Pods, s.Types)
	if s.Nodes > 0 {
		name += fmt.Sprintf("-n%d", s.Nodes)
	}
	if s.OnDemand {
		name += "-od"
	}
	return fmt.Sprintf("%s-s%d", name, s.Seed)
}

// Validate says what is wrong with the spec.
func (s Spec) Validate() error {
	s = s.withDefaults()
	known := slices.Concat(Families, Backlogs, Existing, Clusters)
	switch {
	case !slices.Contains(known, s.Family):
		return fmt.Errorf("family %q is none of %s", s.Family, strings.Join(known, ", "))
	case s.Pods < 0 || s.Nodes < 0:
		return fmt.Errorf("%s: %d pods and %d nodes: neither may be below 0", s.Family, s.Pods, s.Nodes)
	case s.Family != "benchfake" && s.Types > len(instanceNames()):
		return fmt.Errorf("%s: %d instance types wanted, the catalogue has %d", s.Family, s.Types, len(instanceNames()))
	case s.Nodes > 0 && slices.Contains(slices.Concat(Families, Backlogs), s.Family):
		return fmt.Errorf("%s starts from no node; one of %s does", s.Family, strings.Join(slices.Concat(Existing, Clusters), ", "))
	case s.Pods > 0 && slices.Contains(Clusters, s.Family):
		return fmt.Errorf("%s has no pods that wait; one of %s has", s.Family, strings.Join(slices.Concat(Families, Existing), ", "))
	}
	return nil
}

// Problem is a cluster and its catalog.
type Problem struct {
	Spec       Spec
	Types      []model.InstanceType // by name
	Pools      []*apiv1.NodePool
	DaemonSets []*appsv1.DaemonSet
	Budgets    []*policyv1.PodDisruptionBudget
	Nodes      []*corev1.Node
	Bound      []*corev1.Pod // that run on Nodes, daemons' pods included
	Pods       []*corev1.Pod // that wait
}

// New makes the problem the spec names.
func New(spec Spec) (*Problem, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	p := &Problem{Spec: spec.withDefaults(), Types: spec.Catalog()}
	spec.Each(func(object any) {
		switch o := object.(type) {
		case *apiv1.NodePool:
			p.Pools = append(p.Pools, o)
		case *appsv1.DaemonSet:
			p.DaemonSets = append(p.DaemonSets, o)
		case *policyv1.PodDisruptionBudget:
			p.Budgets = append(p.Budgets, o)
		case *corev1.Node:
			p.Nodes = append(p.Nodes, o)
		case *corev1.Pod:
			if o.Spec.NodeName == "" {
				p.Pods = append(p.Pods, o)
			} else {
				p.Bound = append(p.Bound, o)
			}
		}
	})
	return p, nil
}

// Each calls emit with the problem's Kubernetes objects one after another, so that a large problem need not be held as
// objects. The spec must be valid.
func (s Spec) Each(emit func(object any)) {
	s = s.withDefaults()
	g := &generator{spec: s, emit: emit, random: rand.New(rand.NewPCG(s.Seed, 0x6a6f696e6572))}
	if s.Family == "guarded" {
		g.guardedPools()
	} else {
		emit(g.pool())
	}
	if g.hasDaemons() {
		for _, d := range daemons {
			set := d.set()
			g.daemonSets = append(g.daemonSets, set)
			emit(set)
		}
	}
	switch s.Family {
	case "existing", "existingspread":
		g.nodes(filling{low: 0.40, high: 0.80, capacityTypes: []string{model.Spot, model.OnDemand}})
	case "existingfull":
		g.nodes(filling{low: 0.90, high: 0.97, capacityTypes: []string{model.Spot, model.OnDemand}})
	case "underused":
		g.nodes(filling{low: 0.30, high: 0.50, capacityTypes: []string{model.OnDemand}})
	case "guarded":
		g.nodes(filling{low: 0.05, high: 0.60, capacityTypes: []string{model.Spot, model.OnDemand}, empty: 0.15})
	case "packed":
		g.nodes(filling{low: 0.99, high: 1, capacityTypes: []string{model.Spot}, misses: 60})
	}
	g.pods()
}

// Catalog returns the instance types of the spec, by name.
func (s Spec) Catalog() []model.InstanceType {
	s = s.withDefaults()
	if s.Family == "benchfake" {
		return arithmetic(s.Types)
	}
	return instances(s.Types)
}
