package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// suspiciousCPUMilli is a request that more likely forgot its "m" than asks for a thousand instances.
const suspiciousCPUMilli = 1_000_000_000

// unschedulable returns the pods nothing can hold, by key, each with the reasons of its pod group.
func (b *solver) unschedulable() []model.Unschedulable {
	reasons := make(map[int][]model.Reason)
	for _, c := range b.podGroups {
		if len(c.Pods) == 0 {
			continue
		}
		why := make(map[*group.PodGroup][]model.Reason)
		for _, i := range c.Pods {
			own := c
			if b.podGroupOf != nil && b.podGroupOf[i] != nil { // what the pod asks for, not those it was put beside
				own = b.podGroupOf[i]
			}
			if why[own] == nil {
				if own.Blocked == nil {
					own.Blocked = c.Blocked
				}
				why[own] = reasonsFor(b.planner, own)
			}
			reasons[i] = why[own]
		}
	}
	out := []model.Unschedulable{}
	if len(reasons)+len(b.refused) == 0 {
		return out
	}
	for _, i := range b.pending {
		why := reasons[i]
		if no := b.refused[i]; no != nil {
			why = []model.Reason{*no}
		}
		if len(why) > 0 {
			pod := &b.in.Snapshot.Pods[i]
			out = append(out, model.Unschedulable{Pod: pod.Ref(), Reasons: why})
		}
	}
	return out
}

// reasonsFor says, pool by pool, why the pod group is left over.
func reasonsFor(p *newnodes.Planner, c *group.PodGroup) []model.Reason {
	if len(p.Pools()) == 0 {
		return []model.Reason{{Code: NoPools, Message: "the cluster has no NodePool", Remedy: "create a NodePool"}}
	}
	var out []model.Reason
	for _, pool := range p.Pools() {
		if pool.Skip != nil {
			out = append(out, *pool.Skip)
			continue
		}
		why := why(p, c, pool)
		why.Pool = pool.Source.Name
		out = append(out, why)
	}
	return out
}

// why finds the first thing that keeps the pod group off new nodes of the pool.
func why(p *newnodes.Planner, c *group.PodGroup, pool *offerings.Pool) model.Reason {
	if hard, _ := c.Untolerated(pool.Source.Template.Taints); hard != nil {
		return model.Reason{Code: TaintNotTolerated,
			Message: fmt.Sprintf("spec.tolerations do not cover the pool's taint %s", TaintText(*hard)),
			Remedy:  "add a toleration to the pod, or use a pool without the taint", About: TaintText(*hard)}
	}
	if c.Unplaceable != nil {
		return *c.Unplaceable
	}
	variants := pool.Variants(c.Needs, nil)
	if len(variants) == 0 && c.Suitable != nil {
		return model.Reason{Code: DevicesUnavailable,
			Message: "spec.resourceClaims: the pool launches none of the instance types whose devices suffice and that the " +
				"pod allows: " + offering.AbbreviateValues(c.Suitable),
			Remedy: "let the pool allow one of them, or claim other devices"}
	}
	if len(variants) == 0 && len(pool.Variants(c.Own, nil)) > 0 {
		return model.Reason{Code: VolumeConflict, Message: "its volumes are where the pool launches no nodes: " + domainsText(c),
			Remedy: "let a NodePool launch nodes there, or move the volume"}
	}
	if len(variants) == 0 {
		return conflictOf(pool, c)
	}
	accepted := union(variants)
	if portable := pool.Variants(c.Needs, c.Ports); len(portable) == 0 {
		return model.Reason{Code: HostPortTaken, Message: "spec.containers[].ports[].hostPort: a DaemonSet pod on every node it may use takes the port",
			Remedy: "use another host port, or exclude the DaemonSet from some nodes"}
	}
	if len(c.Conflicts) > 0 && len(pool.Without(variants, c.Conflicts)) == 0 {
		return kept(p, c)
	}
	if sets := takesDevices(p, c, pool, accepted); len(sets) > 0 {
		return model.Reason{Code: DevicesUnavailable,
			Message: c.Devices[0].Field + ": on every node it may use too few devices are left beside those that " +
				"pods of " + strings.Join(sets, ", ") + " claim",
			Remedy: "let the pool use instance types with more devices, or exclude the DaemonSet from some nodes"}
	}
	roomy := holding(pool, accepted, c.Request)
	if roomy.And(pool.Open).Empty() {
		why := noOffering(p, pool, roomy)
		if roomy.Empty() {
			why = tooLarge(p, c, pool, accepted)
		}
		if wide := pool.Variants(c.Own, nil); len(wide) > 0 && !holding(pool, union(wide), c.Request).And(pool.Open).Empty() {
			why.Message = "its volumes restrict it to " + domainsText(c) + ": " + why.Message
		}
		return why
	}
	if c.Blocked != nil {
		return *c.Blocked
	}
	return limit(pool, roomy.And(pool.Open))
}

// domainsText says where the pod group's node must be.
func domainsText(c *group.PodGroup) string {
	var parts []string
	for _, term := range c.Needs[:min(len(c.Needs), 3)] {
		parts = append(parts, term.String())
	}
	return strings.Join(parts, " or ")
}

func union(variants []offerings.Variant) vector.Bitset {
	out := variants[0].OfferingSet.Mask
	for _, g := range variants[1:] {
		out = out.Or(g.OfferingSet.Mask)
	}
	return out
}

// holding returns the columns of mask whose types hold the request.
func holding(p *offerings.Pool, mask vector.Bitset, request vector.Vector) vector.Bitset {
	out := vector.NewBitset(len(p.Market.Columns))
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		if request.Fits(p.Free[p.Market.Columns[c].Instance]) {
			out.Set(c)
		}
	}
	return out
}

// conflictOf says which requirement of the pod group's first alternative the pool cannot meet.
func conflictOf(p *offerings.Pool, c *group.PodGroup) model.Reason {
	term := c.Own[0]
	remedy := "change the pod's node selection, or let a pool allow it"
	combined := p.Custom.Intersect(p.Requirements)
	for _, key := range term.Keys() {
		if key == model.LabelHostname && !term[key].Meets(combined.Get(key)) {
			return model.Reason{Code: RequirementConflict, Message: fieldOf(c, key) + " requires " + term[key].Text(key) + ", which no new node has",
				Remedy: "select nodes by another label", About: key}
		}
		single := requirement.Requirements{key: term[key]}
		if conflict := combined.Compatible(single, offerings.Decided); conflict != nil {
			return model.Reason{Code: RequirementConflict, Message: fieldOf(c, key) + " requires " + clash(conflict),
				Remedy: remedy, About: key}
		}
		if p.Market.ColumnsMeeting(single).And(p.Allowed).Empty() {
			known := openLabelValues(p, key)
			message := fmt.Sprintf("%s requires %s, which none of the %d instance types the pool allows has", fieldOf(c, key), term[key].Text(key), countTypes(p, p.Allowed))
			if len(known) > 0 {
				message += "; they have " + offering.AbbreviateValues(known)
			}
			return model.Reason{Code: RequirementConflict, Message: message + meant(term[key], known),
				Remedy: remedy, About: key}
		}
	}
	return model.Reason{Code: RequirementConflict,
		Message: fmt.Sprintf("%s requires %s, which no single instance type of the pool has", fieldOf(c, ""), term), Remedy: remedy}
}

// clash says what a conflict is between.
func clash(conflict *requirement.Conflict) string {
	wanted := conflict.Incoming.Text(conflict.Key)
	switch {
	case !conflict.Undefined:
		known, _ := conflict.Existing.Listed()
		return wanted + ", and the pool has " + conflict.Existing.Text(conflict.Key) + meant(conflict.Incoming, known)
	case conflict.Hint != "":
		return wanted + ", a label the pool does not define; did you mean " + conflict.Hint + "?"
	default:
		return wanted + ", a label the pool does not define"
	}
}

// meant asks whether another of the values there are was meant by the one that is asked for; "" where none is near.
func meant(wanted requirement.Set, known []string) string {
	if value, one := wanted.Single(); one {
		if near := requirement.Nearest(value, known); near != "" {
			return "; did you mean " + near + "?"
		}
	}
	return ""
}

// openLabelValues returns the values of a label that nodes of the pool can have, sorted.
func openLabelValues(p *offerings.Pool, key string) []string {
	var types []model.InstanceType
	for t, columns := range p.Market.ColumnsOf {
		var offerings []model.Offering
		for _, c := range columns {
			if p.Allowed.Has(c) {
				offerings = append(offerings, *p.Market.Columns[c].Offering)
			}
		}
		if len(offerings) > 0 {
			typ := *p.Market.Types[t]
			typ.Offerings = offerings
			types = append(types, typ)
		}
	}
	return offering.Values(types, key)
}

// fieldOf names where the pod asks for the label.
func fieldOf(c *group.PodGroup, key string) string {
	for written := range c.Selector { // whether any matches does not depend on the order
		if requirement.Normalize(written) == key {
			return "spec.nodeSelector"
		}
	}
	if key == "" && len(c.Selector) > 0 {
		return "spec.nodeSelector with spec.affinity.nodeAffinity"
	}
	return "spec.affinity.nodeAffinity"
}

// takesDevices returns the DaemonSets that leave too few devices for the pod group on each type of the columns; nil
// where some type has enough.
func takesDevices(p *newnodes.Planner, c *group.PodGroup, pool *offerings.Pool, columns vector.Bitset) []string {
	if len(c.Devices) == 0 || pool.Claimants == nil {
		return nil
	}
	var names []string
	for col := columns.Next(0); col >= 0; col = columns.Next(col + 1) {
		t := pool.Market.Columns[col].Instance
		if newnodes.DevicesOf(p.Devices, pool, t).TakeAll(c.Devices) != nil {
			return nil
		}
		for _, i := range pool.Claimants[t] {
			set := &p.In.Snapshot.DaemonSets[i]
			names = append(names, "DaemonSet "+set.Namespace+"/"+set.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func countTypes(p *offerings.Pool, mask vector.Bitset) int {
	seen := make([]bool, len(p.Market.Types))
	n := 0
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		if t := p.Market.Columns[c].Instance; !seen[t] {
			seen[t] = true
			n++
		}
	}
	return n
}

// tooLarge says which resources exceed what the largest type the pod group may use leaves beside its daemons.
func tooLarge(p *newnodes.Planner, c *group.PodGroup, pool *offerings.Pool, accepted vector.Bitset) model.Reason {
	most := make(vector.Vector, len(p.Dims))
	for col := accepted.Next(0); col >= 0; col = accepted.Next(col + 1) {
		for d, amount := range pool.Free[pool.Market.Columns[col].Instance] {
			most[d] = max(most[d], amount)
		}
	}
	var parts []string
	for d, name := range p.Dims {
		if c.Request[d] > most[d] && strings.Contains(name, "/") && lacks(pool, accepted, name) { // a device
			return noDevice(pool, name)
		}
		if c.Request[d] > most[d] {
			parts = append(parts, fmt.Sprintf("%s %s (at most %s)", name, resource.Format(name, c.Request[d]), resource.Format(name, most[d])))
		}
	}
	message := fmt.Sprintf("spec.containers[].resources.requests add up to %s, which none of the %d instance types it may use has, less the requests of DaemonSets",
		resource.String(c.Resources), countTypes(pool, accepted))
	if len(parts) > 0 {
		message = fmt.Sprintf("spec.containers[].resources.requests exceed the capacity of each of the %d instance types it may use, less the requests of DaemonSets: %s",
			countTypes(pool, accepted), strings.Join(parts, ", "))
	}
	if c.Resources[model.CPU] >= suspiciousCPUMilli {
		message += `; was "m" left out of the CPU request?`
	}
	return model.Reason{Code: ResourcesTooLarge, Message: message,
		Remedy: "lower the requests, or let the pool use larger instance types"}
}

// lacks reports whether no type among the columns has any of a resource.
func lacks(p *offerings.Pool, columns vector.Bitset, name string) bool {
	for c := columns.Next(0); c >= 0; c = columns.Next(c + 1) {
		if p.Market.Types[p.Market.Columns[c].Instance].Capacity[name] > 0 {
			return false
		}
	}
	return true
}

// noDevice says that no type the pool allows has a device, and which categories of instance types do.
func noDevice(p *offerings.Pool, name string) model.Reason {
	var categories []string
	for _, t := range p.Market.Types {
		if t.Capacity[name] > 0 {
			categories = append(categories, t.Labels[requirement.InstanceCategory]...)
		}
	}
	slices.Sort(categories)
	categories = slices.Compact(categories)
	out := model.Reason{Code: ResourcesTooLarge, Message: "spec.containers[].resources.requests: no instance type the pool allows has " + name}
	out.Remedy = "let the pool allow instance types with " + name + ", which are of the categories " + offering.AbbreviateValues(categories) + " (" + requirement.InstanceCategory + ")"
	if len(categories) == 0 {
		out.Remedy = "request another resource: no instance type of the pool's EC2NodeClass has " + name
	}
	return out
}

// noOffering says that everything that could hold the pod group is unavailable, and until when as far as unavailable
// offerings tell.
func noOffering(p *newnodes.Planner, pool *offerings.Pool, roomy vector.Bitset) model.Reason {
	until, reserved := int64(0), true
	var codes []string
	shifted := map[string]bool{}
	for c := roomy.Next(0); c >= 0; c = roomy.Next(c + 1) {
		col := &pool.Market.Columns[c]
		reserved = reserved && col.Offering.CapacityType == model.Reserved
		name := pool.Market.Types[col.Instance].Name
		for _, unavailable := range p.In.UnavailableOfferings {
			if unavailable.UntilUnix > p.In.NowUnix && offering.Closes(unavailable, name, col.Offering) {
				codes = append(codes, unavailable.Reason)
				if unavailable.ZoneID != "" {
					shifted[col.Offering.Zone+" ("+unavailable.ZoneID+")"] = true
				}
				if until == 0 || unavailable.UntilUnix < until {
					until = unavailable.UntilUnix
				}
			}
		}
	}
	message := fmt.Sprintf("all %d offerings that could hold it are unavailable", roomy.Count())
	remedy := "let the pod or the pool use more instance types, zones or capacity types"
	if until != 0 {
		slices.Sort(codes)
		message += fmt.Sprintf(" (%s); the first is tried again at %s", strings.Join(slices.Compact(codes), ", "), time.Unix(until, 0).UTC().Format(time.RFC3339))
		remedy = "wait, or " + remedy
	}
	if len(shifted) > 0 {
		message += ": a zonal shift of the cluster is in force in " + strings.Join(slices.Sorted(maps.Keys(shifted)),
			", ")
		remedy = "wait for its end, or let the pod and the pool use other zones"
	}
	switch {
	case slices.ContainsFunc(codes, quota):
		remedy = "raise the account's quota of EC2 (Service Quotas), or " + strings.TrimPrefix(remedy, "wait, or ")
	case reserved && roomy.Count() > 0:
		message += ": the capacity reservations it may use are full or expired"
		remedy = "enlarge the reservation, or let the pool use on-demand or spot capacity too"
	}
	return model.Reason{Code: NoOffering, Message: message, Remedy: remedy}
}

// quota reports whether an error of EC2's says that a quota of the account is used up. Source: the error codes of the
// EC2 API reference.
func quota(code string) bool {
	return code == "VcpuLimitExceeded" || code == "MaxSpotInstanceCountExceeded" || code == "InstanceLimitExceeded"
}

// limit says what of the pool's limits is too little, or that minValues cannot be met.
func limit(pool *offerings.Pool, usable vector.Bitset) model.Reason {
	var smallest []int64
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		taken := pool.Taken[c]
		if offerings.Within(taken, pool.Left) {
			return minValues(pool)
		}
		if smallest == nil {
			smallest = slices.Clone(taken)
		}
		for i := range taken {
			smallest[i] = min(smallest[i], taken[i])
		}
	}
	var parts []string
	for i, name := range pool.Limited {
		if pool.Left[i] < 0 || smallest[i] > pool.Left[i] {
			parts = append(parts, fmt.Sprintf("spec.limits.%s %s leaves %s, and a node for it needs at least %s", name,
				resource.Format(name, pool.Source.Limits[name]), resource.Format(name, pool.Left[i]), resource.Format(name, smallest[i])))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no instance type that could hold it fits within what is left of spec.limits"}
	}
	return model.Reason{Code: LimitReached, Message: strings.Join(parts, "; "),
		Remedy: "raise the limit, or wait until nodes of the pool are removed"}
}

// minValues says which keys the pool asks several values of; it is the only condition left where offerings are within
// the limits.
func minValues(pool *offerings.Pool) model.Reason {
	var parts []string
	for _, key := range pool.Requirements.Keys() {
		if pool.Requirements[key].MinValues() > 0 {
			parts = append(parts, pool.Requirements[key].Text(key))
		}
	}
	if len(parts) == 0 {
		return model.Reason{Code: LimitReached,
			Message: "other pods of the same plan took the nodes that could hold it",
			Remedy:  "wait for the next plan"}
	}
	return model.Reason{Code: MinValues,
		Message: "the instance types that hold the pod, within spec.limits, have too few different values for " + strings.Join(parts, " and "),
		Remedy:  "lower minValues, or let the pool or the pod use more instance types"}
}

// kept says that daemons of every node it may use keep the pod group out, or it keeps them out.
func kept(p *newnodes.Planner, c *group.PodGroup) model.Reason {
	set := p.In.Snapshot.DaemonSets[c.Conflicts[0]]
	return model.Reason{Code: PodAntiAffinity,
		Message: fmt.Sprintf("spec.affinity.podAntiAffinity of the pod or of the DaemonSet %s/%s keeps them apart, and every node it may use runs both", set.Namespace, set.Name),
		Remedy:  "narrow the anti-affinity, or exclude the DaemonSet from some nodes"}
}
