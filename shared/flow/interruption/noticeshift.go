package interruption

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// shifts has ARC asked for the zonal shifts of the clusters that notices may be about, once for each cluster, and
// returns the other notices. What such a notice says is believed of nothing else.
func (n *notices) shifts(ctx context.Context, heard []clusterNotice) (others []clusterNotice) {
	var said []clusterNotice
	for _, s := range heard {
		if s.Kind == model.NoticeZonalShift {
			said = append(said, s)
		} else {
			others = append(others, s)
		}
	}
	if len(said) == 0 || n.flow.RequestShift == nil {
		return others
	}
	registrations, err := n.flow.Registry.Clusters(ctx)
	if err != nil {
		n.Problem("list attached clusters for a zonal shift: %v", err)
		n.fail(said...)
	}
	for i := range registrations {
		reg := &registrations[i]
		at := slices.IndexFunc(said, func(s clusterNotice) bool { return concernsCluster(&s.Notice, reg) })
		if at < 0 || reg.Paused {
			continue
		}
		key := "shift/" + keyOf(said[at:at+1])
		err := n.Effect(ctx, EffectHint, func() error { return n.flow.RequestShift(ctx, reg.Cluster, key) })
		if err != nil {
			n.Problem("send a hint to ask for the zonal shifts of cluster %s: %v", reg.Cluster, err)
			n.fail(said...)
			continue
		}
		n.Add(&n.out.Shifts, 1)
	}
	return others
}

// concernsCluster reports whether a notice of zonal shifts may be about a cluster.
func concernsCluster(notice *model.Notice, reg *model.Registration) bool {
	return (reg.Account == "" || notice.Account == reg.Account) && notice.Region == reg.Region &&
		(len(notice.Clusters) == 0 || slices.Contains(notice.Clusters, reg.Cluster))
}
