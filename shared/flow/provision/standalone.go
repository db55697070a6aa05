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
	standaloneAtOnce   = 50        // looked at in one run, others in the next minutes' runs
	standaloneTries    = 3         // launches for one in one run: reserved, spot and on-demand capacity
	standalonePause    = int64(60) // seconds after a run's launches for one gave no instance; doubles with every try
	standalonePauseMax = int64(1800)
)

// Reasons of the condition Launched of a NodeClaim made by hand that has no instance.
const (
	standaloneInvalid    = "ValidationFailed"
	standaloneNoCapacity = "InsufficientCapacity"
	standalonePending    = "LaunchPending"
	standaloneNameInUse  = "NameInUse"
)

// standaloneClaim is a NodeClaim that people made by hand and nobody launched yet.
type standaloneClaim struct {
	model.StandaloneClaim
	tries  int    // launches recorded for it in this run
	reason string // why it has no instance, for its condition; empty = nothing is in the way as far as is known
	why    string // the same as a sentence
}

// deny notes why there is no instance for it.
func (w *standaloneClaim) deny(reason, why string) { w.reason, w.why = reason, why }

// readStandalone reads live what people ask for by hand and is due. One that cannot be read stops no other.
func (r *pass) readStandalone(ctx context.Context) {
	var due []model.Object
	for _, object := range r.snapshot.Claims {
		if object.Manual && object.DeletedUnix == 0 && r.standaloneDue(object) {
			due = append(due, object)
		}
	}
	if n := len(due); n > standaloneAtOnce { // others' turn comes with other minutes
		at := int(r.now()/60*standaloneAtOnce) % n
		due = append(due[at:n:n], due[:at]...)[:standaloneAtOnce]
	}
	read := make([]*standaloneClaim, len(due))
	r.parallel(len(due), func(i int) {
		asked, err := r.clients.Standalone.StandaloneClaim(ctx, due[i])
		switch {
		case err == nil:
			read[i] = &standaloneClaim{StandaloneClaim: asked}
		case !fault.Is(err, fault.NotFound): // then nobody asks any more
			r.problem("read NodeClaim %s: %v", due[i].Name, err)
		}
	})
	for _, w := range read {
		if w == nil {
			continue
		}
		if len(w.Invalid) > 0 {
			w.deny(standaloneInvalid, strings.Join(w.Invalid, "; ")+" A NodeClaim is immutable: delete it and create a correct one.")
		}
		r.standalone = append(r.standalone, w)
	}
}

// standaloneDue reports whether a NodeClaim made by hand is to be launched now: nobody did, nor has any claim its name. One whose
// instance has ended is not launched again: it is about to be released.
func (r *pass) standaloneDue(object model.Object) bool {
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
	pause := min(standalonePauseMax, standalonePause<<min(max(0, former.Version/2-1), 10)) // recorded and settled each time
	return r.now()-former.GoneUnix >= pause
}

// claimNamed returns the ledger's living claim of a name; nil where there is none.
func (r *pass) claimNamed(name string) *model.Claim {
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Name == name && claim.Live() {
			return claim
		}
	}
	return nil
}

// formerly returns the claim of no pool that had a name before; nil where the ledger knows none.
func (r *pass) formerly(name string) *model.Claim {
	for i := range r.ledger.FormerClaims {
		if claim := &r.ledger.FormerClaims[i]; claim.Name == name {
			return claim
		}
	}
	return nil
}

// standaloneNamed returns the NodeClaim made by hand of a name; nil where this run read none.
func (r *pass) standaloneNamed(name string) *standaloneClaim {
	for _, w := range r.standalone {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// asking returns what people ask for by hand and may be launched in this round.
func (r *pass) asking() []model.StandaloneClaim {
	var standalones []model.StandaloneClaim
	for _, w := range r.standalone {
		if len(w.Invalid) == 0 && w.tries < standaloneTries && r.claimNamed(w.Name) == nil {
			standalones = append(standalones, w.StandaloneClaim)
		}
	}
	return standalones
}

// denied notes why there is nothing for some of them, by name.
func (r *pass) denied(reasons map[string]model.Reason) {
	for _, w := range r.standalone {
		reason, denied := reasons[w.Name]
		if !denied {
			continue
		}
		text, code := reason.Message, reason.Code
		if reason.Remedy != "" {
			text += " (" + reason.Remedy + ")"
		}
		if code == pack.NoOffering {
			code = standaloneNoCapacity
		}
		w.deny(code, text)
	}
}

// poolFor returns the pool a planned claim is of; for one that people made by hand something like it, with neither name nor
// limits.
func (r *pass) poolFor(planned *model.PlannedClaim, pools map[string]model.Pool) model.Pool {
	if planned.Pool != "" {
		return pools[planned.Pool]
	}
	if w := r.standaloneNamed(planned.Name); w != nil {
		return model.Pool{Template: w.Template}
	}
	return model.Pool{}
}

// asStandalone makes a claim that of the NodeClaim it is asked for by. It takes the place of a former one of its name.
func (r *pass) asStandalone(claim model.Claim) model.Claim {
	w := r.standaloneNamed(claim.Name)
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
func (r *pass) nameTaken(a *attempt) {
	for i := range a.claims {
		if w := r.standaloneNamed(a.claims[i].Name); w != nil {
			w.tries = standaloneTries
			w.deny(standaloneNameInUse, fmt.Sprintf("metadata.name: %q: a NodeClaim of that name ended within the last days. Choose another name, or wait.", w.Name))
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
		return "standalone NodeClaim"
	}
	return "nodepool " + pool
}

// reportStandalone shows on NodeClaims made by hand why they have no instance.
func (r *pass) reportStandalone() {
	for _, w := range r.standalone {
		claim := r.claimNamed(w.Name)
		if claim != nil && claim.State != model.Intended {
			continue
		}
		reason, why := w.reason, w.why
		if former := r.formerly(w.Name); claim == nil && former != nil && w.tries > 0 {
			reason, why = reasonOf(former.FailureCode, former.FailureMessage), former.FailureCode+": "+former.FailureMessage+"; it is tried again"
			if capacityCode(former.FailureCode) {
				reason = standaloneNoCapacity
			}
		}
		warning := reason != ""
		reason, why = cmp.Or(reason, standalonePending), cmp.Or(why, "its launch is in progress or continues in the next minute")
		if warning {
			r.event(model.Event{Kind: "NodeClaim", Name: w.Name, UID: w.UID, Warning: true, Reason: reason, Message: why})
		}
		r.report.Claims = append(r.report.Claims, model.Condition{Object: w.Name, UID: w.UID, Type: "Launched", Status: "Unknown", Reason: reason, Message: why})
	}
}

// unshown reports whether a claim's NodeClaim object, which people made, may not show its instance yet.
func (r *pass) unshown(claim *model.Claim) bool {
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
