package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// standalones are the NodeClaims made by hand that are due.
type standalones struct {
	*state
	client StandaloneClaims
	asked  []*standaloneClaim
}

// read reads live what people ask for by hand and is due. One that cannot be read stops no other.
func (s *standalones) read(ctx context.Context) {
	var due []model.Object
	for _, object := range s.snapshot.Claims {
		if object.Manual && object.DeletedUnix == 0 && s.due(object) {
			due = append(due, object)
		}
	}
	if n := len(due); n > standaloneAtOnce { // others' turn comes with other minutes
		at := int(s.now()/60*standaloneAtOnce) % n
		due = append(due[at:n:n], due[:at]...)[:standaloneAtOnce]
	}
	read := make([]*standaloneClaim, len(due))
	s.parallel(len(due), func(i int) {
		asked, err := s.client.StandaloneClaim(ctx, due[i])
		switch {
		case err == nil:
			read[i] = &standaloneClaim{StandaloneClaim: asked}
		case !fault.Is(err, fault.NotFound): // then nobody asks any more
			s.problem("read NodeClaim %s: %v", due[i].Name, err)
		}
	})
	for _, w := range read {
		if w == nil {
			continue
		}
		if len(w.Invalid) > 0 {
			w.deny(standaloneInvalid, strings.Join(w.Invalid,
				"; ")+" A NodeClaim is immutable: delete it and create a correct one.")
		}
		s.asked = append(s.asked, w)
	}
}

// due reports whether a NodeClaim made by hand is to be launched now: nobody did, nor has any claim its name. One whose
// instance has ended is not launched again: it is about to be released.
func (s *standalones) due(object model.Object) bool {
	if s.claimNamed(object.Name) != nil {
		return false
	}
	former := s.formerly(object.Name)
	switch {
	case former == nil || former.ObjectUID != object.UID:
		return true
	case former.InstanceID != "":
		return false
	}
	first := firstPause(reasonOf(former.FailureCode, former.FailureMessage), standalonePause)
	// recorded and settled each time
	pause := min(standalonePauseMax, first<<min(max(0, former.Version/2-1), 10))
	return s.now()-former.GoneUnix >= pause
}

// named returns the NodeClaim made by hand of a name; nil where this run read none.
func (s *standalones) named(name string) *standaloneClaim {
	if at := slices.IndexFunc(s.asked, func(w *standaloneClaim) bool { return w.Name == name }); at >= 0 {
		return s.asked[at]
	}
	return nil
}

// launchable returns what people ask for by hand and may be launched in this round.
func (s *standalones) launchable() []model.StandaloneClaim {
	var standalones []model.StandaloneClaim
	for _, w := range s.asked {
		if len(w.Invalid) == 0 && w.tries < standaloneTries && s.claimNamed(w.Name) == nil {
			standalones = append(standalones, w.StandaloneClaim)
		}
	}
	return standalones
}

// denied notes why there is nothing for some of them, by name.
func (s *standalones) denied(reasons map[string]model.Reason) {
	for _, w := range s.asked {
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

// poolFor returns the pool a planned claim is of; for one that people made by hand something like it, with neither name
// nor limits.
func (s *standalones) poolFor(planned *model.PlannedClaim) model.Pool {
	if pool := s.pool(planned.Pool); pool != nil {
		return *pool
	}
	if w := s.named(planned.Name); w != nil {
		return model.Pool{Template: w.Template}
	}
	return model.Pool{}
}

// asStandalone makes a claim that of the NodeClaim it is asked for by. It takes the place of a former one of its name.
func (s *standalones) asStandalone(claim model.Claim) model.Claim {
	w := s.named(claim.Name)
	if claim.Pool != "" || w == nil {
		return claim
	}
	claim.ObjectUID = w.UID
	if former := s.formerly(claim.Name); former != nil {
		claim.Version = former.Version + 1
	}
	return claim
}

// nameTaken has NodeClaims made by hand wait whose names the ledger keeps for claims of NodePools that ended lately.
func (s *standalones) nameTaken(a *attempt) {
	for i := range a.claims {
		if w := s.named(a.claims[i].Name); w != nil {
			w.tries = standaloneTries
			w.deny(standaloneNameInUse, fmt.Sprintf(
				"metadata.name: %q: a NodeClaim of that name ended within the last days. Choose another name, or wait.",
				w.Name))
		}
	}
}

// conditions shows on NodeClaims made by hand why they have no instance.
func (s *standalones) conditions() {
	for _, w := range s.asked {
		claim := s.claimNamed(w.Name)
		if claim != nil && claim.State != model.Intended {
			continue
		}
		reason, why := w.reason, w.why
		if former := s.formerly(w.Name); claim == nil && former != nil && w.tries > 0 {
			reason, why = reasonOf(former.FailureCode,
				former.FailureMessage), former.FailureCode+": "+former.FailureMessage+"; it is tried again"
			if capacityCode(former.FailureCode) {
				reason = standaloneNoCapacity
			}
		}
		warning := reason != ""
		reason, why = cmp.Or(reason, standalonePending), cmp.Or(why,
			"its launch is in progress or continues in the next minute")
		if warning {
			s.warn(kindClaim, w.Name, w.UID, reason, why)
		}
		s.report.Claims = append(s.report.Claims, model.Condition{
			Object: w.Name, UID: w.UID, Type: "Launched", Status: "Unknown", Reason: reason, Message: why,
		})
	}
}
