package problem

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

func written(t *testing.T, spec Spec) string {
	t.Helper()
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.WriteCluster(&out); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteCatalog(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSameSpecGivesTheSameProblemAndAnotherSeedAnother(t *testing.T) {
	for _, family := range slices.Concat(Families, Existing, Clusters) {
		spec := Spec{Family: family, Pods: 60, Types: 50}
		if slices.Contains(Clusters, family) {
			spec.Pods, spec.Nodes = 0, 5
		}
		if slices.Contains(Existing, family) {
			spec.Nodes = 5
		}
		first := written(t, spec)
		if written(t, spec) != first {
			t.Errorf("%s differs from one time to the next", spec)
		}
		spec.Seed = 2
		if family != "prefs" && written(t, spec) == first {
			t.Errorf("%s is the same with another seed", spec)
		}
	}
}

func TestEveryFamilyHasThePodsAndNodesAskedFor(t *testing.T) {
	for _, family := range slices.Concat(Families, Existing, Clusters) {
		spec := Spec{Family: family, Pods: 103, Types: 50}
		if slices.Contains(Clusters, family) {
			spec.Pods, spec.Nodes = 0, 7
		}
		if slices.Contains(Existing, family) {
			spec.Nodes = 7
		}
		p, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Pods) != spec.Pods || len(p.Nodes) != spec.Nodes || len(p.Types) != spec.Types {
			t.Errorf("%s has %d pods, %d nodes, %d types", spec, len(p.Pods), len(p.Nodes), len(p.Types))
		}
		in := p.Input()
		waiting := 0
		for i := range in.Snapshot.Pods {
			if ok, _ := pack.Provisionable(in.Snapshot, i); ok {
				waiting++
			}
		}
		if waiting != spec.Pods {
			t.Errorf("%s: the planner sees %d waiting pods, want %d", spec, waiting, spec.Pods)
		}
		for i := range in.Snapshot.Pools {
			if invalid := in.Snapshot.Pools[i].Invalid; len(invalid) > 0 {
				t.Errorf("%s: the pool is invalid: %v", spec, invalid)
			}
		}
		if len(spec.Input().Snapshot.Pods) != len(in.Snapshot.Pods) {
			t.Errorf("%s: read one by one, it has %d pods, want %d", spec, len(spec.Input().Snapshot.Pods), len(in.Snapshot.Pods))
		}
	}
}

// TestMixHasFiveKindsInEqualParts guards the make-up of bench: a fifth each of five kinds.
func TestMixHasFiveKindsInEqualParts(t *testing.T) {
	p, err := New(Spec{Family: "bench", Pods: 500})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, pod := range p.Pods {
		a := pod.Spec.Affinity
		switch {
		case len(pod.Spec.TopologySpreadConstraints) == 1:
			kinds[pod.Spec.TopologySpreadConstraints[0].TopologyKey]++
		case a != nil && a.PodAffinity != nil:
			kinds["near"]++
		case a != nil && a.PodAntiAffinity != nil:
			kinds["alone"]++
		default:
			kinds["plain"]++
		}
	}
	for _, kind := range []string{model.LabelZone, model.LabelHostname, "near", "alone", "plain"} {
		if kinds[kind] != 100 {
			t.Errorf("%d pods are %s, want 100 of 500", kinds[kind], kind)
		}
	}
}

func TestNodesAreAsFullAsTheFamilySaysAndNeverOver(t *testing.T) {
	for family, want := range map[string][2]float64{"existing": {0.35, 0.8}, "existingfull": {0.6, 0.97}, "underused": {0.25, 0.5}, "packed": {0.8, 1}} {
		p, err := New(Spec{Family: family, Nodes: 100, Types: 400})
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]corev1.ResourceList{}
		for _, pod := range p.Bound {
			list := used[pod.Spec.NodeName]
			if list == nil {
				list = corev1.ResourceList{}
				used[pod.Spec.NodeName] = list
			}
			for name, amount := range pod.Spec.Containers[0].Resources.Requests {
				sum := list[name]
				sum.Add(amount)
				list[name] = sum
			}
		}
		share := 0.0
		for _, node := range p.Nodes {
			list := used[node.Name]
			if list.Cpu().Cmp(*node.Status.Allocatable.Cpu()) > 0 || list.Memory().Cmp(*node.Status.Allocatable.Memory()) > 0 {
				t.Errorf("%s: %s has %v of %v", family, node.Name, list, node.Status.Allocatable)
			}
			share += list.Cpu().AsApproximateFloat64() / node.Status.Allocatable.Cpu().AsApproximateFloat64() / float64(len(p.Nodes))
		}
		if share < want[0] || share > want[1] {
			t.Errorf("%s: %.2f of the CPU is taken, want %v", family, share, want)
		}
	}
}

func TestCatalogHasThePricesOfALargeCloud(t *testing.T) {
	types := Spec{Family: "diverse", Types: 800}.Catalog()
	if len(types) != 800 {
		t.Fatalf("%d types", len(types))
	}
	offerings, sold := 0, 0
	for _, x := range types {
		onDemand := map[string]model.MicroUSD{}
		for _, o := range x.Offerings {
			if o.CapacityType == model.OnDemand {
				onDemand[o.Zone] = o.Price
			}
		}
		for _, o := range x.Offerings {
			if o.CapacityType != model.Spot {
				continue
			}
			offerings++
			if o.Available {
				sold++
			}
			if share := float64(o.Price) / float64(onDemand[o.Zone]); share < 0.249 || share > 0.601 {
				t.Errorf("%s in %s is %.2f of its price on demand as spot", x.Name, o.Zone, share)
			}
		}
	}
	if share := float64(sold) / float64(offerings); share < 0.92 || share > 0.98 {
		t.Errorf("%.3f of the spot offers have capacity, want about 0.95", share)
	}
}

func TestCatalogFileNamesNothingTheOfferingDecides(t *testing.T) {
	p, err := New(Spec{Family: "gpu", Types: 100})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.WriteCatalog(&out); err != nil {
		t.Fatal(err)
	}
	var file Catalog
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	for _, x := range file.InstanceTypes {
		if x.Labels[model.LabelZone] != "" || x.Labels[model.LabelCapacityType] != "" || x.Labels[model.LabelInstanceType] != x.Name {
			t.Fatalf("%s has labels %v", x.Name, x.Labels)
		}
	}
}

func TestSpecsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, spec := range map[string]Spec{
		"an unknown family":             {Family: "other"},
		"pods below zero":               {Family: "bench", Pods: -1},
		"more types than there are":     {Family: "bench", Types: 100_000},
		"nodes of an empty cluster's":   {Family: "bench", Nodes: 3},
		"pods that wait of a cluster's": {Family: "packed", Pods: 3, Nodes: 3},
	} {
		if _, err := New(spec); err == nil {
			t.Errorf("%s is accepted: %+v", name, spec)
		}
	}
}
