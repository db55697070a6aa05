package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// fewTypes is below how many instance types a launch on demand that might have been spot is worth a word.
const fewTypes = 5

// constraints are what decides which launches may be made now.
type constraints struct {
	*state
	classes     *classes
	suspensions *suspensions
	backOff     *backOff
	pace        *pace
	standalones *standalones
	culprits    *culprits
}

// drafter works out how the claims of a plan are bought.
type drafter struct{ *constraints }

// group puts like claims into one launch: same pool, class, capacity type, instances and user data. It leaves out what
// the pace of a pool, the trial of a class or the probe of an offering does not allow now; again says that another plan
// may do better.
func (d *drafter) group(ctx context.Context, plan roundPlan, all *launches) (list []*attempt, again bool) {
	g, waiting := newGrouping(), 0
	d.pace.tight = tightOf(plan.Plan)
	launched := d.pace.launchedFor()
	for _, planned := range fairOrder(plan) {
		if !d.mayLaunch(&planned, g, launched) {
			waiting++
			continue
		}
		pool, class := d.standalones.poolFor(&planned), plan.question.Usable[planned.Class]
		a, err := d.attemptFor(g, plan.question, planned, pool, class)
		if err != nil {
			again = d.notPrepared(all, &planned, class, err) || again
			continue
		}
		claim := d.claimOf(&planned, a.launch, pool, class, plan.of.decision)
		a.claims = append(a.claims, d.standalones.asStandalone(claim))
		g.ofPool[planned.Pool]++
		g.ofClass[planned.Class]++
	}
	if waiting > 0 {
		d.problem("%d claims wait: their NodePools or EC2NodeClasses may launch no more at this moment", waiting)
	}
	for _, a := range g.order {
		ok, retry := d.backOff.admit(ctx, a)
		again = again || retry && !ok
		if ok {
			d.seal(a)
			list = append(list, a)
		}
	}
	return list, again
}

// mayLaunch reports whether a claim may be launched beside those that are grouped already. launched are the namespaces
// that claims of each pool were recorded for in this minute. Of a pool or class that is held one instance may be: it
// shows whether it joins, and whether its node takes its pods.
func (d *drafter) mayLaunch(planned *model.PlannedClaim, g *grouping, launched map[[2]string]bool) bool {
	n := g.ofPool[planned.Pool]
	if n >= d.pace.launchesLeft(planned.Pool, 0) {
		had := func(pod model.PodRef) bool { return launched[[2]string{planned.Pool, pod.Namespace}] }
		if len(planned.Pods) == 0 || slices.ContainsFunc(planned.Pods, had) ||
			n >= d.pace.launchesLeftLate(planned.Pool) {
			return false
		}
	}
	return (n == 0 || d.suspensions.ofPool(planned.Pool) == nil) &&
		(g.ofClass[planned.Class] == 0 || d.suspensions.ofClass(planned.Class) == nil)
}

// notPrepared notes why there is no launch for a claim, and reports whether another plan may do better.
func (d *drafter) notPrepared(all *launches, planned *model.PlannedClaim, class model.Class, err error) bool {
	switch w := d.standalones.named(planned.Name); {
	case fault.Is(err, fault.NoCapacity):
		d.problem("claim %s of NodePool %s waits: %v", planned.Name, planned.Pool, err)
		return true // what this round's other launches leave is known to the next
	case planned.Pool == "" && w != nil: // what one person asks for says nothing about the class
		w.deny(codeOr(err, "LaunchFailed"), err.Error())
	default:
		d.classes.refused(all, class, planned.Pool, fmt.Errorf("prepare claim %s: %w", planned.Name, err))
	}
	return false
}

// fairOrder returns the claims in the order in which they are launched: by priority of their pods, and within a
// priority in turns by namespace. A claim for pods of several namespaces is of the one with the fewest pods in the
// plan. Claims without pods that wait keep their order behind them.
func fairOrder(plan roundPlan) []model.PlannedClaim {
	claims := plan.Claims
	pods := map[string]int{} // by namespace
	for i := range claims {
		for _, pod := range claims[i].Pods {
			pods[pod.Namespace]++
		}
	}
	if len(pods) == 0 {
		return claims
	}
	var items []fairshare.Item
	rest := make([]model.PlannedClaim, 0, len(claims))
	for i := range claims {
		item, waits := fairshare.Item{Index: i, Priority: math.MinInt32}, false
		for _, ref := range claims[i].Pods {
			priority, asks := plan.question.Priority(ref)
			if !asks {
				continue
			}
			fewer := cmp.Or(cmp.Compare(pods[ref.Namespace], pods[item.Namespace]),
				cmp.Compare(ref.Namespace, item.Namespace)) < 0
			if !waits || priority > item.Priority || priority == item.Priority && fewer {
				item.Priority, item.Namespace, waits = priority, ref.Namespace, true
			}
		}
		if waits {
			items = append(items, item)
		} else {
			rest = append(rest, claims[i])
		}
	}
	out := make([]model.PlannedClaim, 0, len(claims))
	for _, item := range fairshare.RoundRobin(items, plan.input.Served) {
		out = append(out, claims[item.Index])
	}
	return append(out, rest...)
}

// attemptFor returns the launch a planned claim goes into, with room for it: one for claims planned alike, as long as
// its subnets and reservations last; then they are chosen anew, so that launches that follow each other take turns.
func (d *drafter) attemptFor(g *grouping, question *replay.Provision, planned model.PlannedClaim, pool model.Pool,
	class model.Class) (*attempt, error) {
	highest := d.highest(&planned, question)
	like := likeKey(planned, highest)
	a := g.alike[like]
	if a == nil || len(a.claims) >= d.settings.ClaimsPerCall || !g.lasts(a, class) {
		types := model.CatalogOf(question.Input.Catalogs, planned.Class, planned.Pool)
		next, err := d.attempt(planned, pool, withLess(class, g.gone), types, highest)
		if err != nil {
			return nil, err
		}
		key := groupKey(next.launch, planned)
		if a = g.byKey[key]; a == nil || len(a.claims) >= d.settings.ClaimsPerCall || !g.reservationFits(a, class) {
			a = next
			g.byKey[key], g.order = a, append(g.order, a)
		}
		g.alike[like] = a
	}
	g.charge(a, class)
	return a, nil
}

// highest is the most an instance of the planned claim may cost per hour: what is left of the pool's dollars, and no
// more than a few times the price it was planned at unless a pod has waited long enough. A fleet takes any of the types
// it is offered when the others have no capacity, so that it is not offered those. 0 = whatever it costs.
func (d *drafter) highest(planned *model.PlannedClaim, question *replay.Provision) model.MicroUSD {
	limit := model.MicroUSD(planned.Reserve[model.Dollars])
	most := planned.Price * model.MicroUSD(d.settings.PriceCapFactor)
	if command := d.replaces(planned.Name); command != nil { // none of its pods waits
		if most = cmp.Or(maxPrice(command, planned), most); limit == 0 || most != 0 && most < limit {
			limit = most
		}
		return limit
	}
	if most == 0 || limit != 0 && limit < most || question.Waited(planned.Pods) {
		return limit
	}
	return most
}

// attempt says how a planned claim would be bought, for so much an hour at most. A pool it panics over is left out.
func (d *drafter) attempt(planned model.PlannedClaim, pool model.Pool, class model.Class, types []model.InstanceType,
	highest model.MicroUSD) (a *attempt, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.culprits.accuse("NodePool/"+planned.Pool, fmt.Sprint(p))
			err = fault.New(fault.Internal, "Panic", "%v", p)
		}
	}()
	relaxed := planned.Annotations[model.AnnotationMinValuesRelaxed] == "true"
	choice, err := offering.LaunchChoice(offering.LaunchInput{
		Class: class, Types: types, InstanceTypes: planned.InstanceTypes, Requirements: planned.Requirements,
		UnavailableOfferings: offering.UnavailableForClass(d.backOff.unavailableNow(), &class.Status),
		NowUnix:              d.now(), MaxPrice: highest, BestEffort: relaxed,
	})
	if err != nil {
		return nil, err
	}
	launch := model.Launch{
		Cluster: d.reg.Cluster, Pool: planned.Pool, Class: class, CapacityType: choice.CapacityType, IPv6: ipv6(d.reg),
		Prioritized: choice.Prioritized,
	}
	if !relaxed {
		launch.Context = class.Context
	}
	byName := make(map[string]*model.InstanceType, len(types))
	for i := range types {
		byName[types[i].Name] = &types[i]
	}
	if launch.Templates, err = d.templates(planned, launch, choice, byName); err != nil {
		return nil, err
	}
	if choice.Types < fewTypes && d.fallsBack(pool, choice) {
		d.problem("claims of NodePool %s fall back from spot to on-demand with %d instance types to choose from; "+
			"let the NodePool use at least %d", planned.Pool, choice.Types, fewTypes)
	}
	addresses := addressesOf(choice, byName)
	return &attempt{launch: launch, limits: pool.Limits, reservations: choice.Reservations, addresses: addresses}, nil
}

// fallsBack reports whether instances are bought on demand that the pool would have as spot, were there any.
func (d *drafter) fallsBack(pool model.Pool, choice offering.Choice) bool {
	if choice.CapacityType != model.OnDemand ||
		!offering.Accepts(pool.Template.Requirements, model.LabelCapacityType, model.Spot) {
		return false
	}
	for _, o := range choice.Overrides {
		spot := keyOf(o, model.Spot)
		if slices.ContainsFunc(d.ledger.UnavailableOfferings, func(m model.UnavailableOffering) bool {
			return m.SubnetID == "" && m.UntilUnix > d.now() && offering.Covers(m, spot)
		}) {
			return true
		}
	}
	return false
}

// addressesOf returns by subnet what an instance takes at the least: an address for each pod it can hold.
func addressesOf(choice offering.Choice, byName map[string]*model.InstanceType) map[string]int64 {
	addresses := map[string]int64{}
	for _, o := range choice.Overrides {
		need := max(1, byName[o.InstanceType].Capacity[model.Pods])
		if least, seen := addresses[o.SubnetID]; !seen || need < least {
			addresses[o.SubnetID] = need
		}
	}
	return addresses
}

// ipv6 reports whether the cluster's pods and services have IPv6 addresses.
func ipv6(reg model.Registration) bool {
	if reg.ClusterDNS != "" {
		return strings.Contains(reg.ClusterDNS, ":")
	}
	return strings.Contains(reg.ServiceCIDR, ":")
}

// boot is what instances of one launch template have in common.
type boot struct {
	image       string
	maxPods     int64
	reserved    string // of the kubelet and the system, as text
	efa         int64
	reservation string
}

// templates sorts the overrides of a choice by what their instances boot, in the order of the first of each.
func (d *drafter) templates(planned model.PlannedClaim, launch model.Launch, choice offering.Choice,
	byName map[string]*model.InstanceType) ([]model.LaunchTemplate, error) {
	class := launch.Class
	partitions := int64(0)
	if group := class.Status.PlacementGroup; group != nil && group.Strategy == strategyPartition {
		partitions = group.Partitions
	}
	forced := offering.LaunchConstraintsOf(planned.Requirements, planned.Requests, partitions)
	var templates []model.LaunchTemplate
	index := map[boot]int{}
	for i, override := range choice.Overrides {
		t := byName[override.InstanceType]
		image, ok := offering.ImageFor(class, *t)
		if !ok {
			continue
		}
		b := boot{image: image.ID, maxPods: t.Capacity[model.Pods], reserved: reservedText(t)}
		if planned.Requests[efa] > 0 && len(class.NetworkInterfaces) == 0 {
			b.efa = t.Capacity[efa]
		}
		if choice.Reservations != nil {
			b.reservation = choice.Reservations[i]
		}
		at, known := index[b]
		if !known {
			text, err := d.userData(planned, class, choice.CapacityType, image.Name, t)
			if err != nil {
				return nil, err
			}
			at = len(templates)
			index[b] = at
			templates = append(templates, model.LaunchTemplate{
				ImageID: image.ID, UserData: text, EFA: b.efa,
				Dedicated: forced.Dedicated, Enclaves: forced.Enclaves, Partition: forced.Partition,
				Reservation: b.reservation, Block: choice.Block, Interruptible: choice.Interrupted,
			})
		}
		templates[at].Overrides = append(templates[at].Overrides, override)
	}
	if len(templates) == 0 {
		return nil, fault.New(fault.Invalid, "NoImage",
			"no image of EC2NodeClass %s fits any of the claim's instance types; "+
				"correct spec.amiSelectorTerms of EC2NodeClass %s", class.Name, class.Name)
	}
	return templates, nil
}

// reservedText is equal for types whose kubelet and system reserve the same.
func reservedText(t *model.InstanceType) string {
	if len(t.KubeReserved)+len(t.SystemReserved) == 0 {
		return ""
	}
	var parts []string
	for _, amounts := range []map[string]string{t.KubeReserved, t.SystemReserved} {
		for _, name := range slices.Sorted(maps.Keys(amounts)) {
			parts = append(parts, name+"="+amounts[name])
		}
		parts = append(parts, "/")
	}
	return strings.Join(parts, " ")
}

func (d *drafter) userData(planned model.PlannedClaim, class model.Class, capacityType, imageName string,
	t *model.InstanceType) ([]byte, error) {
	labels := map[string]string{}
	maps.Copy(labels, planned.Labels)
	labels[model.LabelCapacityType] = capacityType
	return userdata.Render(userdata.Input{
		Class: class, Cluster: d.reg.Cluster, Endpoint: d.reg.Endpoint, CA: d.reg.CA,
		ServiceCIDR: d.reg.ServiceCIDR, ClusterDNS: d.reg.ClusterDNS, ImageName: imageName,
		Labels: labels, Taints: slices.Concat(planned.Taints, planned.StartupTaints),
		MaxPods: t.Capacity[model.Pods], KubeReserved: t.KubeReserved, SystemReserved: t.SystemReserved,
	})
}

// claimOf is the ledger's claim for a planned one. Of the pool's dollars it holds no more than the launch can cost.
func (d *drafter) claimOf(planned *model.PlannedClaim, launch model.Launch, pool model.Pool, class model.Class,
	decision string) model.Claim {
	held := maps.Clone(planned.Reserve)
	highest := model.MicroUSD(0)
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			highest = max(highest, o.Price)
		}
	}
	held[model.Dollars] = min(held[model.Dollars], int64(highest))
	return model.Claim{
		Name: planned.Name, Pool: pool.Name, PoolUID: pool.UID, Class: planned.Class, State: model.Intended, Version: 1,
		Requirements: planned.Requirements, Requests: planned.Requests, InstanceTypes: planned.InstanceTypes,
		Labels: planned.Labels, Annotations: annotations(*planned, pool, class, d.reg.CA),
		Taints: planned.Taints, StartupTaints: planned.StartupTaints, DeviceDrivers: planned.DeviceDrivers,
		GraceSeconds: pool.Template.GraceSeconds, ExpireSeconds: pool.Template.ExpireAfterSeconds,
		Pods: planned.Pods, Reserved: held, Decision: decision, CreatedUnix: d.now(),
	}
}

// annotations are the template's, with the hashes of pool and class as they were in the snapshot the plan was made
// from: an edit between plan and launch shows as drift, and never hides (S31).
func annotations(planned model.PlannedClaim, pool model.Pool, class model.Class, ca []byte) map[string]string {
	out := map[string]string{}
	maps.Copy(out, planned.Annotations)
	if planned.PoolHash != "" { // planned by a pool as it was some minutes ago
		pool.Hash = planned.PoolHash
	}
	if pool.Hash != "" {
		out[model.AnnotationPoolHash], out[model.AnnotationPoolHashVersion] = pool.Hash, model.PoolHashVersion
	}
	if hash := class.HashFor(ca); hash != "" {
		out[model.AnnotationClassHash], out[model.AnnotationClassHashVersion] = hash, model.ClassHashVersion
	}
	if class.Status.InstanceProfile != "" {
		out[model.AnnotationInstanceProfile] = class.Status.InstanceProfile
	}
	return out
}

// seal fixes the names, the identity and the client token of an attempt.
func (d *drafter) seal(a *attempt) {
	sort.Slice(a.claims, func(i, j int) bool { return a.claims[i].Name < a.claims[j].Name })
	id := d.newID()
	a.launch.Intent, a.launch.Claims = id, nil
	for i := range a.claims {
		a.claims[i].Intent = id
		a.launch.Claims = append(a.launch.Claims, a.claims[i].Name)
	}
	a.launch.Token = token(d.reg.Cluster, a.launch)
	a.intent = model.Intent{
		ID: id, Cluster: d.reg.Cluster, Pool: a.launch.Pool, Claims: a.launch.Claims, State: model.IntentCalling,
		Token: a.launch.Token, Attempt: 1, CreatedUnix: d.now(), DueUnix: d.due(),
	}
}

// token derives an intent's client token: at most 64 ASCII characters, the same whoever computes it, and another one
// for anything else that is asked for.
func token(cluster string, launch model.Launch) string {
	content, err := json.Marshal(launch)
	if err != nil {
		panic(fmt.Sprintf("launch %s cannot be encoded: %v", launch.Intent, err)) // plain data always can
	}
	digest := sha256.Sum256(content)
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s/%s/%x", cluster, launch.Intent, digest)))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
