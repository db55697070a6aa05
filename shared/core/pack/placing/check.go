package placing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/topology"
)

// Codes returns the code of every rule that keeps the pod of the pod group off existing node n, sorted.
func (l *Placement) Codes(pod, n int) []string {
	s, c := l.Existing.List[n], l.podGroup
	var out []string
	if hard, _ := c.Untolerated(s.Taints); hard != nil {
		out = append(out, input.TaintNotTolerated)
	}
	if !existing.MeetsAny(c.OwnThere, s) {
		out = append(out, input.RequirementConflict)
	}
	if c.VolumeTerms != nil && !existing.MeetsAny(c.VolumeTerms, s) {
		out = append(out, input.VolumeConflict)
	}
	if !c.Request.Fits(s.Free) {
		out = append(out, input.ResourcesTooLarge)
	}
	if _, clash := topology.PortConflict(c.Ports, s.Ports); clash {
		out = append(out, input.HostPortTaken)
	}
	c.Pods = []int{pod}
	if c.Attaches && !l.Existing.Attachable(s, c.Pods) {
		out = append(out, input.VolumeLimit)
	}
	if c.DeviceTerms != nil && !existing.MeetsAny(c.DeviceTerms, s) || !l.Existing.Devices(s, c) {
		out = append(out, input.DevicesUnavailable)
	}
	for i := range c.Constraints {
		if code := l.useRefuses(i, n); code != "" {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// useRefuses returns the code of the pod group's i-th rule where it keeps a pod off existing node n; empty where it
// does not.
func (l *Placement) useRefuses(i, n int) string {
	u, s := &l.podGroup.Constraints[i], l.Existing.List[n]
	t := &l.Rules.TopologyGroups[u.TopologyGroup]
	value, there := s.Label(t.Key)
	count := t.Count[value]
	if t.Host {
		count = t.ByNode[n]
	}
	switch u.Kind {
	case group.Affinity:
		if u.Claim { // there is no volume yet, and where it will be is not decided
			return ""
		}
		if !there || count == 0 && !l.bootstraps() {
			return input.PodAffinity
		}
	case group.AntiAffinity:
		if there && count > 0 {
			return input.PodAntiAffinity
		}
	case group.Spread:
		low := int32(0)
		if t.Host {
			low = l.hostLow(i, n)
		} else {
			low = l.lowest(t, l.universe[i], u.MinDomains)
		}
		if !there || count+u.Self-low > u.MaxSkew {
			return input.TopologySpread
		}
	}
	return ""
}
