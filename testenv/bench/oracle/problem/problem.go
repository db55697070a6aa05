package problem

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Now is the time of every problem, in Unix seconds.
const Now = 1_780_000_000

// Class is the name of the class all pools of a problem have.
const Class = "default"

// Problem is a cluster, the pods that wait in it, and what can be bought.
type Problem struct {
	Seed     uint64
	Size     Size
	Features []Feature // in use, in the order of Features

	Nodes      []*corev1.Node
	Pods       []*corev1.Pod // bound and waiting, daemons included
	DaemonSets []*appsv1.DaemonSet
	Namespaces []*corev1.Namespace
	Priorities []*schedulingv1.PriorityClass
	Claims     []*corev1.PersistentVolumeClaim
	Volumes    []*corev1.PersistentVolume
	Storage    []*storagev1.StorageClass
	CSINodes   []*storagev1.CSINode
	Budgets    []*policyv1.PodDisruptionBudget // of clusters of which nodes are given back
	Pools      []*apiv1.NodePool
	Catalog    []model.InstanceType

	NodeClaims []*apiv1.NodeClaim // of problems that were posed: what Nodes do not say of themselves yet
	Asked      Asked
}

// Size says how large a problem is.
type Size struct {
	Workloads, Replicas, Nodes int // the most there are
	Existing                   int // of a hundred problems, so many have nodes
}

// The sizes. Small ones have answers a person can check; Large ones are clusters as people have them; Crowded ones have
// many nodes to evaluate pods against.
var (
	Small   = Size{Workloads: 6, Replicas: 5, Nodes: 6, Existing: 70}
	Large   = Size{Workloads: 24, Replicas: 16, Nodes: 24, Existing: 80}
	Crowded = Size{Workloads: 8, Replicas: 5, Nodes: 14, Existing: 100}
)

// Feature is one of the things pods and nodes can ask for.
type Feature string

// The features.
const (
	Selectors    Feature = "selectors"    // node selectors, required node affinity
	Preferences  Feature = "preferences"  // preferred node and pod affinity, ScheduleAnyway
	Taints       Feature = "taints"       // of nodes and pools
	Affinity     Feature = "affinity"     // required pod affinity
	AntiAffinity Feature = "antiaffinity" // required pod anti-affinity
	Spread       Feature = "spread"       // DoNotSchedule
	Storage      Feature = "storage"
	Ports        Feature = "ports"
	Extended     Feature = "extended"   // GPUs and other devices
	Priority     Feature = "priority"   // priority classes
	Limits       Feature = "limits"     // of pools
	Daemons      Feature = "daemons"    // DaemonSets
	Namespaces   Feature = "namespaces" // more than one
	States       Feature = "states"     // nodes that are cordoned, drained, deleted or not ready
)

// Features are all of them.
var Features = []Feature{
	Selectors, Preferences, Taints, Affinity, AntiAffinity, Spread, Storage, Ports, Extended, Priority, Limits, Daemons, Namespaces, States,
}

// New returns the problem of a seed.
func New(seed uint64, size Size) *Problem {
	d := newDie(seed)
	return made(d, &Problem{Seed: seed, Size: size, Features: drawFeatures(d)})
}

// NewWith returns the problem of a seed that uses these features and no others.
func NewWith(seed uint64, size Size, features []Feature) *Problem {
	return made(newDie(seed), &Problem{Seed: seed, Size: size, Features: features})
}

func made(d die, p *Problem) *Problem {
	m := &maker{die: d, Problem: p}
	m.namespaces()
	m.priorities()
	m.storageClasses()
	m.catalog()
	m.pools()
	m.daemonSets()
	m.nodes()
	m.workloads()
	return p
}

// drawFeatures returns up to five features; half of all problems have three or fewer.
func drawFeatures(d die) []Feature {
	n := d.between(1, 5)
	chosen := d.Perm(len(Features))[:n]
	slices.Sort(chosen)
	out := make([]Feature, n)
	for i, at := range chosen {
		out[i] = Features[at]
	}
	return out
}

// Has reports whether the problem uses a feature.
func (p *Problem) Has(f Feature) bool { return slices.Contains(p.Features, f) }

// maker fills in a problem.
type maker struct {
	die
	*Problem
	room map[string]*room // left on each node
}

// Cluster returns the objects that a scheduler looks at.
func (p *Problem) Cluster() []runtime.Object {
	var out []runtime.Object
	out = objects(out, p.Namespaces)
	out = objects(out, p.Storage)
	out = objects(out, p.Volumes)
	out = objects(out, p.Claims)
	out = objects(out, p.CSINodes)
	out = objects(out, p.Nodes)
	return objects(out, p.Pods)
}

// Objects returns every object of the problem.
func (p *Problem) Objects() []runtime.Object {
	out := objects(objects(objects(p.Cluster(), p.DaemonSets), p.Priorities), p.Budgets)
	return objects(objects(out, p.Pools), p.NodeClaims)
}

func objects[T runtime.Object](out []runtime.Object, list []T) []runtime.Object {
	for _, o := range list {
		out = append(out, o)
	}
	return out
}

// Pending returns the pods that wait, in the order of Pods.
func (p *Problem) Pending() []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range p.Pods {
		if pod.Spec.NodeName == "" {
			out = append(out, pod)
		}
	}
	return out
}

// NowUnix is the time the planner is asked at, in Unix seconds.
func (p *Problem) NowUnix() int64 {
	if p.Asked.NowUnix != 0 {
		return p.Asked.NowUnix
	}
	return Now
}

// Input returns the problem as the planner takes it.
func (p *Problem) Input() pack.Input {
	b := translate.Builder{AbsentConditionIsPending: p.Asked.NowUnix != 0} // as manifests are read
	for _, o := range p.Objects() {
		b.Add(o.DeepCopyObject())
	}
	in := pack.Input{
		Snapshot: b.Snapshot("oracle", p.NowUnix()),
		Catalogs: map[string][]model.InstanceType{Class: p.Catalog},
		Usage:    make(map[string]model.Resources),
		Pending:  []int{}, // those that wait alone: pods of nodes that go away are not the scheduler's yet
		NowUnix:  p.NowUnix(),

		IgnorePreferences: p.Asked.IgnorePreferences, BestEffortMinValues: p.Asked.BestEffortMinValues,
	}
	for _, pool := range p.Pools {
		in.Catalogs[pool.Spec.Template.Spec.NodeClassRef.Name] = p.Catalog
	}
	for _, claim := range p.NodeClaims {
		in.Catalogs[claim.Spec.NodeClassRef.Name] = p.Catalog
		in.Claims = append(in.Claims, translate.Claim(claim))
	}
	for i := range in.Snapshot.Pods {
		if ok, _ := pack.Provisionable(in.Snapshot, i); ok {
			in.Pending = append(in.Pending, i)
		}
	}
	for i := range in.Snapshot.Nodes {
		node := &in.Snapshot.Nodes[i]
		if pool := node.Pool(); pool != "" {
			used := in.Usage[pool]
			if used == nil {
				used = make(model.Resources)
				in.Usage[pool] = used
			}
			used[model.Nodes]++
			for name, amount := range node.Capacity {
				used[name] += amount
			}
		}
	}
	return in
}
