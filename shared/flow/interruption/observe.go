package interruption

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// readState reads EC2 first, so that an instance it shows was recorded, if it ever was, before the ledger is read (S2), and
// the API server last. Instances of claims that were not among ours are asked for by id: a listing may miss some.
func (r *pass) readState(ctx context.Context) (view lifecycle.View, err error) {
	if r.clients, err = r.flow.Connector.Connect(ctx, r.reg); err != nil {
		return view, fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	began := r.Clock()
	instances, err := r.clients.Fleet.Owned(ctx, r.reg.Cluster)
	if err != nil {
		return view, fmt.Errorf("list the instances of cluster %s: %w", r.reg.Cluster, err)
	}
	if r.records, err = r.flow.Collector.Records(ctx, r.reg); err != nil {
		return view, fmt.Errorf("read the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.readAt = r.Clock()
	r.spent = r.readAt.Sub(began)
	if err := r.readLive(ctx, len(instances)+len(r.records.Claims) == 0); err != nil || r.out.Skipped != "" {
		return view, err
	}
	r.Unread(r.records.Unread)
	if unseen := r.count(instances); len(unseen) > 0 {
		found, err := r.clients.Fleet.DescribeInstances(ctx, unseen)
		if err != nil {
			return view, fmt.Errorf("describe %d instances of cluster %s: %w", len(unseen), r.reg.Cluster, err)
		}
		instances = append(instances, found...)
	}
	view = lifecycle.View{Cluster: r.reg.Cluster, Instances: instances, Records: r.records, Live: r.live}
	r.poll(ctx, &view)
	return view, nil
}

// readLive reads the API server. Where the cluster is vacant, and no watcher has ever published it, it may not have the chart yet.
func (r *pass) readLive(ctx context.Context, vacant bool) (err error) {
	never := func() bool {
		if !vacant || r.live.Undefined || r.flow.Peeks == nil {
			return false
		}
		manifest, _, _, err := r.flow.Peeks.Peek(ctx, r.reg.Cluster)
		return err == nil && manifest == nil
	}
	r.out.Skipped, err = work.ReadInstalled(never, r.reg.RelayURL != "", func() (err error) {
		r.live, err = r.clients.Cluster.ReadLive(ctx)
		return err
	})
	switch {
	case r.out.Skipped != "":
		return nil
	case r.live.Undefined && fault.Is(err, fault.NotFound) && fault.CodeOf(err) == model.CodeUndefined:
		r.out.Undefined = "the CustomResourceDefinition of NodeClaims is missing in the cluster, so only EC2 and the ledger are acted upon; joiner doctor says how to restore it"
	case err != nil:
		return fmt.Errorf("read cluster %s: %w", r.reg.Cluster, err)
	}
	return nil
}

// count counts instances, claims and nodes, and returns the ids of instances of live claims that are not among those given.
func (r *pass) count(instances []model.Instance) (unseen []string) {
	r.claims = map[string]bool{}
	for _, u := range r.records.Unread.Of(model.UnreadClaim) {
		r.claims[u.Name] = true
	}
	shown := map[string]bool{}
	for _, instance := range instances {
		shown[instance.ID] = true
	}
	r.out.Instances = len(shown)
	for _, claim := range r.records.Claims {
		r.claims[claim.Name] = true
		if !claim.Live() {
			continue
		}
		r.out.Claims++
		if claim.State == model.Registered || claim.State == model.Initialized {
			r.out.Nodes++
		}
		if claim.InstanceID != "" && !shown[claim.InstanceID] {
			unseen = append(unseen, claim.InstanceID)
		}
	}
	return unseen
}

// believable reports whether the API server shows no older state than one that was seen before. After a failover it may,
// for a while; when it goes on doing so it was restored from a backup, and that is how things are now.
func (r *pass) believable() bool {
	seen := r.records.Collector
	if r.live.Version == 0 || r.live.Version >= seen.SeenVersion || r.records.NowUnix-seen.SeenUnix >= int64(r.settings.BelieveOld.Seconds()) {
		return true
	}
	r.out.Skipped = "the API server returned an older state than before"
	r.Problem("the API server is at resource version %d and was at %d; objects it does not show are not taken for deleted", r.live.Version, seen.SeenVersion)
	return false
}
