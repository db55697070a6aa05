package ekscluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func ptr[T any](v T) *T { return &v }

func launched(name string) model.Claim {
	return model.Claim{
		Name: name, Pool: "general", Class: "default", State: model.Launched,
		Requirements: []model.Requirement{
			{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"spot"}},
			{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"arm64"}},
			{Key: "kubernetes.io/hostname", Operator: model.NotIn, Values: []string{"x"}},
			{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{"m7g.large", "m7g.xlarge"}, MinValues: 2},
			{Key: "team", Operator: model.Exists},
		},
		Requests: model.Resources{"cpu": 1500, "memory": 2 << 30, "pods": 5}, Labels: map[string]string{"team": "a"},
		Annotations: map[string]string{"karpenter.sh/nodepool-hash": "1"},
		Taints:      []model.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}}, StartupTaints: []model.Taint{{Key: "cni", Effect: "NoExecute"}},
		GraceSeconds: ptr(int64(3600)), InstanceType: "m7g.large", Zone: "us-west-2a", ZoneID: "usw2-az1", CapacityType: "spot",
		ProviderID: "aws:///us-west-2a/i-" + name, ImageID: "ami-1", LaunchedUnix: 1_795_176_000,
		Capacity: model.Resources{"cpu": 2000, "memory": 8 << 30, "pods": 29}, Allocatable: model.Resources{"cpu": 1930, "memory": 7 << 30, "pods": 29},
	}
}

func readClaim(t *testing.T, c *Client, name string) *apiv1.NodeClaim {
	t.Helper()
	untyped, err := c.custom.Resource(apiv1.NodeClaimResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := toTyped[apiv1.NodeClaim](untyped)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func put(t *testing.T, c *Client, claim model.Claim) string {
	t.Helper()
	uid, err := c.PutClaim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

func conditionOf(claim *apiv1.NodeClaim, kind string) metav1.Condition {
	for _, c := range claim.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

func TestPutClaimShowsTheClaimAsANodeClaim(t *testing.T) {
	c, name := connect(t), unique("shown")
	claim := launched(name)
	uid := put(t, c, claim)
	got := readClaim(t, c, name)
	if string(got.UID) != uid {
		t.Errorf("got UID %s, the object has %s", uid, got.UID)
	}
	for key, want := range map[string]string{
		"karpenter.sh/nodepool": "general", "karpenter.k8s.aws/ec2nodeclass": "default", "node.kubernetes.io/instance-type": "m7g.large",
		"topology.kubernetes.io/zone": "us-west-2a", "topology.k8s.aws/zone-id": "usw2-az1", "topology.kubernetes.io/region": "us-west-2",
		"karpenter.sh/capacity-type": "spot", "kubernetes.io/arch": "arm64", "team": "a",
	} {
		if got.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, got.Labels[key], want)
		}
	}
	if got.Annotations["karpenter.sh/nodepool-hash"] != "1" || !slices.Equal(got.Finalizers, []string{model.Finalizer}) {
		t.Errorf("annotations %v, finalizers %v", got.Annotations, got.Finalizers)
	}
	spec := got.Spec
	if spec.NodeClassRef != (apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}) ||
		!spec.ExpireAfter.IsNever() || spec.TerminationGracePeriod.String() != "1h" || len(spec.Requirements) != 4 || *spec.Requirements[2].MinValues != 2 ||
		spec.Resources.Requests.Cpu().String() != "1500m" || spec.Resources.Requests.Memory().String() != "2Gi" ||
		spec.Taints[0] != (corev1.Taint{Key: "team", Value: "a", Effect: "NoSchedule"}) || spec.StartupTaints[0].Key != "cni" {
		t.Errorf("spec %+v", spec)
	}
	status := got.Status
	if status.ProviderID != claim.ProviderID || status.ImageID != "ami-1" || status.Capacity.Cpu().String() != "2" || status.Allocatable.Memory().String() != "7Gi" {
		t.Errorf("status %+v", status)
	}
	if c := conditionOf(got, "Launched"); c.Status != metav1.ConditionTrue || c.LastTransitionTime.Unix() != claim.LaunchedUnix {
		t.Errorf("Launched: %+v", c)
	}
	if c := conditionOf(got, "Registered"); c.Status != metav1.ConditionUnknown || c.Reason != "NodeNotFound" {
		t.Errorf("Registered: %+v", c)
	}
	if c := conditionOf(got, "Ready"); c.Status != metav1.ConditionUnknown {
		t.Errorf("Ready: %+v", c)
	}
}

func TestPutClaimFollowsTheClaimThroughItsStates(t *testing.T) {
	c, name := connect(t), unique("followed")
	claim := launched(name)
	claim.ObjectUID = put(t, c, claim)
	claim.State, claim.NodeName, claim.RegisteredUnix = model.Registered, "ip-10-0-0-1", claim.LaunchedUnix+30
	put(t, c, claim)
	got := readClaim(t, c, name)
	if got.Status.NodeName != "ip-10-0-0-1" || conditionOf(got, "Registered").Status != metav1.ConditionTrue || conditionOf(got, "Initialized").Reason != "NodeNotReady" {
		t.Errorf("registered: %+v", got.Status)
	}
	claim.State, claim.InitializedUnix = model.Initialized, claim.LaunchedUnix+40
	put(t, c, claim)
	got = readClaim(t, c, name)
	if r := conditionOf(got, "Ready"); r.Status != metav1.ConditionTrue || conditionOf(got, "Initialized").LastTransitionTime.Unix() != claim.InitializedUnix {
		t.Errorf("initialised: %+v", got.Status)
	}
	put(t, c, claim)
	if again := readClaim(t, c, name); again.ResourceVersion != got.ResourceVersion {
		t.Errorf("putting the same claim again wrote %s over %s", again.ResourceVersion, got.ResourceVersion)
	}
}

func TestPutClaimFindsWhatAnEarlierAttemptCreated(t *testing.T) {
	c, name := connect(t), unique("repeated")
	claim := launched(name)
	if first, second := put(t, c, claim), put(t, c, claim); first != second {
		t.Errorf("got %s and %s", first, second)
	}
	other := claim
	other.ProviderID = "aws:///us-west-2a/i-other"
	if _, err := c.PutClaim(t.Context(), other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another instance under the name: got %v, want Conflict", err)
	}
}

func TestPutClaimSaysThatItsObjectIsGone(t *testing.T) {
	c, name := connect(t), unique("gone")
	claim := launched(name)
	claim.ObjectUID = "00000000-0000-4000-8000-000000000000"
	if _, err := c.PutClaim(t.Context(), claim); !fault.Is(err, fault.NotFound) {
		t.Errorf("no object: got %v, want NotFound", err)
	}
	fresh := launched(name)
	put(t, c, fresh)
	if _, err := c.PutClaim(t.Context(), claim); !fault.Is(err, fault.NotFound) {
		t.Errorf("another object: got %v, want NotFound", err)
	}
}

func TestPutClaimSurvivesOthersWriting(t *testing.T) {
	c, name := connect(t), unique("contended")
	claim := launched(name)
	claim.ObjectUID = put(t, c, claim)
	stale := readClaim(t, c, name)
	claim.State, claim.NodeName, claim.RegisteredUnix = model.Registered, "ip-10-0-0-1", claim.LaunchedUnix+30
	put(t, c, claim)
	// The object is what was read before the write above.
	err := claimStatus(name, claim.ObjectUID, stale, func(o *apiv1.NodeClaim) error {
		o.Status.ImageID = "ami-2"
		return nil
	}).write(t.Context(), c.api)
	if err != nil {
		t.Fatal(err)
	}
	if got := readClaim(t, c, name); got.Status.ImageID != "ami-2" || got.Status.NodeName != "ip-10-0-0-1" {
		t.Errorf("one write undid the other: %+v", got.Status)
	}
}

func TestClaimGoesWithItsPool(t *testing.T) {
	c, name := connect(t), unique("owned")
	apply(t, pool, name)
	owner, err := c.custom.Resource(apiv1.NodePoolResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim := launched(name)
	claim.Pool, claim.PoolUID = name, string(owner.GetUID())
	put(t, c, claim)
	owners := readClaim(t, c, name).OwnerReferences
	if len(owners) != 1 || owners[0].UID != owner.GetUID() || owners[0].Kind != "NodePool" || !*owners[0].BlockOwnerDeletion {
		t.Errorf("got %+v", owners)
	}
}

func TestCT02CT09PutClaimShowsWhatBecameKnownLaterAndLeavesWhatPeopleWrote(t *testing.T) {
	c, name := connect(t), unique("annotated")
	claim := launched(name)
	claim.Labels = map[string]string{"team": "a", model.LabelPartition: ""}
	claim.ObjectUID = put(t, c, claim)
	byHand := []byte(`{"metadata":{"annotations":{"note":"by hand"},"labels":{"team":"by-hand"}}}`)
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Patch(t.Context(), name, types.MergePatchType, byHand, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	claim.State, claim.NodeName, claim.RegisteredUnix = model.Registered, "ip-10-0-0-1", claim.LaunchedUnix+30
	claim.Annotations = map[string]string{"note": "ours", model.AnnotationTagged: "true"}
	claim.Labels = map[string]string{"team": "a", model.LabelPartition: "3"}
	put(t, c, claim)
	got := readClaim(t, c, name)
	if got.Annotations[model.AnnotationTagged] != "true" || got.Annotations["note"] != "by hand" ||
		got.Labels[model.LabelPartition] != "3" || got.Labels["team"] != "by-hand" || got.Status.NodeName != "ip-10-0-0-1" {
		t.Errorf("annotations %v, labels %v, status %+v", got.Annotations, got.Labels, got.Status)
	}
	put(t, c, claim)
	if again := readClaim(t, c, name); again.ResourceVersion != got.ResourceVersion {
		t.Errorf("putting the same claim again wrote %s over %s", again.ResourceVersion, got.ResourceVersion)
	}
}

// U45: a NodeClaim has its price as an annotation, which a column shows, from its launch and as it changes.
func TestU45ANodeClaimSaysItsPrice(t *testing.T) {
	c, name := connect(t), unique("priced")
	claim := launched(name)
	claim.ObjectUID = put(t, c, claim)
	for _, step := range []struct {
		price model.MicroUSD
		want  string
	}{{0, ""}, {81_600, "0.0816"}, {24_449, "0.0244"}, {0, "0.0244"}} {
		claim.Price = step.price
		put(t, c, claim)
		if got := readClaim(t, c, name).Annotations; got[model.AnnotationPrice] != step.want ||
			got[model.AnnotationPoolHash] != "1" {
			t.Errorf("at %d it has %v, want the price %q", step.price, got, step.want)
		}
	}
	claim = launched(unique("priced"))
	claim.Price = 81_600
	put(t, c, claim)
	if got := readClaim(t, c, claim.Name).Annotations[model.AnnotationPrice]; got != "0.0816" {
		t.Errorf("a new one has the price %q", got)
	}
	if claim.Annotations[model.AnnotationPrice] != "" {
		t.Error("the ledger's claim got the annotation")
	}
}

func TestPutClaimGivesAnObjectMadeBeforeTheFinalizerAndTheLabelOfItsClass(t *testing.T) {
	c, name := connect(t), unique("bare")
	claim := launched(name)
	claim.ObjectUID = put(t, c, claim)
	bare := func() bool {
		t.Helper()
		s, err := c.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Claims, func(o model.Object) bool { return o.Name == name })
		return s.Claims[i].Bare
	}
	if bare() {
		t.Error("a new one is bare")
	}
	strip := []byte(`{"metadata":{"finalizers":["example.com/a"],"labels":{"karpenter.k8s.aws/ec2nodeclass":null}}}`)
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Patch(t.Context(), name, types.MergePatchType, strip, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if !bare() {
		t.Error("one without either is not bare")
	}
	// A claim that ends is released, and not held again.
	ends := claim
	ends.State, ends.Drain = model.Terminating, &model.Drain{SinceUnix: 1}
	put(t, c, ends)
	if got := readClaim(t, c, name).Finalizers; !slices.Equal(got, []string{"example.com/a"}) {
		t.Errorf("of a claim that ends: %v", got)
	}
	put(t, c, claim)
	got := readClaim(t, c, name)
	if !slices.Equal(got.Finalizers, []string{"example.com/a", model.Finalizer}) || got.Labels[model.LabelNodeClass] != "default" || bare() {
		t.Errorf("finalizers %v, labels %v", got.Finalizers, got.Labels)
	}
	// Nor is one that somebody deletes: the API server would refuse everything else, too.
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Patch(t.Context(), name, types.MergePatchType, strip, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	collector := connectAs(t, collectorRole)
	if err := collector.Remove(t.Context(), apiv1.KindNodeClaim, model.Object{Name: name, UID: claim.ObjectUID}); err != nil {
		t.Fatal(err)
	}
	put(t, c, claim)
	if got := readClaim(t, c, name); !slices.Equal(got.Finalizers, []string{"example.com/a"}) || got.Labels[model.LabelNodeClass] != "default" {
		t.Errorf("of one that is being deleted: finalizers %v, labels %v", got.Finalizers, got.Labels)
	}
}
