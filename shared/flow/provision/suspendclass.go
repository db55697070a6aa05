package provision

import (
	"fmt"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// suspendAtMost is how long a class is held at the longest.
const suspendAtMost = int64(2 * 60 * 60)

// suspensionForgotten is how long, in seconds, it is remembered that a class was changed after its instances did not join: for longer than
// the ledger shows those instances.
const suspensionForgotten = int64(2 * 60 * 60)

// suspendClasses counts instances that never joined against their classes. Instances that were launched before a failure was noted are of
// the same incident, and count once. An instance that joined after the last failure was counted takes the hold away, and so does
// another version of the class, for which none of the instances launched so far counts.
func (r *pass) suspendClasses() {
	inputs := map[string]string{}
	for i := range r.snapshot.Classes {
		inputs[r.snapshot.Classes[i].Name] = offering.Inputs(r.snapshot.Classes[i])
	}
	claims := append(append([]model.Claim{}, r.ledger.Ended...), r.ledger.Claims...)
	joined := map[string]int64{}
	for i := range claims {
		if claim := &claims[i]; claim.RegisteredUnix > joined[claim.Class] {
			joined[claim.Class] = claim.RegisteredUnix
		}
	}
	byClass := map[string]*model.ClassSuspension{}
	for _, suspension := range r.ledger.Notes.ClassSuspensions {
		if joined[suspension.Class] > suspension.NotedUnix || r.now()-suspension.NotedUnix > suspensionForgotten && suspension.Failures == 0 {
			r.noted = true
			continue
		}
		switch now := inputs[suspension.Class]; {
		case now == "" || now == suspension.Inputs:
		case suspension.Inputs == "": // it was written before holds had this
			suspension.Inputs, r.noted = now, true
		default:
			suspension = model.ClassSuspension{Class: suspension.Class, Inputs: now, NotedUnix: r.now()}
			r.noted = true
		}
		byClass[suspension.Class] = &suspension
	}
	sort.SliceStable(claims, func(i, j int) bool { return claims[i].LaunchedUnix < claims[j].LaunchedUnix })
	for i := range claims {
		claim := &claims[i]
		if !r.neverJoined(claim) || joined[claim.Class] > claim.LaunchedUnix {
			continue
		}
		suspension := byClass[claim.Class]
		if suspension != nil && (claim.LaunchedUnix <= suspension.LastUnix || claim.LaunchedUnix < suspension.NotedUnix) {
			if suspension.Failures > 0 && claim.LaunchedUnix > suspension.LastUnix {
				suspension.LastUnix, r.noted = claim.LaunchedUnix, true
			}
			continue
		}
		if suspension == nil {
			suspension = &model.ClassSuspension{Class: claim.Class, Inputs: inputs[claim.Class]}
			byClass[claim.Class] = suspension
		}
		suspension.Failures++
		suspension.LastUnix, suspension.NotedUnix = claim.LaunchedUnix, r.now()
		suspension.UntilUnix = r.now()
		if suspension.Failures > 1 { // one instance may be a bad one: the first time another is tried at once
			suspension.UntilUnix += min(suspendAtMost, int64(r.settings.SuspendFor.Seconds())<<min(suspension.Failures-2, 10))
		}
		r.noted = true
		r.reportSuspension(*suspension)
	}
	r.ledger.Notes.ClassSuspensions = nil
	for _, suspension := range byClass {
		r.ledger.Notes.ClassSuspensions = append(r.ledger.Notes.ClassSuspensions, *suspension)
	}
	sort.Slice(r.ledger.Notes.ClassSuspensions, func(i, j int) bool {
		return r.ledger.Notes.ClassSuspensions[i].Class < r.ledger.Notes.ClassSuspensions[j].Class
	})
}

// neverJoined reports whether an instance had its time to join and did not, as far as the ledger and the snapshot say. One that is
// ending for another reason says nothing: people or AWS took it, or nobody looked while its time ran.
func (r *pass) neverJoined(claim *model.Claim) bool {
	switch {
	case claim.RegisteredUnix != 0 || claim.LaunchedUnix == 0 || claim.ProviderID == "" || len(r.nodesByProvider()[claim.ProviderID]) > 0:
		return false
	case claim.Ending() || !claim.Live():
		return claim.FailureCode == model.EndedNeverRegistered
	}
	return r.now()-claim.LaunchedUnix > int64(r.settings.JoinWithin.Seconds())
}

// reportSuspension tells the class, once for each failure.
func (r *pass) reportSuspension(suspension model.ClassSuspension) {
	for _, class := range r.snapshot.Classes {
		if class.Name == suspension.Class {
			r.event(model.Event{Kind: "EC2NodeClass", Name: class.Name, UID: class.UID, Warning: true, Reason: "MachinesDoNotJoin", Message: suspensionText(suspension)})
		}
	}
}

func suspensionText(suspension model.ClassSuspension) string {
	return fmt.Sprintf("instances launched at %s did not join, time %d in a row; one is launched from %s on, and others once it has joined: check "+
		"the user data, role and network of the EC2NodeClass", stamp(suspension.LastUnix), suspension.Failures, stamp(suspension.UntilUnix))
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// classSuspended says why nothing may be launched from a class now, and "" where something may.
func (r *pass) classSuspended(class string) string {
	suspension := r.suspensionOf(class)
	switch {
	case suspension == nil:
		return ""
	case suspension.UntilUnix > r.now():
		return suspensionText(*suspension)
	case r.tried(class):
		return fmt.Sprintf("its instances did not join, time %d in a row; one is being launched", suspension.Failures)
	}
	return ""
}

// suspensionOf returns the hold of a class; nil where its instances join, or it was changed since they did not.
func (r *pass) suspensionOf(class string) *model.ClassSuspension {
	for i := range r.ledger.Notes.ClassSuspensions {
		if suspension := &r.ledger.Notes.ClassSuspensions[i]; suspension.Class == class && suspension.Failures > 0 {
			return suspension
		}
	}
	return nil
}

// tried reports whether an instance of the class is on its way.
func (r *pass) tried(class string) bool {
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		if claim.Class == class && claim.Live() && !claim.Ending() && claim.RegisteredUnix == 0 && !r.neverJoined(claim) {
			return true
		}
	}
	return false
}
