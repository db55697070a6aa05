package pack

import (
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// obstacles are the codes of a pool's "no", in the order a pod meets them. Those from besides on depend on other pods
// or on what is used already.
var obstacles = []string{TaintNotTolerated, RequirementConflict, ResourcesTooLarge, NoOffering, MinValues, LimitReached,
	HostPortTaken, VolumeConflict, VolumeLimit, TopologySpread, PodAffinity, PodAntiAffinity}

const besides = 4 // of MinValues, which limits can cause

// reasonProblems returns what is not true of the reasons of a plan. A reason is held against what the same pod, alone,
// on that pool, gets: with everything up to the obstacle left standing, nothing; with it and all behind it gone, a
// node.
func reasonProblems(in Input, plan model.Plan, most int) []string {
	var found []string
	failf := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	evaluated := make(map[string]bool)
	for _, u := range plan.Unschedulable {
		i := slices.IndexFunc(in.Snapshot.Pods, func(p model.Pod) bool { return p.UID == u.Pod.UID })
		if pools := completeness(in, u.Reasons); pools != "" {
			failf("pod %s: %s", u.Pod.Key(), pools)
			continue
		}
		for _, r := range u.Reasons {
			key := fmt.Sprint(in.Snapshot.Pods[i].Shape, r.Pool, r.Code)
			if r.Pool == "" || evaluated[key] || len(evaluated) >= most {
				continue
			}
			evaluated[key] = true
			rank := slices.Index(obstacles, r.Code)
			if rank < 0 {
				if got := Plan(onItsOwn(in, i, r.Pool, len(obstacles))); len(got.Claims) != 0 {
					failf("pod %s: %s %s, and alone it gets a node of it", u.Pod.Key(), r.Pool, r.Code)
				}
				continue
			}
			if rank < besides {
				if got := Plan(onItsOwn(in, i, r.Pool, rank+1)); len(got.Claims) != 0 {
					failf("pod %s: %s %s (%s), and alone it gets a node with that in its way", u.Pod.Key(), r.Pool, r.Code, r.Message)
				}
			}
			if got := Plan(onItsOwn(in, i, r.Pool, before(rank))); len(got.Claims) != 1 {
				failf("pod %s: %s %s (%s), and with that out of its way it gets %d nodes: %+v", u.Pod.Key(), r.Pool, r.Code, r.Message, len(got.Claims), got.Unschedulable)
			}
		}
	}
	return found
}

// before returns how many obstacles are surely looked at before the one of the rank. A rule between pods, or a volume,
// may rule a pool out as a whole, ahead of what the pod selects.
func before(rank int) int {
	if rank >= slices.Index(obstacles, HostPortTaken) {
		return slices.Index(obstacles, RequirementConflict)
	}
	return min(rank, besides)
}

// completeness says what is missing of one pod's reasons: one that no pool could cure, or one of each pool, in order.
func completeness(in Input, reasons []model.Reason) string {
	var named []string
	for _, r := range reasons {
		named = append(named, r.Pool)
	}
	if slices.Equal(named, []string{""}) {
		return ""
	}
	weight := make(map[string]int32)
	for _, p := range in.Snapshot.Pools {
		weight[p.Name] = p.Weight
	}
	want := slices.SortedFunc(maps.Keys(weight), func(a, b string) int {
		if weight[a] != weight[b] {
			return int(weight[b] - weight[a])
		}
		return slices.Compare([]string{a}, []string{b})
	})
	if !slices.Equal(named, want) {
		return fmt.Sprintf("reasons of pools %v, want %v", named, want)
	}
	return ""
}

// onItsOwn returns the input with nothing but one pod and one pool, and only the first so many obstacles left.
func onItsOwn(in Input, pod int, pool string, standing int) Input {
	s := *in.Snapshot
	p, shape := s.Pods[pod], s.Shapes[s.Pods[pod].Shape]
	p.NodeName, p.Unschedulable, p.Phase = "", true, model.Pending
	s.Nodes, s.CSINodes = nil, nil
	out := in
	out.Claims, out.Pending, out.Snapshot = nil, nil, &s
	only := s.Pools[slices.IndexFunc(s.Pools, func(x model.Pool) bool { return x.Name == pool })]
	only.Template.Requirements = slices.Clone(only.Template.Requirements)
	remove := func(rank int, how func()) {
		if standing <= rank {
			how()
		}
	}
	remove(0, func() { only.Template.Taints = nil })
	remove(1, func() { // volumes select nodes too
		shape.NodeSelector, shape.RequiredNodeAffinity = nil, nil
		shape.Ephemeral, p.Claims = nil, nil
	})
	remove(2, func() { shape.Requests, s.DaemonSets = model.Resources{model.Pods: 1}, nil })
	remove(3, func() { out.Catalogs = everythingAvailable(in.Catalogs) })
	remove(4, func() {
		for i := range only.Template.Requirements {
			only.Template.Requirements[i].MinValues = 0
		}
	})
	remove(5, func() { only.Limits, out.Usage = nil, nil })
	remove(6, func() { shape.HostPorts, shape.Spread, shape.PodAffinity, shape.PodAntiAffinity = nil, nil, nil, nil })
	s.Pods, s.Pools = []model.Pod{p}, []model.Pool{only}
	s.Shapes = slices.Clone(s.Shapes)
	s.Shapes[p.Shape] = shape
	return out
}

func everythingAvailable(catalogs map[string][]model.InstanceType) map[string][]model.InstanceType {
	out := make(map[string][]model.InstanceType)
	for class, types := range catalogs {
		types = slices.Clone(types)
		for i := range types {
			types[i].Offerings = slices.Clone(types[i].Offerings)
			for j := range types[i].Offerings {
				o := &types[i].Offerings[j]
				o.Available, o.ReservationCapacity = true, max(o.ReservationCapacity, 1)
			}
		}
		out[class] = types
	}
	return out
}
