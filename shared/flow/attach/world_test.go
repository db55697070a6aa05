package attach_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

const start = int64(1_900_000_000)

// world is every port of the flow in memory.
type world struct {
	mu         sync.Mutex // of fails, freed, log and before: the flow lets objects go side by side
	now        int64
	registered map[string]model.Registration
	planes     map[string]model.ControlPlane
	denied     int // describes that are refused before one is let through
	records    model.ClusterRecords
	forgotten  []string
	held       map[string]string // owner by lease
	kept       map[string]int64  // until when
	live       model.LiveState
	freed      []string
	log        []string
	fails      map[string]error
	before     func(effect string) // called before each effect
}

func newWorld() *world {
	return &world{
		now: start, registered: map[string]model.Registration{}, held: map[string]string{}, kept: map[string]int64{}, fails: map[string]error{},
		planes: map[string]model.ControlPlane{"web": plane("web", "111122223333")},
	}
}

func plane(name, account string) model.ControlPlane {
	return model.ControlPlane{
		Name: name, ARN: "arn:aws:eks:us-west-2:" + account + ":cluster/" + name, Status: "ACTIVE", Version: "1.36", Endpoint: "https://web.example",
		CA: []byte("PEM"), ServiceCIDR: "10.100.0.0/16", AuthMode: "API", PublicAccess: true,
	}
}

func (w *world) flow() *attach.Flow {
	return &attach.Flow{
		Registry: w, Clusters: w, Leases: w, Ledger: w, Connector: w, Effects: w,
		Now:    func() time.Time { return time.Unix(w.now, 0) },
		Pause:  func(_ context.Context, d time.Duration) error { w.now += int64(d.Seconds()); return w.fails["Pause"] },
		Spread: func(text string) error { return w.fails["Spread "+text] },
	}
}

func (w *world) Before(_ context.Context, effect string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.before != nil {
		w.before(effect)
	}
	w.log = append(w.log, effect)
	return w.fails["before "+effect]
}

func (w *world) After(context.Context, string) {}

func (w *world) Cluster(_ context.Context, name string) (model.Registration, error) {
	if err := w.fails["Cluster"]; err != nil {
		return model.Registration{}, err
	}
	reg, ok := w.registered[name]
	if !ok {
		return reg, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	return reg, nil
}

func (w *world) Clusters(context.Context) ([]model.Registration, error) {
	var out []model.Registration
	for _, reg := range w.registered {
		out = append(out, reg)
	}
	slices.SortFunc(out, func(a, b model.Registration) int { return len(a.Cluster) - len(b.Cluster) })
	return out, w.fails["Clusters"]
}

func (w *world) Register(_ context.Context, reg model.Registration) error {
	if err := w.fails["Register"]; err != nil {
		return err
	}
	w.registered[reg.Cluster] = reg
	return nil
}

func (w *world) Unregister(_ context.Context, reg model.Registration) error {
	if err := w.fails["Unregister"]; err != nil {
		return err
	}
	if w.registered[reg.Cluster].ARN != reg.ARN {
		return fault.New(fault.Conflict, "", "another")
	}
	delete(w.registered, reg.Cluster)
	return nil
}

func (w *world) Describe(_ context.Context, reg model.Registration) (model.ControlPlane, error) {
	if w.denied > 0 {
		w.denied--
		return model.ControlPlane{}, fault.New(fault.Denied, "AccessDenied", "not yet")
	}
	p, ok := w.planes[reg.Cluster]
	if !ok {
		return p, fault.New(fault.NotFound, "ResourceNotFoundException", "no cluster found")
	}
	return p, w.fails["Describe"]
}

func (w *world) AcquireLease(_ context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	if by := w.held[lease]; by != "" && by != owner && w.kept[lease] >= nowUnix {
		return model.Fence{}, fault.New(fault.Conflict, "LeaseHeld", "the %s lease is held by %s", lease, by)
	}
	w.held[lease], w.kept[lease] = owner, untilUnix
	return model.Fence{Cluster: cluster, Lease: lease, Owner: owner}, nil
}

func (w *world) Release(_ context.Context, fence model.Fence) error {
	if w.held[fence.Lease] == fence.Owner {
		delete(w.held, fence.Lease)
	}
	return nil
}

func (w *world) Records(context.Context, model.Registration) (model.ClusterRecords, error) {
	out := w.records
	out.NowUnix = w.now
	return out, w.fails["Survey"]
}

func (w *world) Forget(_ context.Context, cluster string, _ int64) error {
	w.forgotten = append(w.forgotten, cluster)
	return w.fails["Forget"]
}

func (w *world) Connect(context.Context, model.Registration) (attach.Objects, error) {
	return w, w.fails["Connect"]
}

func (w *world) ReadLive(context.Context) (model.LiveState, error) { return w.live, w.fails["Look"] }

func (w *world) Free(_ context.Context, kind string, object model.Object) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fails["Free "+object.Name]; err != nil {
		return false, err
	}
	w.freed = append(w.freed, kind+" "+object.Name+" "+object.UID)
	return false, nil
}

// instances gives the cluster nodes a, b, … as the ledger and the API server have them.
func (w *world) instances(names ...string) {
	for _, name := range names {
		provider := "aws:///us-west-2a/i-" + name
		w.records.Claims = append(w.records.Claims, model.Claim{Name: name, Pool: "default", State: model.Initialized, InstanceID: "i-" + name, ProviderID: provider})
		w.live.Objects = append(w.live.Objects, model.ClaimObject{Finalizer: true, Claim: model.Claim{Name: name, ProviderID: provider, ObjectUID: "o-" + name}})
		w.live.Nodes = append(w.live.Nodes, model.Node{Name: "node-" + name, UID: "n-" + name, ProviderID: provider, Finalizer: true})
	}
}

// attached is a world with cluster web attached.
func attached(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	if _, err := w.flow().Attach(t.Context(), standalone()); err != nil {
		t.Fatal(err)
	}
	w.log = nil
	return w
}

func standalone() attach.Desired {
	role := func(name string) string { return "arn:aws:iam::111122223333:role/joiner-web-us-west-2-" + name }
	return attach.Desired{Registration: model.Registration{
		Cluster: "web", Region: "us-west-2", ExternalID: "9b1c",
		Roles: model.Roles{Provision: role("provision"), Interruption: role("interruption"), Catalog: role("catalog"), Disrupt: role("disrupt"), Adopt: role("adopt")},
	}}
}
