package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// What a command to save money asked for and did not get is known to the region for an hour or two, as unavailable
// offerings, and then forgotten any more. Each try taints nodes and may buy some of what it asks for, to be disrupted
// again. So the disruption function remembers for as long as commands are kept: what had no capacity is left alone for
// half an hour, then for twice as long each time; and where tries fail one after another, of whatever, there are fewer
// and fewer of them, one at a time. One that succeeds ends that, and so does an instance that anybody got. While tries
// fail, what nobody has got since is as doubtful, though it was never tried: where a whole zone or all of spot has no
// capacity, each offering of it would else be found out by as many commands as there is room for. Only saving money
// waits for that: what has to be renewed goes by the region's unavailable offerings alone.
const (
	mostTried = 16 * 3600 // that an offering is left alone for
	mostPause = 2 * 3600  // between tries, of whatever
)

// keepTried is after how long what a command did not get is noted once more by the next that fails, so that it is not
// forgotten with its command while tries go on failing: for half of the day that commands are kept.
const keepTried = 12 * 3600

// FailedOf returns what gave no capacity since the command began to wait for its replacements, of what those may be
// bought as, and what others of the commands did not get so long ago that it would be forgotten soon. What only some
// subnet or placement group did not give says too little.
func FailedOf(
	c *model.Command, unavailableOfferings []model.UnavailableOffering, commands []model.Command, claims []model.Claim,
	now int64,
) []model.UnavailableOffering {
	var out []model.UnavailableOffering
	for i := range unavailableOfferings {
		m := &unavailableOfferings[i]
		if m.AtUnix >= c.ReplacingUnix && m.SubnetID == "" && m.PlacementGroup == "" &&
			slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return mayConcern(&p, m) }) {
			out = append(out, m.About())
		}
	}
	if len(out) == 0 {
		return nil
	}
	for _, f := range triedLately(commands, claims, now, withDefaults(Settings{}).OppositeSeconds).failedOfferings {
		if f.until-f.pause+keepTried <= now && !slices.Contains(out, f.UnavailableOffering) {
			out = append(out, f.UnavailableOffering)
		}
	}
	slices.SortFunc(out, compareUnavailable)
	return out[:min(len(out), model.MaxFailedOfferings)]
}

// compareUnavailable orders what unavailable offerings are about.
func compareUnavailable(a, b model.UnavailableOffering) int {
	return cmp.Or(strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.CapacityType, b.CapacityType), strings.Compare(a.Group, b.Group))
}

// mayConcern reports whether the unavailable offering names something that the claim may be bought as.
func mayConcern(p *model.PlannedClaim, m *model.UnavailableOffering) bool {
	for _, name := range p.InstanceTypes {
		for _, zone := range p.Zones {
			for _, kind := range p.CapacityTypes {
				if offering.Covers(*m, model.OfferingKey{InstanceType: name, Zone: zone, CapacityType: kind}) {
					return true
				}
			}
		}
	}
	return false
}

// tried is what commands to save money did not get lately.
type tried struct {
	failedOfferings []failedOffering           // by what it is about
	until           int64                      // nothing of it is tried before
	under           bool                       // an open command tries some of it
	failed          int                        // tries in a row
	since           int64                      // when the first of these began
	got             map[model.OfferingKey]bool // what instances were launched as since then
}

// failedOffering is something that had no capacity, and until when it is left alone for that.
type failedOffering struct {
	model.UnavailableOffering
	pause, until int64
}

func (f failedOffering) compare(other model.UnavailableOffering) int {
	return compareUnavailable(f.UnavailableOffering, other)
}

func (f failedOffering) covers(key model.OfferingKey) bool {
	return offering.Covers(f.UnavailableOffering, key)
}

// triedLately reads commands by when they ended: a later success of what they asked for ends what they say. What had no
// capacity is left alone for so many seconds at first.
func triedLately(commands []model.Command, claims []model.Claim, now, first int64) tried {
	var t tried
	ended := slices.Clone(commands)
	slices.SortFunc(ended, func(a, b model.Command) int {
		return cmp.Or(cmp.Compare(endOf(&a, now), endOf(&b, now)), strings.Compare(a.ID, b.ID))
	})
	for i := range ended {
		c := &ended[i]
		switch {
		case failed(c) && len(c.FailedOfferings) > 0 && c.Reason == model.ReasonUnderutilized:
			if t.failed++; t.failed == 1 {
				t.since = c.SinceUnix
			}
			t.until = later(endOf(c, now), min(first<<min(t.failed-1, 10), mostPause))
			for _, unavailable := range c.FailedOfferings {
				t.note(unavailable, endOf(c, now), first)
			}
		case c.State == model.CommandDone && len(c.Replacements) > 0 && t.of(c.Replacements):
			t.failed, t.until = 0, 0
			for i := range c.Replacements {
				t.forget(func(f *failedOffering) bool { return f.covers(c.Replacements[i].Offering) })
			}
		}
	}
	t.got = make(map[model.OfferingKey]bool)
	for i := range claims {
		claim := &claims[i]
		key := keyOf(claim).OfferingKey
		t.forget(func(f *failedOffering) bool {
			return claim.InstanceType != "" && claim.LaunchedUnix > f.until-f.pause && f.covers(key)
		})
		if claim.LaunchedUnix > t.since {
			t.got[key] = true
		}
	}
	for i := range commands {
		c := &commands[i]
		t.under = t.under || c.State.Open() && c.Reason == model.ReasonUnderutilized && t.doubts(c.Replacements)
	}
	return t
}

// note notes that something had no capacity at a time.
func (t *tried) note(unavailable model.UnavailableOffering, at, first int64) {
	n, known := slices.BinarySearchFunc(t.failedOfferings, unavailable, failedOffering.compare)
	if !known {
		t.failedOfferings = slices.Insert(t.failedOfferings, n, failedOffering{UnavailableOffering: unavailable})
	}
	d := &t.failedOfferings[n]
	d.pause = max(first, min(2*d.pause, mostTried))
	d.until = later(at, d.pause)
}

// forget forgets what there is again.
func (t *tried) forget(is func(*failedOffering) bool) {
	t.failedOfferings = slices.DeleteFunc(t.failedOfferings, func(f failedOffering) bool { return is(&f) })
}

// of reports whether any of the claims may be bought as something that had no capacity.
func (t *tried) of(claims []model.PlannedClaim) bool {
	return slices.ContainsFunc(claims, func(p model.PlannedClaim) bool {
		return slices.ContainsFunc(t.failedOfferings, func(f failedOffering) bool {
			if len(p.InstanceTypes) == 0 { // of a command that is over: what it was planned as
				return f.covers(p.Offering)
			}
			return mayConcern(&p, &f.UnavailableOffering)
		})
	})
}

// doubts reports whether asking for the claims is a try: some may be bought as something that had no capacity, or,
// while tries fail, as nothing that anybody got since the first of them.
func (t *tried) doubts(claims []model.PlannedClaim) bool {
	return t.of(claims) ||
		t.failed > 0 && slices.ContainsFunc(claims, func(p model.PlannedClaim) bool { return !t.got[p.Offering] })
}

// closed returns unavailable offerings of what is not to be tried now, and when the first of it may be again; 0 =
// nothing is closed.
func (t *tried) closed(now int64) (unavailableOfferings []model.UnavailableOffering, again int64) {
	for i := range t.failedOfferings {
		d := &t.failedOfferings[i]
		until := max(d.until, t.until)
		if until <= now && !t.under {
			continue
		}
		unavailable := d.UnavailableOffering
		unavailable.UntilUnix = max(until, now+1)
		unavailableOfferings = append(unavailableOfferings, unavailable)
		if until > now && (again == 0 || until < again) {
			again = until
		}
	}
	return unavailableOfferings, again
}

// kind returns an unavailable offering of the one capacity type that had no capacity, of several instance types and
// zones; false where it is not so.
func (t *tried) kind() (model.UnavailableOffering, bool) {
	unavailableOfferings := make([]model.UnavailableOffering, 0, len(t.failedOfferings))
	for i := range t.failedOfferings {
		unavailableOfferings = append(unavailableOfferings, t.failedOfferings[i].UnavailableOffering)
	}
	common, ok := offering.CommonUnavailable(unavailableOfferings)
	return common, ok && common.OfferingKey == model.OfferingKey{CapacityType: common.CapacityType}
}

// repeats returns why a command to save money would be a second try at what may not be there, beside one that is under
// way or another of this plan; nil where it would not.
func (t *tried) repeats(c *model.PlannedCommand, chosen []model.PlannedCommand) *model.KeptReason {
	if !t.doubts(c.Replacements) {
		return nil
	}
	if t.under || slices.ContainsFunc(chosen, func(other model.PlannedCommand) bool {
		return other.Reason == model.ReasonUnderutilized && t.doubts(other.Replacements)
	}) {
		const message = "its replacement had no capacity lately, and another command tries that capacity first"
		return because(TriedLately, message)
	}
	return nil
}
