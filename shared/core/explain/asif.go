package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	maxObstacles = 10 // looked for in one pool
	maxEvaluated = 30 // pools looked into; of the others the first obstacle is reported
)

// Fit is what a pod would get.
type Fit struct {
	Pool     string            `json:"nodePool,omitempty"`
	Offering model.OfferingKey `json:"offer,omitzero"` // the cheapest of a new node
	Price    model.MicroUSD    `json:"price,omitempty"`
	Node     string            `json:"node,omitempty"` // one that exists or is on its way
}

// String says it as part of a sentence.
func (f *Fit) String() string {
	if f.Node != "" {
		return "it would run on " + f.Node
	}
	if f.Offering.CapacityType == model.Reserved {
		return fmt.Sprintf("NodePool %s would hold it on reserved %s in %s", f.Pool, f.Offering.InstanceType, f.Offering.Zone)
	}
	return fmt.Sprintf("NodePool %s would hold it on %s %s in %s at $%.4f per hour", f.Pool, f.Offering.InstanceType, f.Offering.CapacityType, f.Offering.Zone, f.Price.USD())
}

// obstacles returns everything that keeps pod i off new nodes of a pool, each as the planner tells it once those before it are out
// of the way, and what the pod would get then; nil where that was not found out.
func obstacles(in *pack.Input, i int, pool model.Pool) ([]model.Reason, *Fit) {
	h := suppose(in, i, pool)
	var out []model.Reason
	for len(out) < maxObstacles {
		plan := pack.Plan(h.in)
		if len(plan.Unschedulable) == 0 {
			return out, fitOf(&plan)
		}
		reasons := plan.Unschedulable[0].Reasons
		if len(reasons) == 0 || slices.Contains(out, reasons[0]) {
			return out, nil
		}
		out = append(out, reasons[0])
		if !h.without(reasons[0]) {
			return out, nil
		}
	}
	return out, nil
}

func fitOf(plan *model.Plan) *Fit {
	switch {
	case len(plan.Claims) > 0:
		c := &plan.Claims[0]
		return &Fit{Pool: c.Pool, Offering: c.Offering, Price: c.Price}
	case len(plan.Nominations) > 0:
		return &Fit{Node: plan.Nominations[0].Node}
	}
	return nil
}

// hypothesis is a cluster with one pool, asked for a place for one pod, in which obstacles are taken away one by one.
type hypothesis struct {
	in    pack.Input
	pool  *model.Pool
	shape *model.PodShape
	pod   *model.Pod
}

// suppose returns a hypothesis of its own: nothing that it changes is the input's.
func suppose(in *pack.Input, i int, pool model.Pool) *hypothesis {
	snapshot := *in.Snapshot
	snapshot.Pods, snapshot.Shapes = slices.Clone(snapshot.Pods), slices.Clone(snapshot.Shapes)
	pod := &snapshot.Pods[i]
	snapshot.Shapes = append(snapshot.Shapes, snapshot.Shapes[pod.Shape])
	pod.Shape = len(snapshot.Shapes) - 1
	snapshot.Pools = []model.Pool{pool}
	h := &hypothesis{in: *in, pool: &snapshot.Pools[0], shape: &snapshot.Shapes[pod.Shape], pod: pod}
	h.in.Snapshot, h.in.Pending, h.in.IgnorePreferences, h.in.Salt = &snapshot, []int{i}, true, "why"
	h.in.Settled, h.in.Expected = nil, nil
	return h
}

// without takes away what a reason is about; false where it is not known how.
func (h *hypothesis) without(r model.Reason) bool {
	s := h.shape
	switch r.Code {
	case pack.PoolInvalid:
		h.pool.Invalid = nil
		if contradicts(h.pool) {
			h.pool.Template.Requirements = nil
		}
	case pack.PoolSuspended:
		h.in.SuspendedPools = nil
	case pack.PoolDeleting:
		h.pool.DeletedUnix = 0
	case pack.PoolStatic:
		h.pool.Replicas = nil
	case pack.ClassNotReady:
		return h.withClass()
	case pack.NoInstanceTypes:
		h.pool.Template.Requirements = nil
	case pack.TaintNotTolerated:
		for _, taint := range h.pool.Template.Taints {
			if text(taint) == r.About {
				s.Tolerations = append(slices.Clone(s.Tolerations), model.Toleration{Key: taint.Key, Operator: "Exists", Effect: taint.Effect})
			}
		}
	case pack.RequirementConflict:
		h.unselect(r.About)
	case pack.VolumeConflict, pack.VolumeLimit:
		h.pod.Claims, s.Ephemeral = nil, nil
	case pack.DevicesUnavailable:
		s.DynamicResource, s.DeviceClaims = false, nil
	case pack.HostPortTaken:
		s.HostPorts = nil
	case pack.ResourcesTooLarge:
		s.Requests = model.Resources{model.Pods: 1}
	case pack.NoOffering:
		h.offerAll()
	case pack.LimitReached:
		h.pool.Limits = nil
	case pack.MinValues:
		h.in.BestEffortMinValues = true
	case pack.TopologySpread:
		s.Spread = nil
	case pack.PodAffinity:
		s.PodAffinity = nil
	case pack.PodAntiAffinity:
		s.PodAntiAffinity, s.Labels = nil, nil
	default:
		return false
	}
	return true
}

// contradicts reports whether the pool's requirements cannot be read, or exclude each other.
func contradicts(pool *model.Pool) bool {
	read, err := requirement.From(pool.Template.Requirements)
	return err != nil || !read.Intersect(requirement.FromLabels(pool.Template.Labels)).Possible()
}

// withClass takes the pool's class for ready. One that nothing is known of is taken to buy what another does; false where there is none.
func (h *hypothesis) withClass() bool {
	class := h.pool.Template.ClassName
	h.in.ClassProblems = maps.Clone(h.in.ClassProblems)
	delete(h.in.ClassProblems, class)
	if h.in.Catalogs[class] != nil {
		return true
	}
	for _, other := range slices.Sorted(maps.Keys(h.in.Catalogs)) {
		if len(h.in.Catalogs[other]) > 0 {
			h.in.Catalogs = maps.Clone(h.in.Catalogs)
			h.in.Catalogs[class] = h.in.Catalogs[other]
			return true
		}
	}
	return false
}

// unselect takes a label out of what the pod asks of its node; the empty one stands for all.
func (h *hypothesis) unselect(key string) {
	s := h.shape
	if key == "" {
		s.NodeSelector, s.RequiredNodeAffinity = nil, nil
		return
	}
	s.NodeSelector = maps.Clone(s.NodeSelector)
	maps.DeleteFunc(s.NodeSelector, func(written, _ string) bool { return requirement.Normalize(written) == key })
	terms := slices.Clone(s.RequiredNodeAffinity)
	for i := range terms {
		terms[i].Requirements = slices.DeleteFunc(slices.Clone(terms[i].Requirements), func(r model.Requirement) bool { return requirement.Normalize(r.Key) == key })
		if len(terms[i].Requirements)+len(terms[i].Fields) == 0 {
			terms = nil // one alternative asks for nothing else
			break
		}
	}
	s.RequiredNodeAffinity = terms
}

// offerAll makes everything the pool's class sells available.
func (h *hypothesis) offerAll() {
	class := h.pool.Template.ClassName
	types := slices.Clone(model.CatalogOf(h.in.Catalogs, class, h.pool.Name))
	for t := range types {
		types[t].Offerings = slices.Clone(types[t].Offerings)
		for o := range types[t].Offerings {
			types[t].Offerings[o].Available = true
			types[t].Offerings[o].ReservationCapacity = max(1, types[t].Offerings[o].ReservationCapacity)
		}
	}
	h.in.Catalogs = maps.Clone(h.in.Catalogs)
	h.in.Catalogs[class], h.in.UnavailableOfferings = types, nil
	delete(h.in.Catalogs, model.CatalogKey(class, h.pool.Name)) // the class sells what the pool sees of it
}

// text writes a taint as people do.
func text(t model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}
