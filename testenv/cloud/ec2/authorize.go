package ec2

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
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
	Action   string // e.g. "RunInstances"; "" means every one
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
	caller := wire.Caller(ctx).ARN
	for id := range m.nextDenial { // in the order of their making
		d, ok := m.denials[id]
		if ok && (d.Action == "" || d.Action == action) && (d.Role == "" || strings.Contains(caller, ":assumed-role/"+d.Role+"/")) {
			return m.refusal(d, caller, "ec2:"+action)
		}
	}
	return nil
}

func (m *Model) refusal(d Denial, caller, verb string) *wire.Error {
	because, resource := d.Because, d.Resource
	if because == "" {
		because = NoPolicyAllows
	}
	if strings.Contains(because, "%s") {
		because = fmt.Sprintf(because, verb)
	}
	if resource == "" {
		resource = m.arn("*")
	}
	if caller == "" {
		caller = "arn:aws:iam::" + m.account + ":root"
	}
	encoded := base64.RawURLEncoding.EncodeToString([]byte(digest(verb + caller + resource)))
	return wire.StatusErrorf(http.StatusForbidden, "UnauthorizedOperation",
		"You are not authorized to perform this operation. User: %s is not authorized to perform: %s on resource: %s %s. Encoded authorization failure message: %s",
		caller, verb, resource, because, encoded)
}
