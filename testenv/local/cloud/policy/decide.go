package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Principal is who asks.
type Principal struct {
	ARN     string // of the role or user; of an account's root, its ARN
	Session string // ARN of the role's session; "" for users
	Account string // twelve digits; "" for services
	Service string // e.g. "events.amazonaws.com"; "" for everyone else
	// Provider is the ARN of the OIDC provider whose token somebody brings who has no identity in AWS yet.
	Provider string
}

// Role returns the principal behind a role's session of any name, by the ARN of the role.
func Role(arn string) Principal {
	parts := strings.SplitN(arn, ":", 6)
	name := arn[strings.LastIndex(arn, "/")+1:]
	return Principal{ARN: arn, Account: parts[4], Session: fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/session", parts[1], parts[4], name)}
}

// Service returns an AWS service as principal.
func Service(name string) Principal { return Principal{Service: name} }

func (p Principal) root() bool { return strings.HasSuffix(p.ARN, ":root") }

// Request is one question to IAM: may this action be done to this resource?
type Request struct {
	Principal Principal
	Action    string // e.g. "sqs:SendMessage"
	Resource  string // an ARN, or "*" where the action knows no resources
	// Account is the account the resource is in; "" = the principal's.
	Account string
	Context Context
}

// Attached is a document under the name by which decisions name it.
type Attached struct {
	Name     string
	Document *Document
}

// Policies are all that have a say in a request.
type Policies struct {
	Identity []Attached
	Boundary *Attached // nil: none
	Session  *Attached // nil: none
	Resource *Attached // nil: the resource has none
	// Needed says that nothing goes without the resource's policy, as with roles' trust policies and keys.
	Needed bool
}

// Reason says why a request was decided as it was.
type Reason string

// Reasons. Each but Granted is a refusal.
const (
	Granted         Reason = "allowed"
	ExplicitDeny    Reason = "explicit deny"
	NoIdentityAllow Reason = "no identity-based policy allows it"
	NoBoundaryAllow Reason = "no permissions boundary allows it"
	NoSessionAllow  Reason = "no session policy allows it"
	NoResourceAllow Reason = "no resource-based policy allows it"
)

// Origin is a statement of a policy.
type Origin struct {
	Policy string // name of the policy
	Sid    string // of the statement; "#2" for the second, without one
	Action string // as the statement writes what fits the request; "" with NotAction
}

func (o Origin) String() string { return o.Policy + "/" + o.Sid }

// Decision is an answer, and where it comes from.
type Decision struct {
	Reason Reason
	// By are the statements that allow the request, in their order; of an explicit deny the one that denies; empty where
	// nothing names it.
	By []Origin
	// DeniedIn tells whose policy an explicit deny is in: "identity-based policy", "permissions boundary", "session policy" or
	// "resource-based policy".
	DeniedIn string
}

// Allowed reports whether the request may go ahead.
func (d Decision) Allowed() bool { return d.Reason == Granted }

func (d Decision) String() string {
	if len(d.By) == 0 {
		return string(d.Reason)
	}
	return fmt.Sprintf("%s by %v", d.Reason, d.By)
}

// Decide evaluates a request in the order of the user guide: an explicit deny anywhere ends it; within an account either the
// identity's or the resource's policies must allow it, between accounts both; boundary and session policies take away from what
// identity policies grant, and from what a resource grants to a role, but not from what it grants to a session, a user or everyone.
func Decide(r Request, p Policies) Decision {
	if d, denied := p.denial(r); denied {
		return d
	}
	grant, by := grantedByResource(r, p.Resource)
	if r.Principal.Service != "" || r.Principal.Provider != "" {
		return needs(grant > toNobody, NoResourceAllow, by)
	}
	identity, allows := grantedByIdentity(r, p.Identity)
	allows = allows || r.Principal.root()
	missing := p.takenAway(r)
	across := r.Account != "" && r.Account != r.Principal.Account
	switch {
	case grant == toItself && !across:
		return Decision{Reason: Granted, By: by}
	case grant >= toRole && !across && missing == "":
		return Decision{Reason: Granted, By: slices.Concat(by, identity)}
	case (across || p.Needed) && grant == toNobody:
		return Decision{Reason: NoResourceAllow}
	case !allows:
		return Decision{Reason: NoIdentityAllow}
	}
	return needs(missing == "", missing, slices.Concat(identity, by))
}

func needs(ok bool, otherwise Reason, by []Origin) Decision {
	if !ok {
		return Decision{Reason: otherwise}
	}
	return Decision{Reason: Granted, By: by}
}

// denial returns the first explicit deny.
func (p Policies) denial(r Request) (Decision, bool) {
	type place struct {
		name     string
		attached *Attached
	}
	var places []place
	for i := range p.Identity {
		places = append(places, place{"identity-based policy", &p.Identity[i]})
	}
	places = append(places, place{"permissions boundary", p.Boundary}, place{"session policy", p.Session}, place{"resource-based policy", p.Resource})
	for _, place := range places {
		if by := matching(r, place.attached, true); len(by) > 0 {
			return Decision{Reason: ExplicitDeny, By: by[:1], DeniedIn: place.name}, true
		}
	}
	return Decision{}, false
}

// takenAway returns which of boundary and session policy does not allow a request; "" where both do.
func (p Policies) takenAway(r Request) Reason {
	switch {
	case p.Boundary != nil && len(matching(r, p.Boundary, false)) == 0:
		return NoBoundaryAllow
	case p.Session != nil && len(matching(r, p.Session, false)) == 0:
		return NoSessionAllow
	}
	return ""
}

func grantedByIdentity(r Request, identity []Attached) (by []Origin, ok bool) {
	for i := range identity {
		by = append(by, matching(r, &identity[i], false)...)
	}
	return by, len(by) > 0
}

// grant is to whom a resource's policy grants a request. Later ones are stronger.
type grant int

const (
	toNobody  grant = iota // to nobody
	toAccount              // to the account, whose own policies decide who
	toRole                 // to the role
	toItself               // to the session, the user or the service, or to everyone
)

// grantedByResource returns the strongest grant and the statements that make one.
func grantedByResource(r Request, a *Attached) (strongest grant, by []Origin) {
	if a == nil {
		return toNobody, nil
	}
	for i := range a.Document.Statements {
		s := &a.Document.Statements[i]
		if action, fits := s.fits(r, a.Document.Kind); fits && !s.Deny {
			strongest = max(strongest, s.grants(r.Principal))
			by = append(by, Origin{a.Name, nameOf(s.Sid, i), action})
		}
	}
	return strongest, by
}

// matching returns the statements of a document with an effect that fit a request.
func matching(r Request, a *Attached, deny bool) (by []Origin) {
	if a == nil {
		return nil
	}
	for i := range a.Document.Statements {
		s := &a.Document.Statements[i]
		if s.Deny != deny {
			continue
		}
		if action, fits := s.fits(r, a.Document.Kind); fits {
			by = append(by, Origin{a.Name, nameOf(s.Sid, i), action})
		}
	}
	return by
}

// fits reports whether a statement names a request, and by which of its actions.
func (s *Statement) fits(r Request, kind Kind) (action string, ok bool) {
	if kind != Identity && s.grants(r.Principal) == toNobody {
		return "", false
	}
	action, ok = s.speaksOf(r.Action)
	if !ok || kind != Trust && !s.on(r) {
		return "", false
	}
	for _, c := range s.conditions {
		if !c.holds(r.Context) {
			return "", false
		}
	}
	return action, true
}

func (s *Statement) speaksOf(action string) (written string, ok bool) {
	action = strings.ToLower(action)
	for i, p := range s.actions {
		if p.matches(action) {
			return s.Actions[i], !s.NotAction
		}
	}
	return "", s.NotAction
}

// on reports whether a statement names the request's resource. A pattern with a variable the request does not have fits
// nothing, and with NotResource then neither.
func (s *Statement) on(r Request) bool {
	for i, p := range s.resources {
		if len(s.parts[i]) == 6 {
			if matchParts(s.parts[i], r.Resource) {
				return !s.NotResource
			}
			continue
		}
		filled, ok := p.fill(r.Context)
		if !ok {
			if s.NotResource {
				return false
			}
			continue
		}
		if filled.matchesARN(r.Resource) {
			return !s.NotResource
		}
	}
	return s.NotResource
}

// grants returns as what a statement's principals name who asks.
func (s *Statement) grants(who Principal) (strongest grant) {
	for _, p := range s.principals {
		switch {
		case p.service != "" && p.service == who.Service, p.provider != "" && p.provider == who.Provider, p.arn != "" && p.arn == who.Session, p.arn != "" && p.arn == who.ARN && who.Session == "":
			return toItself
		case p.everyone: // the session is among them
			return toItself
		case p.arn != "" && p.arn == who.ARN:
			strongest = max(strongest, toRole)
		case p.account != "" && p.account == who.Account:
			strongest = max(strongest, toAccount)
		}
	}
	return strongest
}
