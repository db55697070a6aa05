package disruption

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// workloads returns the owners of the pods of nodes, as a command remembers them.
func (v *planner) workloads(nodes []*poolNode) []string {
	var out []string
	seen := make(map[int]bool)
	for _, i := range podsOf(nodes) {
		pod := &v.in.Snapshot.Pods[i]
		if pod.Buffer != "" {
			continue
		}
		if shape := v.in.Snapshot.ShapeOf(pod); !seen[pod.Shape] || shape.OwnerKind == "" {
			seen[pod.Shape] = true
			out = append(out, workload(pod, shape))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), model.MaxWorkloads)]
}

// workload returns namespace/kind/name of a pod's owner; of the pod itself where it has none.
func workload(pod *model.Pod, shape *model.PodShape) string {
	if shape.OwnerKind == "" {
		return pod.Namespace + "/Pod/" + pod.Name
	}
	return pod.Namespace + "/" + shape.OwnerKind + "/" + shape.OwnerName
}

// inputs digests what a command depends on: its pools, and how its nodes and their replacements are bought.
func (v *planner) inputs(nodes []*poolNode, replacements []model.PlannedClaim) string {
	var offerings []priceKey
	var pools []string
	for _, node := range nodes {
		offerings = append(offerings, keyOf(node.Claim))
		pools = append(pools, node.Node.Pool())
	}
	return v.digest(pools, offerings, replacements)
}

// inputsOf digests what an earlier command depends on as it is now.
func (v *planner) inputsOf(c *model.Command) string {
	var offerings []priceKey
	var pools []string
	for _, t := range c.Targets {
		offerings = append(offerings, priceKey{class: t.Class, OfferingKey: model.OfferingKey{InstanceType: t.InstanceType, Zone: t.Zone, CapacityType: t.CapacityType}})
		pools = append(pools, t.Pool)
	}
	return v.digest(pools, offerings, c.Replacements)
}

func keyOf(claim *model.Claim) priceKey {
	return priceKey{class: claim.Class, OfferingKey: model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType}}
}

// digest stands for pools and offerings as they are: another means that what was decided by them may be decided otherwise now.
func (v *planner) digest(pools []string, offerings []priceKey, replacements []model.PlannedClaim) string {
	type bought struct {
		Class string
		Offer model.OfferingKey
		Price model.MicroUSD
		Has   bool
	}
	var what struct {
		Pools  []model.Pool
		Offers []bought
	}
	for i := range replacements {
		offerings = append(offerings, priceKey{class: replacements[i].Class, OfferingKey: replacements[i].Offering})
		pools = append(pools, replacements[i].Pool)
	}
	slices.Sort(pools)
	for _, name := range slices.Compact(pools) {
		pool := model.Pool{Name: name}
		if known := v.pools[name]; known != nil {
			pool = *known
			pool.Generation = 0
		}
		what.Pools = append(what.Pools, pool)
	}
	slices.SortFunc(offerings, compareKeys)
	for _, key := range slices.Compact(offerings) {
		price, has := v.offered(key)
		what.Offers = append(what.Offers, bought{key.class, key.OfferingKey, roughly(price), has})
	}
	text, err := json.Marshal(what)
	if err != nil { // nothing in it can fail
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func compareKeys(a, b priceKey) int {
	return cmp.Or(strings.Compare(a.class, b.class), strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.CapacityType, b.CapacityType))
}

// roughly rounds a price down to two digits that count: less is no reason to think again.
func roughly(price model.MicroUSD) model.MicroUSD {
	unit := model.MicroUSD(1)
	for price/unit >= 100 {
		unit *= 10
	}
	return price / unit * unit
}

// offered returns the lowest price of an offering, whatever the reservation, and whether it can be had now.
func (v *planner) offered(key priceKey) (model.MicroUSD, bool) {
	t := v.typeOf(key.class, key.InstanceType)
	if t == nil {
		return 0, false
	}
	best, known, available := model.MicroUSD(0), false, false
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Zone == key.Zone && o.CapacityType == key.CapacityType {
			if !known || o.Price < best {
				best, known = o.Price, true
			}
			available = available || o.Available
		}
	}
	return best, available
}

// typeOf returns an instance type as nodes of a class see it, whatever was tried lately; nil where there is none.
func (v *planner) typeOf(class, name string) *model.InstanceType {
	if v.types == nil {
		v.types = make(map[string]map[string]*model.InstanceType, len(v.in.Catalogs))
	}
	if v.types[class] == nil {
		list := v.catalogs[class]
		v.types[class] = make(map[string]*model.InstanceType, len(list))
		for i := range list {
			v.types[class][list[i].Name] = &list[i]
		}
	}
	return v.types[class][name]
}

// blockByHistory holds nodes that disruption went wrong of lately, or would revert what was decided lately.
func (v *planner) blockByHistory(node *poolNode) {
	if node.Claim == nil || node.command != nil {
		return
	}
	for i := range v.in.Commands { // its pods are on others' nodes still, so that it seems unneeded
		if c := &v.in.Commands[i]; c.State.Going() && slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return p.Name == node.Claim.Name }) {
			node.forbid(everything, InCommand, "command %s (%s) launched it as a replacement", c.ID, c.Reason)
		}
	}
	if until := v.broken(node.Claim.Class); until > v.now {
		v.replanAt(until)
		node.forbid(everything, Breaker, "replacements of EC2NodeClass %s failed repeatedly; none of its nodes is disrupted before %s", node.Claim.Class, clock(until))
	}
	if until, last := v.backoff(node.Claim.Name, false); until > v.now {
		v.replanAt(until)
		node.forbid(budgeted|replacing, TriedLately, "command %s, which was to disrupt it, was undone (%s); it is tried again at %s", last.ID, last.FailureCode, clock(until))
	} else if until, last := v.backoff(node.Claim.Name, true); until > v.now {
		v.replanAt(until)
		node.skipReplacement = len(last.FailedOfferings) > 0
		node.forbid(replacing, TriedLately, "command %s, which was to replace it, was undone (%s); a replacement is tried again at %s", last.ID, last.FailureCode, clock(until))
	}
	for i := range v.in.Commands {
		if c := &v.in.Commands[i]; v.recent(c) && v.cameOf(node, c) {
			until := later(endOf(c, v.now), v.set.OppositeSeconds)
			v.replanAt(until)
			node.forbid(consolidating, RevertsRecent, "it was launched because of command %s; the inputs of that decision have not changed since, so it is left alone until %s", c.ID, clock(until))
			return
		}
	}
}

// broken returns until when no node of a class is disrupted because replacements of it failed: once BreakerFailures of the
// latest BreakerOutcomes commands with such did; 0 = it is not so.
func (v *planner) broken(class string) int64 {
	if known, read := v.breaks[class]; read {
		return known
	}
	var ended []*model.Command
	for i := range v.in.Commands {
		c := &v.in.Commands[i]
		of := slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return p.Class == class })
		if of && (c.State == model.CommandDone || failed(c)) {
			ended = append(ended, c)
		}
	}
	slices.SortFunc(ended, func(a, b *model.Command) int {
		return cmp.Or(cmp.Compare(endOf(b, v.now), endOf(a, v.now)), strings.Compare(b.ID, a.ID))
	})
	until, failures := int64(0), 0
	for _, c := range ended[:min(len(ended), v.set.BreakerOutcomes)] {
		if failed(c) {
			failures++
			until = max(until, later(endOf(c, v.now), v.set.BreakerSeconds))
		}
	}
	if failures < v.set.BreakerFailures {
		until = 0
	}
	if v.breaks == nil {
		v.breaks = make(map[string]int64)
	}
	v.breaks[class] = until
	return until
}

// failed reports whether a command is undone, or being undone, for its replacements.
func failed(c *model.Command) bool {
	return (c.State == model.CommandUndone || c.State == model.CommandUndoing) && c.FailureCode == model.ReplacementFailed
}

// endOf returns when a command ended; now where it has not.
func endOf(c *model.Command, now int64) int64 { return min(cmp.Or(c.EndedUnix, now), now) }

// How long a node is left alone after a command for it was undone: from a minute on, twice as long each time, up to OppositeSeconds.
// Where replacements failed no others are tried from OppositeSeconds on, twice as long each time, up to most; without any it may go.
const (
	retrySeconds = 60
	mostRetry    = 8 * 3600
)

// backoff returns until when a claim is left alone because commands for it were undone, and the last of these. Those whose
// replacements failed count where it is about replacing it: whether its pods fit elsewhere has nothing to do with them.
func (v *planner) backoff(claim string, replaced bool) (int64, *model.Command) {
	if v.undone == nil {
		v.undone = v.undoneByClaim()
	}
	var last *model.Command
	pause, long := int64(0), false
	for _, c := range v.undone[claim] {
		if failed(c) && !replaced {
			continue
		}
		pause = max(retrySeconds, min(pause*2, mostRetry))
		if failed(c) && !long {
			pause, long = max(pause, v.set.OppositeSeconds), true
		}
		if last == nil || endOf(c, v.now) > endOf(last, v.now) || endOf(c, v.now) == endOf(last, v.now) && c.ID > last.ID {
			last = c
		}
	}
	if last == nil {
		return 0, nil
	}
	if !long {
		pause = min(pause, v.set.OppositeSeconds)
	}
	return later(endOf(last, v.now), pause), last
}

// undoneByClaim returns commands that were undone, by the names of the claims they were to disrupt.
func (v *planner) undoneByClaim() map[string][]*model.Command {
	out := make(map[string][]*model.Command)
	for i := range v.in.Commands {
		c := &v.in.Commands[i]
		if c.State != model.CommandUndone {
			continue
		}
		for _, t := range c.Targets {
			out[t.Claim] = append(out[t.Claim], c)
		}
	}
	return out
}

// recent reports whether a command must not be turned round: it is under way or was carried out lately, and what it was decided
// by is as it was.
func (v *planner) recent(c *model.Command) bool {
	if c.State == model.CommandUndone || c.State == model.CommandUndoing || later(endOf(c, v.now), v.set.OppositeSeconds) <= v.now {
		return false
	}
	if v.unchanged == nil {
		v.unchanged = make(map[string]bool)
	}
	same, known := v.unchanged[c.ID]
	if !known {
		same = c.Inputs == v.inputsOf(c)
		v.unchanged[c.ID] = same
	}
	return same
}

// cameOf reports whether the node was launched because of a command: as one of its replacements, or since, and all it carries
// are pods of workloads that the command moved.
func (v *planner) cameOf(node *poolNode, c *model.Command) bool {
	if slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return p.Name == node.Claim.Name }) {
		return true
	}
	if node.Claim.CreatedUnix <= c.SinceUnix || len(node.Pods) == 0 || len(c.Workloads) == 0 {
		return false
	}
	return !slices.ContainsFunc(v.workloads([]*poolNode{node}), func(w string) bool { return !slices.Contains(c.Workloads, w) })
}

// revertsRecent returns why a command to consolidate would buy again what was just disrupted, for the same workloads; nil where it
// would not. cameOf has seen to the other way round.
func (v *planner) revertsRecent(command *model.PlannedCommand) *model.KeptReason {
	if command.Reason != model.ReasonUnderutilized || len(command.Replacements) == 0 {
		return nil
	}
	for i := range v.in.Commands {
		c := &v.in.Commands[i]
		if c.Reason != model.ReasonUnderutilized || !v.recent(c) || !slices.ContainsFunc(command.Workloads, func(w string) bool { return slices.Contains(c.Workloads, w) }) {
			continue
		}
		for _, t := range c.Targets {
			offering := model.OfferingKey{InstanceType: t.InstanceType, Zone: t.Zone, CapacityType: t.CapacityType}
			if slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return p.Offering == offering && p.Pool == t.Pool }) {
				until := later(endOf(c, v.now), v.set.OppositeSeconds)
				v.replanAt(until)
				return &model.KeptReason{Code: RevertsRecent, Message: "it would launch again a " + t.InstanceType + " that command " + c.ID +
					" has just removed, for the same pods; the inputs of that decision have not changed, so it is left alone until " + clock(until)}
			}
		}
	}
	return nil
}
