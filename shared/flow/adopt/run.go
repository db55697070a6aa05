package adopt

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Run looks at a cluster and, where it is asked to, adopts what can be adopted. An error means that it could not look, or may
// not begin: then nothing was written. What went wrong with one NodeClaim is in its item, and stops no other.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: work.WithDefaults(f.Settings), request: request}
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

// A Karpenter that stops is looked at so often, and for so long: its pods have 30 s to end, and its lease counts for a minute after that. While it
// runs, Karpenter renews the lease every two seconds.
const (
	stopsBefore = 5 * time.Second
	stopsWithin = 2 * time.Minute
)

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
