package provision

import (
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// suspendAtMost is how long a class is held at the longest.
const suspendAtMost = int64(2 * 60 * 60)

// suspensionForgotten is how long, in seconds, it is remembered that a class was changed after its instances did not
// join: for longer than the ledger shows those instances.
const suspensionForgotten = int64(2 * 60 * 60)

// suspensions are the EC2NodeClasses whose instances did not join, and the NodePools whose nodes do not take the pods
// they are bought for.
type suspensions struct {
	*state
	suspects map[string]string // pools whose first node comes up and refuses its pods, with why, by name
}

// updateClasses counts instances that never joined against their classes. Instances that were launched before a failure
// was noted are of the same incident, and count once. An instance that joined after the last failure was counted takes
// the hold away, and so does another version of the class, for which none of the instances launched so far counts.
func (s *suspensions) updateClasses() {
	inputs := map[string]string{}
	for i := range s.snapshot.Classes {
		inputs[s.snapshot.Classes[i].Name] = offering.Inputs(s.snapshot.Classes[i])
	}
	claims := append(append([]model.Claim{}, s.ledger.Ended...), s.ledger.Claims...)
	joined := map[string]int64{}
	for i := range claims {
		if claim := &claims[i]; claim.RegisteredUnix > joined[claim.Class] {
			joined[claim.Class] = claim.RegisteredUnix
		}
	}
	byClass := s.remembered(inputs, joined)
	sort.SliceStable(claims, func(i, j int) bool { return claims[i].LaunchedUnix < claims[j].LaunchedUnix })
	for i := range claims {
		claim := &claims[i]
		if !s.neverJoined(claim) || joined[claim.Class] > claim.LaunchedUnix {
			continue
		}
		suspension := byClass[claim.Class]
		if suspension != nil && (claim.LaunchedUnix <= suspension.LastUnix ||
			claim.LaunchedUnix < suspension.NotedUnix) {
			if suspension.Failures > 0 && claim.LaunchedUnix > suspension.LastUnix {
				suspension.LastUnix, s.noted = claim.LaunchedUnix, true
			}
			continue
		}
		if suspension == nil {
			suspension = &model.ClassSuspension{Class: claim.Class, Inputs: inputs[claim.Class]}
			byClass[claim.Class] = suspension
		}
		suspension.Failures++
		suspension.LastUnix, suspension.NotedUnix = claim.LaunchedUnix, s.now()
		suspension.UntilUnix = s.now()
		if suspension.Failures > 1 { // one instance may be a bad one: the first time another is tried at once
			suspension.UntilUnix += min(suspendAtMost,
				int64(s.settings.SuspendFor.Seconds())<<min(suspension.Failures-2, 10))
		}
		s.noted = true
		s.announce(*suspension)
	}
	s.ledger.Notes.ClassSuspensions = nil
	for _, suspension := range byClass {
		s.ledger.Notes.ClassSuspensions = append(s.ledger.Notes.ClassSuspensions, *suspension)
	}
	sort.Slice(s.ledger.Notes.ClassSuspensions, func(i, j int) bool {
		return s.ledger.Notes.ClassSuspensions[i].Class < s.ledger.Notes.ClassSuspensions[j].Class
	})
}

// remembered returns what is noted of classes, by their names, without what their digests and times of the latest
// instance that joined say is over.
func (s *suspensions) remembered(inputs map[string]string, joined map[string]int64) map[string]*model.ClassSuspension {
	byClass := map[string]*model.ClassSuspension{}
	for _, suspension := range s.ledger.Notes.ClassSuspensions {
		forgotten := s.now()-suspension.NotedUnix > suspensionForgotten && suspension.Failures == 0
		if forgotten || joined[suspension.Class] > suspension.NotedUnix {
			s.noted = true
			continue
		}
		switch now := inputs[suspension.Class]; {
		case now == "" || now == suspension.Inputs:
		case suspension.Inputs == "": // it was written before holds had this
			suspension.Inputs, s.noted = now, true
		default:
			suspension = model.ClassSuspension{Class: suspension.Class, Inputs: now, NotedUnix: s.now()}
			s.noted = true
		}
		byClass[suspension.Class] = &suspension
	}
	return byClass
}

// announce tells the class, once for each failure.
func (s *suspensions) announce(suspension model.ClassSuspension) {
	if class := s.class(suspension.Class); class != nil {
		s.warn(kindClass, class.Name, class.UID, "MachinesDoNotJoin", suspensionText(suspension))
	}
}

func suspensionText(suspension model.ClassSuspension) string {
	return fmt.Sprintf("instances launched at %s did not join, time %d in a row; one is launched from %s on, "+
		"and others once it has joined: check the user data, role and network of the EC2NodeClass",
		stamp(suspension.LastUnix), suspension.Failures, stamp(suspension.UntilUnix))
}

// classSuspended says why nothing may be launched from a class now, and "" where something may.
func (s *suspensions) classSuspended(class string) string {
	suspension := s.ofClass(class)
	switch {
	case suspension == nil:
		return ""
	case suspension.UntilUnix > s.now():
		return suspensionText(*suspension)
	case s.tried(class):
		return fmt.Sprintf("its instances did not join, time %d in a row; one is being launched", suspension.Failures)
	}
	return ""
}

// ofClass returns the hold of a class; nil where its instances join, or it was changed since they did not.
func (s *suspensions) ofClass(class string) *model.ClassSuspension {
	return find(s.ledger.Notes.ClassSuspensions,
		func(of *model.ClassSuspension) bool { return of.Class == class && of.Failures > 0 })
}

// tried reports whether an instance of the class is on its way.
func (s *suspensions) tried(class string) bool {
	return find(s.ledger.Claims, func(claim *model.Claim) bool {
		return claim.Class == class && claim.Live() && !claim.Ending() && claim.RegisteredUnix == 0 &&
			!s.neverJoined(claim)
	}) != nil
}
