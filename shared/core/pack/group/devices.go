package group

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// DevicesOf returns what the input says of devices. asIs is for nodes as they are now, of which nothing is expected.
func DevicesOf(in *input.Input, moving map[int]bool, asIs bool) *device.Index {
	now := in.NowUnix
	if asIs {
		now = math.MaxInt64
	}
	return device.New(in.Snapshot, in.Catalogs, moving, now)
}

// WithClaims returns the snapshot with claims for devices in the place of requests for extended resources that
// DeviceClasses stand for; the snapshot itself where no pod has any.
func WithClaims(s *model.Snapshot) *model.Snapshot { return device.WithClaims(s) }

// devices is what a pod's claims for devices say.
type devices struct {
	claims *device.Claims
	pins   []requirement.Requirements // where what is allocated already can be used: any one of these; nil = anywhere
}

// elsewhere says that a pod's devices are where no new node is.
const elsewhere = "devices that are allocated to it"

// devicesOf returns what the pod's claims for devices say, and what of it tells pods apart.
func (c *Classifier) devicesOf(pod *model.Pod, shape *model.PodShape) (out devices, text string, no *model.Reason) {
	claims, problem := c.Devices.ClaimsOf(pod, shape)
	if problem != nil {
		return out, "", &model.Reason{Code: input.DevicesUnavailable, Message: problem.Message, Remedy: problem.Remedy}
	}
	out.claims = claims
	for _, pin := range claims.Pins {
		read, no := terms.Required(&model.PodShape{RequiredNodeAffinity: pin})
		if no == nil && out.pins != nil {
			read = terms.Cross(out.pins, read)
		}
		if out.pins = read; no != nil || len(read) == 0 {
			return out, "", &model.Reason{Code: input.DevicesUnavailable,
				Message: claims.Field + ": what is allocated to its claims is not all on one node",
				Remedy:  "delete the pods that use the claims, so that they are allocated anew"}
		}
	}
	for _, term := range out.pins {
		d := &demand{}
		d.noteNames(term)
		c.noteNames(d)
	}
	return out, "\x00d" + strconv.Itoa(c.Facts.intern(claims.Text)), nil
}

// claim adds to the pod group what its pods' claims say.
func (c *PodGroup) claim(rules *PodRules, d *devices) {
	if d.claims == nil {
		return
	}
	c.Claiming = true
	if d.claims.Wants() {
		c.Devices = []*device.Claims{d.claims}
	}
	if d.pins != nil {
		c.There, c.DeviceTerms = terms.Cross(c.There, d.pins), d.pins
		if anew := withoutNames(d.pins); len(anew) > 0 {
			c.Terms = terms.Cross(c.Terms, anew)
		} else {
			c.Terms = nil
		}
		if len(c.Terms) == 0 {
			c.nowhere(&model.Reason{Code: input.DevicesUnavailable,
				Message: d.claims.Field + ": devices are allocated to it, and no new node has them",
				Remedy:  "wait until there is room on the node that has the devices, or delete the pods that use them"})
		}
		c.Needs = c.Terms
	}
	for _, key := range d.claims.Shared {
		c.together(rules, key)
	}
}

// withoutNames returns the terms that a new node can meet.
func withoutNames(pins []requirement.Requirements) []requirement.Requirements {
	var out []requirement.Requirements
	for _, term := range pins {
		if !term.Has(terms.NodeName) {
			out = append(out, term)
		}
	}
	return out
}

// nowhere keeps the pod group off new nodes.
func (c *PodGroup) nowhere(why *model.Reason) {
	c.Unplaceable = why
	c.Terms = []requirement.Requirements{{model.LabelHostname: requirement.Values(elsewhere)}}
	c.Needs = c.Terms
}

// together keeps the pod group on one node with all pods that use the claim.
func (c *PodGroup) together(rules *PodRules, claim string) {
	n := rules.topologyGroup(rules.set("devices\x00"+claim, PodSet{}), model.LabelHostname, -1)
	t := &rules.TopologyGroups[n]
	c.Constraints = append(slices.Clone(c.Constraints), Constraint{Kind: Affinity, TopologyGroup: n, Self: 1,
		Claim: true, ByHost: true, Slot: t.slot, field: "spec.resourceClaims",
		text: "the pods that share the ResourceClaim " + claim})
	c.Contributions = append(slices.Clone(c.Contributions),
		Contribution{TopologyGroup: n, Weight: 1, ByHost: true, Slot: t.slot})
	c.Hosts = true
}

// Suit restricts new nodes for the pod groups to instance types whose devices suffice for a unit.
func Suit(podGroups []*PodGroup, index *device.Index) {
	for _, c := range podGroups {
		c.suit(index)
	}
}

// SuitUnit is Suit for a unit that was put together.
func (c *PodGroup) SuitUnit(index *device.Index) {
	if len(c.Devices) > 0 {
		c.Venue += "\x00devices" + strconv.Itoa(len(c.Devices))
		c.suit(index)
	}
}

func (c *PodGroup) suit(index *device.Index) {
	if len(c.Devices) == 0 || c.Unplaceable != nil {
		return
	}
	var types []string
	for _, name := range index.Types() {
		if index.OfType(name).TakeAll(c.Devices) != nil {
			types = append(types, name)
		}
	}
	c.Suitable = types
	if len(types) == 0 {
		c.nowhere(noType(index, c.Devices))
		return
	}
	suiting := []requirement.Requirements{{model.LabelInstanceType: requirement.Values(types...)}}
	if c.Terms = terms.Cross(c.Terms, suiting); len(c.Terms) == 0 {
		c.nowhere(&model.Reason{Code: input.DevicesUnavailable,
			Message: c.Devices[0].Field + ": the instance types whose devices suffice are not those that spec.nodeSelector " +
				"and spec.affinity.nodeAffinity allow: " + offering.AbbreviateValues(types),
			Remedy: "allow one of those instance types, or claim other devices"})
		return
	}
	c.Needs = c.Terms
}

// noType says why no instance type's devices suffice.
func noType(index *device.Index, list []*device.Claims) *model.Reason {
	out := &model.Reason{Code: input.DevicesUnavailable, Message: list[0].Field + ": ",
		Remedy: "claim devices that an instance type has, or start a node of the type by other means once: " +
			"ResourceSlices of its drivers then say what devices such nodes have"}
	have, failed := 0, ""
	for _, name := range index.Types() {
		d := index.OfType(name)
		if d.None() {
			continue
		}
		have++
		for _, c := range list {
			if err := d.Err(c); err != nil && failed == "" {
				failed = "; on " + name + ": " + err.Error()
			}
		}
	}
	switch shared := index.Shared(list); {
	case len(shared) > 0:
		out.Message += "devices of driver " + strings.Join(shared, ", ") + " are for several nodes (spec.allNodes or " +
			"spec.nodeSelector of its ResourceSlices), and such devices are not planned for"
		out.Remedy = "claim devices that belong to a node, or run such pods on nodes that Joiner does not launch, " +
			"such as those of a managed node group"
	case have == 0:
		out.Message += "no instance type is known to have devices that a DRA driver publishes"
	default:
		out.Message += "the devices of none of the " + strconv.Itoa(have) +
			" instance types that are known to have any suffice" + failed
	}
	return out
}
