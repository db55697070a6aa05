package adopt_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

const start = int64(1_900_000_000)

// site is a cluster, its instances and the ledger in memory: every port of the flow.
type site struct {
	now       int64 // by every clock
	claims    map[string]model.Claim
	usage     map[string]model.Resources
	held      model.Fence // the collector's lease as it is held now
	instances []model.Instance
	unlisted  map[string]bool // instances that lists miss
	live      model.LiveState
	config    model.Configuration
	karpenter model.Karpenter
	types     []model.InstanceTypeInfo
	detached  int64  // when the registration goes; 0 = never
	arn       string // the registration's

	fails  map[string]error // by port method
	writes []string         // everything written, in order
}

// karpenters is a cluster of n nodes as Karpenter leaves it, with one node of a managed node group.
func karpenters(n int) *site {
	s := &site{now: start, claims: map[string]model.Claim{}, usage: map[string]model.Resources{}, unlisted: map[string]bool{}, fails: map[string]error{}}
	s.config = model.Configuration{
		Pools:   []model.Pool{{Name: "default", Hash: "11"}},
		Classes: []model.ClassObject{{Class: model.Class{Name: "default", Hash: "77"}}},
	}
	s.types = []model.InstanceTypeInfo{{Name: "m5.large", Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand, Price: 96_000}}}}
	s.karpenter = model.Karpenter{Deployments: []model.Controller{{Namespace: "kube-system", Name: "karpenter"}}}
	s.live = model.LiveState{Version: 100, Nodes: []model.Node{{Name: "group", UID: "g", ProviderID: "aws:///a/i-group", Ready: true}}}
	for i := range n {
		id := string(rune('a' + i))
		s.add(id)
	}
	return s
}

func (s *site) add(id string) {
	provider := "aws:///a/i-" + id
	s.instances = append(s.instances, model.Instance{
		ID: "i-" + id, Type: "m5.large", Zone: "a", CapacityType: model.OnDemand, State: "running", LaunchedUnix: start - 9000, Tags: map[string]string{
			"kubernetes.io/cluster/web": "owned", model.LabelNodePool: "default", model.LabelNodeClass: "default", "karpenter.sh/nodeclaim": "default-" + id,
		},
	})
	s.live.Nodes = append(s.live.Nodes, model.Node{
		Name: "node-" + id, UID: "n-" + id, ProviderID: provider, Ready: true, Capacity: model.Resources{model.CPU: 2000},
		Labels: map[string]string{model.LabelRegistered: "true", model.LabelInitialized: "true", model.LabelNodePool: "default"},
	})
	s.live.Objects = append(s.live.Objects, model.ClaimObject{Finalizer: true, Claim: model.Claim{
		Name: "default-" + id, Pool: "default", Class: "default", State: model.Initialized, ProviderID: provider, ObjectUID: "o-" + id,
		NodeName: "node-" + id, CreatedUnix: start - 9000, RegisteredUnix: start - 8900, InitializedUnix: start - 8890,
		Annotations: map[string]string{
			model.AnnotationPoolHash: "16553871846239834014", model.AnnotationPoolHashVersion: "v3",
			model.AnnotationClassHash: "3787823467582339877", model.AnnotationClassHashVersion: "v6",
		},
	}})
}

func (s *site) flow() *adopt.Flow {
	return &adopt.Flow{
		Registry: s, Leases: s, Ledger: s, Catalogs: s, Connector: s,
		Now:   func() time.Time { return time.Unix(s.now+500, 0) }, // half a minute and more from the ledger's
		Pause: func(_ context.Context, d time.Duration) error { s.now += int64(d.Seconds()); return nil },
	}
}

// run runs the flow and fails the test where it cannot.
func (s *site) run(t *testing.T, apply bool) adopt.Outcome {
	t.Helper()
	out, err := s.flow().Run(t.Context(), adopt.Request{Cluster: "web", Owner: "me", Apply: apply})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verdicts counts them.
func verdicts(out adopt.Outcome) map[lifecycle.AdoptionVerdict]int {
	counts := map[lifecycle.AdoptionVerdict]int{}
	for _, item := range out.Items {
		counts[item.Verdict]++
	}
	return counts
}

// swept is what the collector's resync would find wrong now.
func (s *site) swept() []lifecycle.Finding {
	view := lifecycle.View{Cluster: "web", Records: s.records(), Live: s.live}
	for _, i := range s.instances {
		_, known := s.claims["default-"+i.ID[len("i-"):]]
		if lifecycle.Owned(i, "web") || known {
			view.Instances = append(view.Instances, i)
		}
	}
	return lifecycle.Diagnose(view, lifecycle.Settings{})
}

func (s *site) records() model.ClusterRecords {
	records := model.ClusterRecords{NowUnix: s.now}
	for _, name := range slices.Sorted(maps.Keys(s.claims)) {
		records.Claims = append(records.Claims, s.claims[name])
	}
	return records
}

func (s *site) wrote(what string) { s.writes = append(s.writes, what) }

func (s *site) Clusters(context.Context) ([]model.Registration, error) {
	panic("nobody lists clusters")
}

func (s *site) Cluster(_ context.Context, name string) (model.Registration, error) {
	if name != "web" || s.detached > 0 && s.now >= s.detached {
		return model.Registration{}, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	return model.Registration{Cluster: name, ARN: s.arn, CA: []byte("ca")}, s.fails["Cluster"]
}

func (s *site) AcquireLease(_ context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	if lease != model.LeaseCollector || nowUnix < s.now || nowUnix > s.now+1 || untilUnix != nowUnix+60 {
		return model.Fence{}, fault.New(fault.Internal, "", "lease %s from %d until %d, and it is %d", lease, nowUnix, untilUnix, s.now)
	}
	if s.held.Owner != "" && s.held.Owner != owner && s.held.UntilUnix >= nowUnix {
		return model.Fence{}, fault.New(fault.Conflict, "LeaseHeld", "held by %s", s.held.Owner)
	}
	s.held = model.Fence{Cluster: cluster, Lease: lease, Owner: owner, Token: s.held.Token + 1, UntilUnix: untilUnix}
	return s.held, nil
}

func (s *site) Release(_ context.Context, fence model.Fence) error {
	if s.held == fence {
		s.held.UntilUnix = 0
	}
	return s.fails["Release"]
}

func (s *site) Records(context.Context, model.Registration) (model.ClusterRecords, error) {
	return s.records(), s.fails["Survey"]
}

func (s *site) Adopt(_ context.Context, fence model.Fence, claim model.Claim) error {
	if fence != s.held {
		return fault.New(fault.Conflict, "FenceLost", "fence %+v", fence)
	}
	if err := s.fails["Adopt "+claim.Name]; err != nil {
		return err
	}
	if there, ok := s.claims[claim.Name]; ok {
		if there.InstanceID == claim.InstanceID && there.Live() {
			return nil
		}
		return fault.New(fault.Conflict, "ClaimExists", "claim %s", claim.Name)
	}
	claim.Version = 1
	s.claims[claim.Name] = claim
	used := s.usage[claim.Pool]
	if used == nil {
		used = model.Resources{}
	}
	for name, amount := range claim.Reserved {
		used[name] += amount
	}
	s.usage[claim.Pool] = used
	s.wrote("record " + claim.Name)
	return nil
}

func (s *site) RegionCatalog(context.Context, model.Registration) (model.InstanceCatalog, error) {
	return model.InstanceCatalog{Types: s.types}, s.fails["Machines"]
}

func (s *site) Connect(context.Context, model.Registration) (adopt.Clients, error) {
	return adopt.Clients{Cluster: s, Karpenter: s, Objects: s, Fleet: s}, s.fails["Connect"]
}

func (s *site) ReadLive(context.Context) (model.LiveState, error) { return s.live, s.fails["Look"] }

func (s *site) Configuration(context.Context) (model.Configuration, error) {
	return s.config, s.fails["Configuration"]
}

func (s *site) Karpenter(context.Context) (model.Karpenter, error) {
	return s.karpenter, s.fails["Karpenter"]
}

func (s *site) PutClaim(_ context.Context, claim model.Claim) (string, error) {
	if err := s.fails["PutClaim "+claim.Name]; err != nil {
		return "", err
	}
	for i := range s.live.Objects {
		if o := &s.live.Objects[i]; o.Claim.Name == claim.Name && o.Claim.ObjectUID == claim.ObjectUID {
			o.Claim.Annotations = claim.Annotations
			s.wrote("stamp " + claim.Name)
			return claim.ObjectUID, nil
		}
	}
	return "", fault.New(fault.NotFound, "", "NodeClaim %s", claim.Name)
}

func (s *site) PatchNode(_ context.Context, patch model.NodePatch) error {
	for i := range s.live.Nodes {
		if n := &s.live.Nodes[i]; n.Name == patch.Name && n.UID == patch.UID {
			n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(taint model.Taint) bool {
				return slices.ContainsFunc(patch.RemoveTaints, func(r model.Taint) bool { return r.Key == taint.Key && r.Effect == taint.Effect })
			})
			s.wrote("untaint " + patch.Name)
			return nil
		}
	}
	return fault.New(fault.NotFound, "", "node %s", patch.Name)
}

func (s *site) Managed(_ context.Context, cluster string) ([]model.Instance, error) {
	var out []model.Instance
	for _, i := range s.instances {
		if i.Tags["kubernetes.io/cluster/"+cluster] == "owned" && i.Tags[model.LabelNodePool] != "" && !s.unlisted[i.ID] {
			out = append(out, i)
		}
	}
	return out, s.fails["Managed"]
}

func (s *site) DescribeInstances(_ context.Context, ids []string) ([]model.Instance, error) {
	var out []model.Instance
	for _, i := range s.instances {
		if slices.Contains(ids, i.ID) {
			out = append(out, i)
		}
	}
	return out, s.fails["Describe"]
}

func (s *site) AdoptInstances(_ context.Context, _, intent string, ids []string) ([]string, error) {
	var taken []string
	for i := range s.instances {
		instance := &s.instances[i]
		if !slices.Contains(ids, instance.ID) || instance.State != "running" {
			continue
		}
		if err := s.fails["Take "+instance.ID]; err != nil {
			return taken, err
		}
		instance.Tags["joiner.sh/intent"] = intent
		taken = append(taken, instance.ID)
		s.wrote("tag " + instance.ID)
	}
	return taken, s.fails["Take"]
}
