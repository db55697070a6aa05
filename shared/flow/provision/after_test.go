package provision_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func effectsOf(t *testing.T, w *world.World, trigger string) []string {
	t.Helper()
	process := w.Process(world.Fault{})
	if _, err := process.Run(t.Context(), trigger); err != nil {
		t.Fatal(err)
	}
	return process.Effects()
}

func count(effects []string, what string) (n int) {
	for _, effect := range effects {
		if effect == what {
			n++
		}
	}
	return n
}

func TestCT02InstancesAreTaggedOnceTheyHaveJoined(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 2, world.Shape(1900, gib))
	pass(t, w, provision.TriggerBatch)
	for _, m := range w.Fleet.Instances() {
		if m.Tags["Name"] != "" || m.Tags["karpenter.sh/nodeclaim"] != "" {
			t.Errorf("tags at launch %v", m.Tags)
		}
	}
	w.Fleet.Retag(w.Fleet.Instances()[0].ID, withTag(w.Fleet.Instances()[0].Tags, "Name", "by hand"))
	settle(t, w)
	claims := map[string]model.Claim{}
	for _, claim := range load(t, w).Claims {
		claims[claim.InstanceID] = claim
		if claim.Annotations[model.AnnotationTagged] != "true" || claim.Annotations[model.AnnotationClusterTagged] != "true" {
			t.Errorf("claim %s is annotated %v", claim.Name, claim.Annotations)
		}
	}
	for i, m := range w.Fleet.Instances() {
		name := claims[m.ID].NodeName
		if i == 0 {
			name = "by hand"
		}
		if m.Tags["Name"] != name || m.Tags["karpenter.sh/nodeclaim"] != claims[m.ID].Name || m.Tags["eks:eks-cluster-name"] != world.Name {
			t.Errorf("machine %s has tags %v, want the name %s", m.ID, m.Tags, name)
		}
	}
	for _, object := range w.Cluster.Claims() {
		if object.Claim.Annotations[model.AnnotationTagged] != "true" {
			t.Errorf("NodeClaim %s shows %v", object.Claim.Name, object.Claim.Annotations)
		}
	}
	w.Tick(time.Minute)
	if effects := effectsOf(t, w, provision.TriggerResync); count(effects, "tag") != 0 {
		t.Errorf("tagged again: %v", effects)
	}
}

func withTag(tags map[string]string, key, value string) map[string]string {
	next := maps.Clone(tags)
	next[key] = value
	return next
}

// A tag that cannot be written holds nothing up and is written later; what one run asks of EC2 is bounded.
func TestCT02TagsWaitAndHoldNothingUp(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 25, world.Shape(1900, gib))
	w.Fleet.Throttle("CreateTags", 0, 1)
	most := 0
	for range 12 {
		w.Tick(5 * time.Second)
		most = max(most, count(effectsOf(t, w, provision.TriggerResync), "tag"))
	}
	tagged := 0
	for _, claim := range load(t, w).Claims {
		if claim.State != model.Initialized {
			t.Errorf("claim %s is %s", claim.Name, claim.State)
		}
		if claim.Annotations[model.AnnotationTagged] == "true" {
			tagged++
		}
	}
	if tagged > 1 || most == 0 || most > 10 {
		t.Errorf("%d are tagged, a run tried %d", tagged, most)
	}
	w.Fleet.Throttle("CreateTags", 0, 0)
	for range 12 {
		w.Tick(10 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	for _, m := range w.Fleet.Instances() {
		if m.Tags["karpenter.sh/nodeclaim"] == "" {
			t.Errorf("machine %s was never tagged", m.ID)
		}
	}
}

func TestCT09NodeOfAPartitionGroupWaitsUntilItsPartitionIsKnown(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: 3}
	})
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	claim := load(t, w).Claims[0]
	if partition, asked := claim.Labels[model.LabelPartition]; !asked || claim.Labels[model.LabelPlacementGroup] != "pg-1" {
		t.Fatalf("labels %v, partition %q", claim.Labels, partition)
	}
	// EC2 does not always say it in the answer of the launch.
	claim.Labels = withTag(claim.Labels, model.LabelPartition, "")
	if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
		t.Fatal(err)
	}
	w.Fleet.Throttle("DescribeInstances", 0, 0.5)
	for range 6 {
		w.Tick(10 * time.Second)
		if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync); err != nil {
			t.Fatal(err)
		}
	}
	if claim := load(t, w).Claims[0]; claim.State != model.Launched {
		t.Errorf("the claim is %s before its partition is known", claim.State)
	}
	if len(w.Cluster.Nodes()) != 1 {
		t.Fatalf("%d nodes", len(w.Cluster.Nodes()))
	}
	for _, node := range w.Cluster.Nodes() {
		if node.Labels[model.LabelRegistered] == "true" || !slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintUnregistered }) {
			t.Errorf("node %s is registered: %v %v", node.Name, node.Labels, node.Taints)
		}
	}
	w.Fleet.Throttle("DescribeInstances", 0, 0)
	settle(t, w)
	claim = load(t, w).Claims[0]
	want := fmt.Sprint(w.Fleet.Instances()[0].Partition)
	if claim.Labels[model.LabelPartition] != want || w.Cluster.Nodes()[0].Labels[model.LabelPartition] != want || want == "0" {
		t.Errorf("claim %v, node %v, want partition %s", claim.Labels, w.Cluster.Nodes()[0].Labels, want)
	}
}

func TestLA09TemplateNobodyUsesGoesAndOneInUseStays(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	old := world.Pool("old", "default")
	w.Cluster.AddPool(old)
	shape := world.Shape(1900, gib)
	shape.NodeSelector = map[string]string{model.LabelNodePool: "old"}
	pending(w, "old", 1, shape)
	pass(t, w, provision.TriggerBatch)
	unused := w.Fleet.Templates()
	if len(unused) != 1 {
		t.Fatalf("templates %v", unused)
	}
	used := func(n int) {
		shape.NodeSelector = map[string]string{model.LabelNodePool: "default"}
		pending(w, fmt.Sprint("web", n), 1, shape)
		pass(t, w, provision.TriggerBatch)
	}
	for i := range 8 { // another template is used every quarter of an hour
		used(i)
		w.Tick(15 * time.Minute)
		pass(t, w, provision.TriggerResync)
	}
	left := w.Fleet.Templates()
	if len(left) != 1 || slices.Equal(left, unused) {
		t.Errorf("templates %v, %v was unused", left, unused)
	}
	w.Tick(2 * time.Hour)
	pass(t, w, provision.TriggerResync)
	if left := w.Fleet.Templates(); len(left) != 0 || len(load(t, w).Notes.Templates) != 0 {
		t.Errorf("templates %v, notes %+v", left, load(t, w).Notes.Templates)
	}
	w.Tick(time.Hour)
	if effects := effectsOf(t, w, provision.TriggerResync); count(effects, "collect") != 0 {
		t.Errorf("an idle cluster asks EC2: %v", effects)
	}
	used(100)
	if len(w.Fleet.Templates()) != 1 || len(w.Fleet.Instances()) != 10 {
		t.Errorf("templates %v, %d machines", w.Fleet.Templates(), len(w.Fleet.Instances()))
	}
}
