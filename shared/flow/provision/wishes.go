package provision

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Numbers of NodeClaims that people make by hand.
const (
	wishesAtOnce = 50        // looked at in one run, others in the next minutes' runs
	wishTries    = 3         // launches for one in one run: reserved, spot and on-demand capacity
	wishPause    = int64(60) // seconds after a run's launches for one gave no machine; doubles with every try
	wishPauseMax = int64(1800)
)

// Reasons of the condition Launched of a NodeClaim made by hand that has no machine.
const (
	wishInvalid = "ValidationFailed"
	wishDry     = "InsufficientCapacity"
	wishWaits   = "LaunchPending"
	wishName    = "NameInUse"
)

// wish is a NodeClaim that people made by hand and nobody launched yet.
type wish struct {
	model.Wish
	tries  int    // launches recorded for it in this run
	reason string // why it has no machine, for its condition; empty = nothing is in the way as far as is known
	why    string // the same as a sentence
}

// deny notes why there is no machine for it.
func (w *wish) deny(reason, why string) { w.reason, w.why = reason, why }

// readWishes reads live what people ask for by hand and is due. One that cannot be read stops no other.
func (r *run) readWishes(ctx context.Context) {
	var due []model.Object
	for _, object := range r.snapshot.Claims {
		if object.Manual && object.DeletedUnix == 0 && r.wishDue(object) {
			due = append(due, object)
		}
	}
	if n := len(due); n > wishesAtOnce { // others' turn comes with other minutes
		at := int(r.now()/60*wishesAtOnce) % n
		due = append(due[at:n:n], due[:at]...)[:wishesAtOnce]
	}
	read := make([]*wish, len(due))
	r.parallel(len(due), func(i int) {
		asked, err := r.site.Wishes.Wish(ctx, due[i])
		switch {
		case err == nil:
			read[i] = &wish{Wish: asked}
		case !fault.Is(err, fault.NotFound): // then nobody asks any more
			r.problem("read NodeClaim %s: %v", due[i].Name, err)
		}
	})
	for _, w := range read {
		if w == nil {
			continue
		}
		if len(w.Invalid) > 0 {
			w.deny(wishInvalid, strings.Join(w.Invalid, "; ")+" A NodeClaim cannot be changed: delete it and make a correct one.")
		}
		r.wishes = append(r.wishes, w)
	}
}

// wishDue reports whether a NodeClaim made by hand is to be launched now: nobody did, nor has any claim its name. One whose
// machine has ended is not launched again: it is about to be let go of.
func (r *run) wishDue(object model.Object) bool {
	if r.claimNamed(object.Name) != nil {
		return false
	}
	former := r.formerly(object.Name)
	switch {
	case former == nil || former.ObjectUID != object.UID:
		return true
	case former.InstanceID != "":
		return false
	}
	pause := min(wishPauseMax, wishPause<<min(max(0, former.Version/2-1), 10)) // recorded and settled each time
	return r.now()-former.GoneUnix >= pause
}

// claimNamed returns the ledger's living claim of a name; nil where there is none.
func (r *run) claimNamed(name string) *model.Claim {
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Name == name && claim.Live() {
			return claim
		}
	}
	return nil
}

// formerly returns the claim of no pool that had a name before; nil where the ledger knows none.
func (r *run) formerly(name string) *model.Claim {
	for i := range r.ledger.Former {
		if claim := &r.ledger.Former[i]; claim.Name == name {
			return claim
		}
	}
	return nil
}

// wishNamed returns the NodeClaim made by hand of a name; nil where this run read none.
func (r *run) wishNamed(name string) *wish {
	for _, w := range r.wishes {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// asking returns what people ask for by hand and may be launched in this round.
func (r *run) asking() []model.Wish {
	var wishes []model.Wish
	for _, w := range r.wishes {
		if len(w.Invalid) == 0 && w.tries < wishTries && r.claimNamed(w.Name) == nil {
			wishes = append(wishes, w.Wish)
		}
	}
	return wishes
}

// denied notes why there is nothing for some of them, by name.
func (r *run) denied(reasons map[string]model.Reason) {
	for _, w := range r.wishes {
		reason, denied := reasons[w.Name]
		if !denied {
			continue
		}
		text, code := reason.Message, reason.Code
		if reason.Remedy != "" {
			text += " (" + reason.Remedy + ")"
		}
		if code == pack.NoOffer {
			code = wishDry
		}
		w.deny(code, text)
	}
}

// poolFor returns the pool a planned claim is of; for one that people made by hand something like it, with neither name nor
// limits.
func (r *run) poolFor(planned *model.PlannedClaim, pools map[string]model.Pool) model.Pool {
	if planned.Pool != "" {
		return pools[planned.Pool]
	}
	if w := r.wishNamed(planned.Name); w != nil {
		return model.Pool{Template: w.Template}
	}
	return model.Pool{}
}

// asked makes a claim that of the NodeClaim it is asked for by. It takes the place of a former one of its name.
func (r *run) asked(claim model.Claim) model.Claim {
	w := r.wishNamed(claim.Name)
	if claim.Pool != "" || w == nil {
		return claim
	}
	claim.ObjectUID = w.UID
	if former := r.formerly(claim.Name); former != nil {
		claim.Version = former.Version + 1
	}
	return claim
}

// nameTaken has NodeClaims made by hand wait whose names the ledger keeps for claims of NodePools that ended lately.
func (r *run) nameTaken(a *attempt) {
	for i := range a.claims {
		if w := r.wishNamed(a.claims[i].Name); w != nil {
			w.tries = wishTries
			w.deny(wishName, fmt.Sprintf("metadata.name: %q: a machine of that name ended within the last days. Choose another name, or wait.", w.Name))
		}
	}
}

// laneOf tells claims that may be of one launch from those that may not: each that people made by hand is launched alone.
func laneOf(planned *model.PlannedClaim) string {
	if planned.Pool != "" {
		return planned.Pool
	}
	return model.NoPool + planned.Name
}

// launcher names for people what a launch is for.
func launcher(pool string) string {
	if pool == "" {
		return "NodeClaim made by hand"
	}
	return "nodepool " + pool
}

// wishesTold shows on NodeClaims made by hand why they have no machine.
func (r *run) wishesTold() {
	for _, w := range r.wishes {
		claim := r.claimNamed(w.Name)
		if claim != nil && claim.State != model.Intended {
			continue
		}
		reason, why := w.reason, w.why
		if former := r.formerly(w.Name); claim == nil && former != nil && w.tries > 0 {
			reason, why = reasonOf(former.FailureCode, former.FailureMessage), former.FailureCode+": "+former.FailureMessage+"; it is asked for again"
			if capacityCode(former.FailureCode) {
				reason = wishDry
			}
		}
		warning := reason != ""
		reason, why = cmp.Or(reason, wishWaits), cmp.Or(why, "its launch is under way or goes on in the next minute")
		if warning {
			r.event(model.Event{Kind: "NodeClaim", Name: w.Name, UID: w.UID, Warning: true, Reason: reason, Message: why})
		}
		r.report.Claims = append(r.report.Claims, model.Condition{Object: w.Name, UID: w.UID, Type: "Launched", Status: "Unknown", Reason: reason, Message: why})
	}
}

// unshown reports whether a claim's NodeClaim object, which people made, may not show its machine yet.
func (r *run) unshown(claim *model.Claim) bool {
	if claim.Pool != "" || claim.State != model.Launched {
		return false
	}
	for i := range r.snapshot.Claims {
		if object := &r.snapshot.Claims[i]; object.Manual && object.UID == claim.ObjectUID && object.DeletedUnix == 0 {
			return true
		}
	}
	return false
}
