package conform

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// ClusterPort is an API server as the launching flow reads and writes it, with what a case needs to set the scene. Cases
// may share one: they use objects of their own.
type ClusterPort interface {
	provision.Cluster
	port.Reporter
	// Unique returns a name that begins with base and that no other case uses.
	Unique(base string) string
	// MakeNode creates a node with name, provider id, labels and taints as given, and returns its UID.
	MakeNode(node model.Node) string
	DropNode(name string)
	// MakePod creates a pod in namespace default that asks for 250 milli-CPU, on a node where that is not empty; of a
	// DaemonSet where daemon is set. Nothing is told of it yet.
	MakePod(name, node string, daemon bool)
	// MakePool creates a NodePool of class default and returns its UID.
	MakePool(name string) string
	// MakeClass creates an EC2NodeClass and returns it with UID and generation.
	MakeClass(name string) model.Class
	// ClassStatus returns the status of an EC2NodeClass, as a list shows it.
	ClassStatus(name string) model.ClassStatus
	// Shown returns how far a NodeClaim object says that its claim has come; false where there is none.
	Shown(name string) (Shown, bool)
	DropClaim(name string)
	// Reasons returns the reasons of the events on an object, sorted, each as often as there are different events of it.
	Reasons(kind, name string) []string
	// PoolCondition returns a condition of a NodePool; the zero value where it has none of that type.
	PoolCondition(pool, kind string) model.Condition
}

// Shown is what a NodeClaim object shows of its claim.
type Shown struct {
	UID, ProviderID, NodeName string
	State                     model.ClaimState
}

// Cluster is the contract of an API server. start returns one in which nobody uses the names of Unique.
func Cluster(t *testing.T, start func(t *testing.T) ClusterPort) {
	for name, rule := range map[string]func(plane){
		"a claim is shown, and found again by whoever lost the answer": clusterShowsClaims,
		"a claim's object follows it":                                  clusterFollowsClaims,
		"an object that is gone or another is NotFound":                clusterMissesClaims,
		"an object that shows another machine is Conflict":             clusterGuardsClaims,
		"a claim may be shown before it has a machine":                 clusterShowsEarly,
		"a node is patched, and keeps what others gave it":             clusterPatchesNodes,
		"a node that is gone or another is not patched":                clusterMissesNodes,
		"a list shows what is there, in order":                         clusterLists,
		"a list that was read stays what it is":                        clusterListStays,
		"an event told twice is one":                                   clusterReportsOnce,
		"a condition of a pool is written, and only of the one judged": clusterReportsPools,
		"a class shows what it resolves to now":                        clusterReportsClasses,
		"what is told of things that are gone is no error":             clusterReportsGone,
	} {
		t.Run(name, func(t *testing.T) { rule(plane{start(t), t}) })
	}
}

type plane struct {
	ClusterPort
	t *testing.T
}

func (b plane) want(kind fault.Kind, what string, err error) {
	b.t.Helper()
	if !fault.Is(err, kind) {
		b.t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func (b plane) show(claim model.Claim) string {
	b.t.Helper()
	uid, err := b.PutClaim(b.t.Context(), claim)
	if err != nil || uid == "" {
		b.t.Fatalf("UID %q, %v", uid, err)
	}
	return uid
}

// launched is a claim with an instance.
func (b plane) launched(base string) model.Claim {
	name := b.Unique(base)
	return model.Claim{
		Name: name, Pool: "general", Class: "default", State: model.Launched, Version: 1, InstanceID: "i-" + name, ProviderID: "aws:///us-west-2a/i-" + name,
		InstanceType: "m7g.large", Zone: "us-west-2a", CapacityType: model.Spot, LaunchedUnix: ledgerBegin, CreatedUnix: ledgerBegin,
		Labels:   map[string]string{"team": "a"},
		Capacity: model.Resources{model.CPU: 2000, model.Memory: 8 << 30, model.Pods: 29},
	}
}

const otherUID = "00000000-0000-4000-8000-000000000000"

func clusterShowsClaims(b plane) {
	claim := b.launched("shown")
	first := b.show(claim)
	if second := b.show(claim); second != first {
		b.t.Errorf("two objects: %s and %s", first, second)
	}
	if got, ok := b.Shown(claim.Name); !ok || got != (Shown{UID: first, ProviderID: claim.ProviderID, State: model.Launched}) {
		b.t.Errorf("%+v", got)
	}
}

func clusterFollowsClaims(b plane) {
	claim := b.launched("followed")
	claim.ObjectUID = b.show(claim)
	for _, state := range []model.ClaimState{model.Registered, model.Initialized} {
		claim.State, claim.NodeName, claim.Version = state, "ip-10-0-0-1", claim.Version+1
		claim.RegisteredUnix, claim.InitializedUnix = ledgerBegin+30, ledgerBegin+40
		for range 2 {
			if uid := b.show(claim); uid != claim.ObjectUID {
				b.t.Errorf("UID %s became %s", claim.ObjectUID, uid)
			}
		}
		if got, ok := b.Shown(claim.Name); !ok || got.State != state || got.NodeName != "ip-10-0-0-1" {
			b.t.Errorf("%s: %+v", state, got)
		}
	}
}

func clusterMissesClaims(b plane) {
	claim := b.launched("gone")
	claim.ObjectUID = otherUID
	_, err := b.PutClaim(b.t.Context(), claim)
	b.want(fault.NotFound, "no object", err)
	claim.ObjectUID = ""
	uid := b.show(claim)
	claim.ObjectUID = otherUID
	_, err = b.PutClaim(b.t.Context(), claim)
	b.want(fault.NotFound, "another object", err)
	b.DropClaim(claim.Name)
	claim.ObjectUID = uid
	_, err = b.PutClaim(b.t.Context(), claim)
	b.want(fault.NotFound, "an object that was deleted", err)
	if got, ok := b.Shown(claim.Name); ok {
		b.t.Errorf("it came back: %+v", got)
	}
}

func clusterGuardsClaims(b plane) {
	claim := b.launched("guarded")
	b.show(claim)
	other := claim
	other.InstanceID, other.ProviderID = "i-other", "aws:///us-west-2a/i-other"
	_, err := b.PutClaim(b.t.Context(), other)
	b.want(fault.Conflict, "another machine", err)
	if got, _ := b.Shown(claim.Name); got.ProviderID != claim.ProviderID {
		b.t.Errorf("%+v", got)
	}
}

func clusterShowsEarly(b plane) {
	claim := b.launched("early")
	early := claim
	early.State, early.InstanceID, early.ProviderID, early.InstanceType, early.Zone, early.LaunchedUnix = model.Intended, "", "", "", "", 0
	uid := b.show(early)
	if got, ok := b.Shown(claim.Name); !ok || got.State != model.Intended || got.ProviderID != "" {
		b.t.Errorf("%+v", got)
	}
	claim.ObjectUID = uid
	b.show(claim)
	if got, ok := b.Shown(claim.Name); !ok || got != (Shown{UID: uid, ProviderID: claim.ProviderID, State: model.Launched}) {
		b.t.Errorf("%+v", got)
	}
}

// node creates a node of the cases and returns it with its UID.
func (b plane) node(base string) model.Node {
	b.t.Helper()
	name := b.Unique(base)
	node := model.Node{
		Name: name, ProviderID: "aws:///us-west-2a/i-" + name, Labels: map[string]string{"kubernetes.io/os": "linux", "kept": "x"},
		Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "kept", Value: "x", Effect: model.NoSchedule}},
	}
	node.UID = b.MakeNode(node)
	return node
}

func (b plane) list() *model.Snapshot {
	b.t.Helper()
	s, err := b.List(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// listed returns a node as a list shows it.
func (b plane) listed(name string) model.Node {
	b.t.Helper()
	for _, node := range b.list().Nodes {
		if node.Name == name {
			return node
		}
	}
	b.t.Fatalf("node %s is not listed", name)
	return model.Node{}
}

func clusterPatchesNodes(b plane) {
	node, claim := b.node("patched"), b.launched("patched")
	patch := model.NodePatch{
		Name: node.Name, UID: node.UID, Labels: map[string]string{model.LabelRegistered: "true", "team": "a"},
		Annotations:  map[string]string{model.AnnotationPoolHash: "1"},
		AddTaints:    []model.Taint{{Key: "team", Value: "a", Effect: model.NoSchedule}, {Key: "kept", Value: "other", Effect: model.NoSchedule}},
		RemoveTaints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "absent", Effect: model.NoExecute}},
		Owner:        &model.Object{Name: claim.Name, UID: b.show(claim)},
	}
	for range 2 { // the second time there is nothing to write
		if err := b.PatchNode(b.t.Context(), patch); err != nil {
			b.t.Fatal(err)
		}
	}
	got := b.listed(node.Name)
	for key, value := range map[string]string{model.LabelRegistered: "true", "team": "a", "kubernetes.io/os": "linux", "kept": "x"} {
		if got.Labels[key] != value {
			b.t.Errorf("label %s is %q, want %q", key, got.Labels[key], value)
		}
	}
	for _, taint := range []model.Taint{{Key: "kept", Value: "x", Effect: model.NoSchedule}, {Key: "team", Value: "a", Effect: model.NoSchedule}} {
		if !slices.Contains(got.Taints, taint) {
			b.t.Errorf("taints %v lack %v", got.Taints, taint)
		}
	}
	if slices.ContainsFunc(got.Taints, func(t model.Taint) bool { return t.Key == model.TaintUnregistered }) || got.Annotations[model.AnnotationPoolHash] != "1" || got.UID != node.UID {
		b.t.Errorf("%+v", got)
	}
}

func clusterMissesNodes(b plane) {
	node := b.node("missed")
	patch := model.NodePatch{Name: node.Name, UID: otherUID, Labels: map[string]string{"team": "a"}}
	b.want(fault.NotFound, "another node of the name", b.PatchNode(b.t.Context(), patch))
	if got := b.listed(node.Name); got.Labels["team"] != "" {
		b.t.Errorf("it was patched: %v", got.Labels)
	}
	b.DropNode(node.Name)
	patch.UID = node.UID
	b.want(fault.NotFound, "a node that was deleted", b.PatchNode(b.t.Context(), patch))
	again := node
	again.UID = b.MakeNode(node)
	if again.UID == node.UID {
		b.t.Fatalf("a new node with UID %s of the old one", node.UID)
	}
	b.want(fault.NotFound, "the next node of the name", b.PatchNode(b.t.Context(), patch))
}

func clusterLists(b plane) {
	node, pool, claim := b.node("listed"), b.Unique("listed"), b.launched("listed")
	poolUID, claimUID := b.MakePool(pool), b.show(claim)
	waiting, bound := b.Unique("waiting"), b.Unique("bound")
	b.MakePod(waiting, "", false)
	b.MakePod(bound, node.Name, false)
	s := b.list()
	if s.Epoch != 0 || s.Seq != 0 {
		b.t.Errorf("numbered %d/%d", s.Epoch, s.Seq)
	}
	if !slices.IsSortedFunc(s.Pods, func(x, y model.Pod) int { return strings.Compare(x.Key(), y.Key()) }) ||
		!slices.IsSortedFunc(s.Nodes, func(x, y model.Node) int { return strings.Compare(x.Name, y.Name) }) ||
		!slices.IsSortedFunc(s.Pools, func(x, y model.Pool) int { return strings.Compare(x.Name, y.Name) }) ||
		!slices.IsSortedFunc(s.Claims, func(x, y model.Object) int { return strings.Compare(x.Name, y.Name) }) {
		b.t.Error("not in order")
	}
	found := map[string]bool{}
	for _, pod := range s.Pods {
		switch pod.Name {
		case waiting:
			found["waiting"] = pod.NodeName == "" && pod.UID != "" && s.Shapes[pod.Shape].Requests[model.CPU] == 250
		case bound:
			found["bound"] = pod.NodeName == node.Name && pod.UID != ""
		}
	}
	for _, n := range s.Nodes {
		if n.Name == node.Name {
			found["node"] = n.UID == node.UID && n.ProviderID == node.ProviderID && n.Labels["kept"] == "x" && !n.Ready
		}
	}
	found["pool"] = slices.ContainsFunc(s.Pools, func(p model.Pool) bool {
		return p.Name == pool && p.UID == poolUID && p.Template.ClassName == "default"
	})
	found["claim"] = slices.ContainsFunc(s.Claims, func(o model.Object) bool {
		return o.Name == claim.Name && o.UID == claimUID && o.DeletedUnix == 0 && !o.Manual
	})
	if want := (map[string]bool{"waiting": true, "bound": true, "node": true, "pool": true, "claim": true}); !reflect.DeepEqual(found, want) {
		b.t.Errorf("found %v", found)
	}
}

func clusterListStays(b plane) {
	node := b.node("stays")
	before := b.listed(node.Name)
	if err := b.PatchNode(b.t.Context(), model.NodePatch{Name: node.Name, UID: node.UID, Labels: map[string]string{"team": "a"}}); err != nil {
		b.t.Fatal(err)
	}
	if before.Labels["team"] != "" || b.listed(node.Name).Labels["team"] != "a" {
		b.t.Errorf("read before %v, after %v", before.Labels, b.listed(node.Name).Labels)
	}
}

func clusterReportsOnce(b plane) {
	pool := b.Unique("told")
	event := model.Event{Kind: "NodePool", Name: pool, UID: b.MakePool(pool), Warning: true, Reason: "LimitReached", Message: "the limit of cpu is reached"}
	for _, more := range []string{"", "", "Other"} {
		if more != "" {
			event.Reason = more
		}
		if err := b.Report(b.t.Context(), model.Report{Events: []model.Event{event}}); err != nil {
			b.t.Fatal(err)
		}
	}
	if got := b.Reasons("NodePool", pool); !slices.Equal(got, []string{"LimitReached", "Other"}) {
		b.t.Errorf("told %q", got)
	}
}

func clusterReportsPools(b plane) {
	pool := b.Unique("judged")
	uid := b.MakePool(pool)
	report := func(uid, reason string) {
		b.t.Helper()
		err := b.Report(b.t.Context(), model.Report{Pools: []model.Condition{
			{Object: pool, UID: uid, Type: "NodeClassReady", Status: "False", Reason: reason, Message: "create it"},
		}})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	report(uid, "NodeClassNotFound")
	report(otherUID, "Wrong") // of a pool of that name that is gone
	if got := b.PoolCondition(pool, "NodeClassReady"); got.Status != "False" || got.Reason != "NodeClassNotFound" || got.Message != "create it" {
		b.t.Errorf("%+v", got)
	}
}

func clusterReportsClasses(b plane) {
	class := b.MakeClass(b.Unique("resolved"))
	for _, step := range []struct {
		what, uid  string
		generation int64
		group      string
		want       string
	}{
		{"as it is", class.UID, class.Generation, "sg-1", "sg-1"},
		{"again", class.UID, class.Generation, "sg-1", "sg-1"},
		{"of another class of the name", otherUID, class.Generation, "sg-2", "sg-1"},
		{"of what it was before", class.UID, class.Generation + 1, "sg-3", "sg-1"},
		{"as it is now", class.UID, class.Generation, "sg-4", "sg-4"},
	} {
		status := model.ClassStatus{ObservedGeneration: step.generation, SecurityGroups: []model.SecurityGroup{{ID: step.group}}}
		if err := b.Report(b.t.Context(), model.Report{Classes: []model.ClassReport{{Class: class.Name, UID: step.uid, Status: status}}}); err != nil {
			b.t.Fatal(err)
		}
		if got := b.ClassStatus(class.Name).SecurityGroups; len(got) != 1 || got[0].ID != step.want {
			b.t.Errorf("%s: %+v, want %s", step.what, got, step.want)
		}
	}
}

func clusterReportsGone(b plane) {
	err := b.Report(b.t.Context(), model.Report{
		Pools:      []model.Condition{{Object: b.Unique("absent"), UID: otherUID, Type: "NodeClassReady", Status: "False", Reason: "NodeClassNotFound"}},
		PoolStatus: []model.PoolStatus{{Pool: b.Unique("absent"), UID: otherUID, Nodes: 1}},
		Classes:    []model.ClassReport{{Class: b.Unique("absent"), UID: otherUID}},
	})
	if err != nil {
		b.t.Error(err)
	}
}
