package ec2

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Why an action is refused, as EC2 ends its sentence. The verb is the action, e.g. "ec2:RunInstances".
const (
	NoPolicyAllows     = "because no identity-based policy allows the %s action"
	ExplicitDeny       = "with an explicit deny in an identity-based policy"
	NoBoundaryAllows   = "because no permissions boundary allows the %s action"
	ServiceControlDeny = "with an explicit deny in a service control policy"
)

// Denial is an action callers may not perform. There is none to begin with: whoever is known may do everything.
type Denial struct {
	Action   string // e.g. "RunInstances"; of IAM with its name, e.g. "iam:PassRole"; "" means every one
	Role     string // name of the role whose sessions are refused; "" means everybody
	Resource string // what the refusal names: an ARN, e.g. of an image; "" means all of the account's
	Because  string // one of the reasons above; "" means NoPolicyAllows
}

// Deny makes an action fail with UnauthorizedOperation, a dry run of it too, until allow is called. CreateFleet reports
// a denied RunInstances as an error of each override, as EC2 does.
func (m *Model) Deny(d Denial) (allow func()) {
	m.lock()
	defer m.unlock()
	id := m.nextDenial
	m.nextDenial++
	if m.denials == nil {
		m.denials = map[int]Denial{}
	}
	m.denials[id] = d
	return func() {
		m.lock()
		defer m.unlock()
		delete(m.denials, id)
	}
}

// authorize refuses what the caller of ctx may not do. The lock is held.
func (m *Model) authorize(ctx context.Context, action string) *wire.Error {
	if d, caller, denied := m.denial(ctx, action); denied {
		verb := "ec2:" + action
		d.Resource = cmp.Or(d.Resource, m.arn("*"))
		sentence := d.sentence(caller, verb)
		return wire.StatusErrorf(http.StatusForbidden, "UnauthorizedOperation",
			"You are not authorized to perform this operation. %s. Encoded authorization failure message: %s", sentence,
			base64.RawURLEncoding.EncodeToString([]byte(digest(sentence))))
	}
	return nil
}

// denial returns the first denial of an action to the caller of ctx, and who that is.
func (m *Model) denial(ctx context.Context, action string) (d Denial, caller string, denied bool) {
	caller = cmp.Or(wire.Caller(ctx).ARN, "arn:aws:iam::"+m.account+":root")
	for id := range m.nextDenial { // in the order of their making
		d, ok := m.denials[id]
		if ok && (d.Action == "" || d.Action == action) && (d.Role == "" || strings.Contains(caller, ":assumed-role/"+d.Role+"/")) {
			return d, caller, true
		}
	}
	return Denial{}, caller, false
}

// sentence words the refusal.
func (d Denial) sentence(caller, verb string) string {
	because := cmp.Or(d.Because, NoPolicyAllows)
	if strings.Contains(because, "%s") {
		because = fmt.Sprintf(because, verb)
	}
	return fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s %s", caller, verb, d.Resource, because)
}
