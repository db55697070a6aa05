package provision

import (
	"fmt"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
)

// holdAtMost is how long a class is held at the longest.
const holdAtMost = int64(2 * 60 * 60)

// holdForgotten is how long, in seconds, it is remembered that a class was changed after its machines did not join: for longer than
// the ledger shows those machines.
const holdForgotten = int64(2 * 60 * 60)

// holds counts machines that never joined against their classes. Machines that were launched before a failure was noted are of
// the same incident, and count once. A machine that joined after the last failure was counted takes the hold away, and so does
// another version of the class, for which none of the machines launched so far counts.
func (r *run) holds() {
	inputs := map[string]string{}
	for i := range r.snapshot.Classes {
		inputs[r.snapshot.Classes[i].Name] = offer.Inputs(r.snapshot.Classes[i])
	}
	claims := append(append([]model.Claim{}, r.ledger.Ended...), r.ledger.Claims...)
	joined := map[string]int64{}
	for i := range claims {
		if claim := &claims[i]; claim.RegisteredUnix > joined[claim.Class] {
			joined[claim.Class] = claim.RegisteredUnix
		}
	}
	byClass := map[string]*model.ClassHold{}
	for _, hold := range r.ledger.Notes.Holds {
		if joined[hold.Class] > hold.NotedUnix || r.now()-hold.NotedUnix > holdForgotten && hold.Failures == 0 {
			r.noted = true
			continue
		}
		switch now := inputs[hold.Class]; {
		case now == "" || now == hold.Inputs:
		case hold.Inputs == "": // it was written before holds had this
			hold.Inputs, r.noted = now, true
		default:
			hold = model.ClassHold{Class: hold.Class, Inputs: now, NotedUnix: r.now()}
			r.noted = true
		}
		byClass[hold.Class] = &hold
	}
	sort.SliceStable(claims, func(i, j int) bool { return claims[i].LaunchedUnix < claims[j].LaunchedUnix })
	for i := range claims {
		claim := &claims[i]
		if !r.neverJoined(claim) || joined[claim.Class] > claim.LaunchedUnix {
			continue
		}
		hold := byClass[claim.Class]
		if hold != nil && (claim.LaunchedUnix <= hold.LastUnix || claim.LaunchedUnix < hold.NotedUnix) {
			if hold.Failures > 0 && claim.LaunchedUnix > hold.LastUnix {
				hold.LastUnix, r.noted = claim.LaunchedUnix, true
			}
			continue
		}
		if hold == nil {
			hold = &model.ClassHold{Class: claim.Class, Inputs: inputs[claim.Class]}
			byClass[claim.Class] = hold
		}
		hold.Failures++
		hold.LastUnix, hold.NotedUnix = claim.LaunchedUnix, r.now()
		hold.UntilUnix = r.now()
		if hold.Failures > 1 { // one machine may be a bad one: the first time another is tried at once
			hold.UntilUnix += min(holdAtMost, int64(r.settings.HoldFor.Seconds())<<min(hold.Failures-2, 10))
		}
		r.noted = true
		r.holdTold(*hold)
	}
	r.ledger.Notes.Holds = nil
	for _, hold := range byClass {
		r.ledger.Notes.Holds = append(r.ledger.Notes.Holds, *hold)
	}
	sort.Slice(r.ledger.Notes.Holds, func(i, j int) bool { return r.ledger.Notes.Holds[i].Class < r.ledger.Notes.Holds[j].Class })
}

// neverJoined reports whether a machine had its time to join and did not, as far as the ledger and the snapshot say. One that is
// ending for another reason says nothing: people or AWS took it, or nobody looked while its time ran.
func (r *run) neverJoined(claim *model.Claim) bool {
	switch {
	case claim.RegisteredUnix != 0 || claim.LaunchedUnix == 0 || claim.ProviderID == "" || len(r.nodesByProvider()[claim.ProviderID]) > 0:
		return false
	case claim.Ending() || !claim.Live():
		return claim.FailureCode == model.EndedNeverRegistered
	}
	return r.now()-claim.LaunchedUnix > int64(r.settings.JoinWithin.Seconds())
}

// holdTold tells the class, once for each failure.
func (r *run) holdTold(hold model.ClassHold) {
	for _, class := range r.snapshot.Classes {
		if class.Name == hold.Class {
			r.event(model.Event{Kind: "EC2NodeClass", Name: class.Name, UID: class.UID, Warning: true, Reason: "MachinesDoNotJoin", Message: holdText(hold)})
		}
	}
}

func holdText(hold model.ClassHold) string {
	return fmt.Sprintf("machines launched at %s did not join, time %d in a row; one is tried from %s on, and others once it has joined: look at "+
		"the user data, role and network of the class", stamp(hold.LastUnix), hold.Failures, stamp(hold.UntilUnix))
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// heldClass says why nothing may be launched from a class now, and "" where something may.
func (r *run) heldClass(class string) string {
	hold := r.holdOf(class)
	switch {
	case hold == nil:
		return ""
	case hold.UntilUnix > r.now():
		return holdText(*hold)
	case r.tried(class):
		return fmt.Sprintf("machines of it did not join, time %d in a row; one is being tried", hold.Failures)
	}
	return ""
}

// holdOf returns the hold of a class; nil where its machines join, or it was changed since they did not.
func (r *run) holdOf(class string) *model.ClassHold {
	for i := range r.ledger.Notes.Holds {
		if hold := &r.ledger.Notes.Holds[i]; hold.Class == class && hold.Failures > 0 {
			return hold
		}
	}
	return nil
}

// tried reports whether a machine of the class is on its way.
func (r *run) tried(class string) bool {
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		if claim.Class == class && claim.Live() && !claim.Ending() && claim.RegisteredUnix == 0 && !r.neverJoined(claim) {
			return true
		}
	}
	return false
}
