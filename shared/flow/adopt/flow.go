package adopt

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Flow is the adoption with its ports. It keeps nothing between runs.
type Flow struct {
	Registry  Registry
	Leases    Leases
	Ledger    Ledger
	Catalogs  Catalogs // nil = prices are not at hand
	Connector Connector

	// Now is this process's own clock. It measures how long things take; what time it is comes from the ledger.
	Now func() time.Time
	// Pause waits, and returns early with an error where the context ends.
	Pause    func(ctx context.Context, d time.Duration) error
	Progress func(text string) // takes what is waited for; nil = nobody wants to know
	Settings Settings
	Effects  EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	LeaseFor time.Duration // how long the lease is taken for at a time: 60 s
	WaitFor  time.Duration // how long somebody else's lease is waited for: 90 s
	AtOnce   int           // NodeClaims between two renewals of the lease: 25
}

func (s Settings) withDefaults() Settings {
	s.LeaseFor = cmp.Or(s.LeaseFor, time.Minute)
	s.WaitFor = cmp.Or(s.WaitFor, 90*time.Second)
	s.AtOnce = cmp.Or(s.AtOnce, 25)
	return s
}

// A Karpenter that stops is looked at so often, and for so long: its pods have 30 s to end, and its lease counts for a minute after that. While it
// runs, Karpenter renews the lease every two seconds.
const (
	stopsBefore = 5 * time.Second
	stopsWithin = 2 * time.Minute
)

// Request asks for one cluster.
type Request struct {
	Cluster string
	Owner   string // of the lease: unique to the run
	Apply   bool   // adopt; otherwise nothing is written
	// DespiteKarpenter goes on although Karpenter runs, or nobody can tell.
	DespiteKarpenter bool
}

// Outcome is what a run saw and did.
type Outcome struct {
	Cluster   string
	AtUnix    int64    // by the ledger's clock
	Karpenter []string // why Karpenter is taken to be at work, sentences; none where it is not
	Items     []Item   // by name
	Unclaimed []lifecycle.Unclaimed
	Others    int      // nodes of no NodePool: managed node groups and the like
	Warnings  []string // what could not be read and does not stop anything
}

// Item is one NodeClaim, with what was done about it.
type Item struct {
	lifecycle.Adoption
	Done    []string // effects, in their order
	Problem string   // what went wrong; the rest of it was not tried
}

// Problems returns how many items something went wrong with.
func (o *Outcome) Problems() int {
	n := 0
	for i := range o.Items {
		if o.Items[i].Problem != "" {
			n++
		}
	}
	return n
}

// Run looks at a cluster and, where it is asked to, adopts what can be adopted. An error means that it could not look, or may
// not begin: then nothing was written. What went wrong with one NodeClaim is in its item, and stops no other.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), request: request}
	if err := r.open(ctx); err != nil {
		return r.out, err
	}
	if err := r.readState(ctx); err != nil {
		return r.out, err
	}
	if !request.Apply {
		return r.out, nil
	}
	if err := r.lapse(ctx); err != nil {
		return r.out, err
	}
	if len(r.out.Karpenter) > 0 && !request.DespiteKarpenter {
		return r.out, fault.New(fault.Conflict, "KarpenterRuns", "Karpenter must not run while its nodes are adopted: %s", strings.Join(r.out.Karpenter, "; "))
	}
	if err := r.acquireLease(ctx); err != nil {
		return r.out, err
	}
	defer r.release(ctx)
	if err := r.readState(ctx); err != nil { // what was seen before may have changed while the lease was waited for
		return r.out, err
	}
	return r.out, r.adopt(ctx)
}

// pass is one run at work.
type pass struct {
	*Flow
	settings Settings
	request  Request
	out      Outcome

	reg     model.Registration
	clients Clients
	fence   model.Fence
	read    time.Time // by this process's clock, when the ledger said what time it is: out.AtUnix
	until   time.Time // by this process's clock, when the lease ends

	stops   bool  // Karpenter was asked to stop, and may not have yet
	pods    int64 // of Karpenter's Deployments that are left
	renewed int64 // when Karpenter's lease was renewed; 0 = there is none
}

func (r *pass) open(ctx context.Context) (err error) {
	r.out.Cluster = r.request.Cluster
	r.reg, err = r.Registry.Cluster(ctx, r.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("%w; attach it first", err)
	}
	if err != nil {
		return err
	}
	if r.clients, err = r.Connector.Connect(ctx, r.reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	return nil
}

// readState reads EC2 first, then the ledger, then the API server, so that whatever came into being in between is known to the
// later source, and says what becomes of each NodeClaim.
func (r *pass) readState(ctx context.Context) (err error) {
	h := lifecycle.Handover{Cluster: r.reg.Cluster, CA: r.reg.CA}
	r.out = Outcome{Cluster: r.reg.Cluster}
	if h.Instances, err = r.clients.Fleet.Managed(ctx, r.reg.Cluster); err != nil {
		return fmt.Errorf("list the instances of cluster %s: %w", r.reg.Cluster, err)
	}
	if h.Records, err = r.Ledger.Records(ctx, r.reg); err != nil {
		return fmt.Errorf("read the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	if unread := h.Records.Unread; unread.Any(model.UnreadClaim, model.UnreadIntent) {
		return fault.New(fault.Conflict, "Unread", "the ledger of cluster %s has items that cannot be read, so it is unknown what is adopted already: %s; joiner doctor says what to do about them",
			r.reg.Cluster, strings.Join(unread.Texts(), "; "))
	}
	r.read, r.out.AtUnix = r.Now(), h.Records.NowUnix
	h.Intent = lifecycle.AdoptedIntent + time.Unix(h.Records.NowUnix, 0).UTC().Format("20060102T150405Z")
	if h.Config, err = r.clients.Cluster.Configuration(ctx); err != nil {
		return fmt.Errorf("read the NodePools and EC2NodeClasses of cluster %s: %w", r.reg.Cluster, err)
	}
	if h.Live, err = r.clients.Cluster.ReadLive(ctx); err != nil {
		return fmt.Errorf("read cluster %s: %w", r.reg.Cluster, err)
	}
	if err := r.unlisted(ctx, &h); err != nil {
		return err
	}
	r.karpenter(ctx)
	r.prices(ctx, &h)
	adoptions, unclaimed := lifecycle.Adoptions(&h)
	for _, adoption := range adoptions {
		r.out.Items = append(r.out.Items, Item{Adoption: adoption})
	}
	r.out.Unclaimed = unclaimed
	for i := range h.Live.Nodes {
		if h.Live.Nodes[i].Pool() == "" {
			r.out.Others++
		}
	}
	return nil
}

// unlisted asks for the instances of NodeClaims that were not among those with the cluster's tags, by their ids.
func (r *pass) unlisted(ctx context.Context, h *lifecycle.Handover) error {
	listed := map[string]bool{}
	for i := range h.Instances {
		listed[h.Instances[i].ID] = true
	}
	var ids []string
	for i := range h.Live.Objects {
		if id := lifecycle.InstanceID(h.Live.Objects[i].Claim.ProviderID); id != "" && !listed[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := r.clients.Fleet.DescribeInstances(ctx, ids)
	if err != nil {
		return fmt.Errorf("describe %d instances of cluster %s: %w", len(ids), r.reg.Cluster, err)
	}
	h.Instances = append(h.Instances, found...)
	return nil
}

// karpenter finds out whether Karpenter runs. Where nobody can tell, it is taken to.
func (r *pass) karpenter(ctx context.Context) {
	r.stops, r.renewed = false, 0
	seen, err := r.clients.Karpenter.Karpenter(ctx)
	if err != nil {
		r.out.Karpenter = []string{fmt.Sprintf("whether it runs is unknown: %v", err)}
		return
	}
	r.out.Karpenter = lifecycle.Running(seen, r.out.AtUnix)
	r.stops = lifecycle.Stops(seen, r.out.AtUnix)
	if r.pods = 0; seen.Lease != nil {
		r.renewed = seen.Lease.RenewedUnix
	}
	for _, d := range seen.Deployments {
		r.pods += d.Running
	}
}

// lapse waits until a Karpenter that was just stopped is gone: its pods, and then its lease, which it keeps when it ends. Where the lease is renewed
// without them, or anything else says that Karpenter runs, nothing is waited for.
func (r *pass) lapse(ctx context.Context) error {
	for waited := time.Duration(0); r.stops && !r.request.DespiteKarpenter && waited < stopsWithin; waited += stopsBefore {
		pods, renewed := r.pods, r.renewed
		if waited == 0 && r.Progress != nil {
			r.Progress("waiting until Karpenter has stopped: " + strings.Join(r.out.Karpenter, "; "))
		}
		if err := r.Pause(ctx, stopsBefore); err != nil {
			return err
		}
		if err := r.readState(ctx); err != nil {
			return err
		}
		if pods == 0 && r.renewed > renewed {
			return nil
		}
	}
	return nil
}

// prices gets what instances cost; without a catalog claims are recorded without a price.
func (r *pass) prices(ctx context.Context, h *lifecycle.Handover) {
	if r.Catalogs == nil {
		return
	}
	catalog, err := r.Catalogs.RegionCatalog(ctx, r.reg)
	if err != nil {
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("prices are unknown: %v", err))
		return
	}
	h.InstanceTypes = catalog.Types
}

// acquireLease takes the collector's lease, waiting for whoever has it. Its times are by the ledger's clock.
func (r *pass) acquireLease(ctx context.Context) error {
	began := r.Now()
	for {
		err := r.renew(ctx)
		if !fault.Is(err, fault.Conflict) || r.Now().Sub(began) >= r.settings.WaitFor {
			return err
		}
		if err := r.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// renew takes the lease, or takes it again, unless most of it is left.
func (r *pass) renew(ctx context.Context) error {
	now := r.Now()
	if r.until.Sub(now) > r.settings.LeaseFor/2 {
		return nil
	}
	nowUnix := r.out.AtUnix + int64(now.Sub(r.read).Seconds())
	fence, err := r.Leases.AcquireLease(ctx, r.reg.Cluster, model.LeaseCollector, r.request.Owner, nowUnix, nowUnix+int64(r.settings.LeaseFor.Seconds()))
	if err != nil {
		return fmt.Errorf("acquire the collector's lease of cluster %s: %w", r.reg.Cluster, err)
	}
	r.fence, r.until = fence, now.Add(r.settings.LeaseFor)
	if err := r.still(ctx); err != nil {
		r.release(ctx)
		return err
	}
	return nil
}

// still reads the registration again once the lease is held: nobody bounds how long this run takes, and whoever detaches a cluster
// keeps its leases for a while only.
func (r *pass) still(ctx context.Context) error {
	reg, err := r.Registry.Cluster(ctx, r.request.Cluster)
	switch {
	case fault.Is(err, fault.NotFound):
		return fmt.Errorf("cluster %s was detached meanwhile, and what is not adopted yet is left as it is: %w", r.request.Cluster, err)
	case err != nil:
		return fmt.Errorf("read the registration of cluster %s again: %w", r.request.Cluster, err)
	case reg.ARN != r.reg.ARN:
		return fault.New(fault.NotFound, "OtherCluster", "cluster %s is %s now, and was %s at the start; run this again", r.request.Cluster, reg.ARN, r.reg.ARN)
	}
	return nil
}

// release releases the lease even when the run's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("release the lease, which expires by itself: %v", err))
	}
}
