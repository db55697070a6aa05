package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Role is what an account says of a role.
type Role struct {
	Trust    *policy.Document // who may assume it; nil: as package sts was told
	Identity []policy.Attached
	Boundary *policy.Attached // nil: none
	Tags     map[string]string
}

// Book holds the policies of an account, and those of other accounts that have to do with it. It is safe for concurrent use. A principal
// it does not know may do whatever the policies of resources do not deny, and in another account than its own what they allow.
type Book struct {
	Account, Region string
	Now             func() time.Time // for aws:CurrentTime
	Readings        *reading.Set     // of what IAM leaves open; nil: what the environment says

	mu        sync.Mutex
	roles     map[string]Role            // by ARN
	pending   map[string][]change        // of roles, that do not act yet, oldest first
	resources map[string]policy.Attached // by ARN of a queue, bucket or function
	tableKeys map[string]string          // attribute with the partition key, by table
	buckets   map[string]string          // account of a bucket, where that is not the book's
	uses      map[use]*Use
}

// use is what calls are counted by.
type use struct{ principal, action, resource, reason, by string }

// Use is how often a principal did, or was refused, an action on a resource.
type Use struct {
	Principal string // ARN of the role or user, or name of the service
	Action    string
	Resource  string
	Decision  policy.Decision
	Times     int
}

func (u Use) String() string {
	return fmt.Sprintf("%s %s on %s: %v, %d times", u.Principal, u.Action, u.Resource, u.Decision, u.Times)
}

// Grant is an action that a statement of a role allows, as it is written there.
type Grant struct {
	Role, Policy, Sid, Action string
}

func (g Grant) String() string { return g.Role + ": " + g.Action + " of " + g.Policy + "/" + g.Sid }

// NewBook returns a book without policies.
func NewBook(account, region string, now func() time.Time) *Book {
	return &Book{
		Account: account, Region: region, Now: now,
		roles: map[string]Role{}, pending: map[string][]change{}, resources: map[string]policy.Attached{}, tableKeys: map[string]string{}, buckets: map[string]string{}, uses: map[use]*Use{},
	}
}

// SetRole gives a role its policies, or others than before. From now on its sessions may do what those allow and nothing else.
func (b *Book) SetRole(arn string, r Role) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Readings.Takes(reading.PolicyLag) {
		before, known := b.roles[arn]
		if !known {
			before.Trust = &policy.Document{}
		}
		b.pending[arn] = append(b.pending[arn], change{b.Now().Add(reading.PolicyDelay), before})
	}
	b.roles[arn] = r
}

// change is what a role was until a time. A role there was not has no rights, and nobody may assume it.
type change struct {
	until  time.Time
	before Role
}

// acting returns what counts of a role now. The lock is held.
func (b *Book) acting(arn string) (Role, bool) {
	role, known := b.roles[arn]
	changes := b.pending[arn]
	for len(changes) > 0 && !b.Now().Before(changes[0].until) {
		changes = changes[1:]
	}
	if b.pending[arn] = changes; len(changes) == 0 {
		delete(b.pending, arn)
		return role, known
	}
	return changes[0].before, known
}

// Settling reports whether something that was said of a role does not act yet.
func (b *Book) Settling(arn string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acting(arn)
	return len(b.pending[arn]) > 0
}

// RemoveRole forgets a role: it may do nothing from now on, and nobody may take it on.
func (b *Book) RemoveRole(arn string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.roles, arn)
	delete(b.pending, arn)
}

// RemoveResource forgets the policy of a resource.
func (b *Book) RemoveResource(arn string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.resources, arn)
}

// SetResource gives a resource its policy. name is how decisions name it.
func (b *Book) SetResource(arn, name string, d *policy.Document) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resources[arn] = policy.Attached{Name: name, Document: d}
}

// SetTableKey says which attribute holds the partition key of a table; of an index give "table/index". It is "PK" otherwise.
func (b *Book) SetTableKey(table, attribute string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tableKeys[table] = attribute
}

func (b *Book) tableKey(table string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.tableKeys[table], "PK")
}

// Empty reports whether the book has no policies at all.
func (b *Book) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.roles)+len(b.resources) == 0
}

// Knows reports whether the principal with an ARN has policies.
func (b *Book) Knows(arn string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.roles[arn]
	return ok
}

// Decide answers one question and remembers the answer. To Context it adds the condition keys of every request.
func (b *Book) Decide(who policy.Principal, a wire.Access) policy.Decision {
	d := b.decide(who, a)
	b.remember(who, a, d)
	return d
}

// Try answers one question without remembering a refusal: of what AWS looks at without the caller having asked for it.
func (b *Book) Try(who policy.Principal, a wire.Access) policy.Decision {
	d := b.decide(who, a)
	if d.Allowed() {
		b.remember(who, a, d)
	}
	return d
}

// Would answers one question as a simulation does: nothing of it is remembered.
func (b *Book) Would(who policy.Principal, a wire.Access) policy.Decision { return b.decide(who, a) }

func (b *Book) decide(who policy.Principal, a wire.Access) policy.Decision {
	b.mu.Lock()
	role, known := b.acting(who.ARN)
	resource, has := b.resourceOf(a.Resource)
	target, assumes := b.acting(a.Resource)
	b.mu.Unlock()
	r := policy.Request{Principal: who, Action: a.Action, Resource: a.Resource, Account: b.accountOf(a.Resource), Context: b.context(who, role, a)}
	p := policy.Policies{Identity: role.Identity, Boundary: role.Boundary}
	switch {
	case strings.HasPrefix(a.Action, "sts:AssumeRole") && assumes && target.Trust != nil:
		p.Resource, p.Needed = &policy.Attached{Name: "trust of " + a.Resource, Document: target.Trust}, true
	case strings.HasPrefix(a.Action, "sts:AssumeRole"):
		if !a.Trusted {
			return policy.Decision{Reason: policy.NoResourceAllow}
		}
		r.Account = "" // the role's word is given
	case has:
		p.Resource = &resource
	}
	if !known && who.Service == "" {
		p.Identity = []policy.Attached{everything} // nobody has said what it may do
	}
	return policy.Decide(r, p)
}

// everything is what principals may do that the book knows no policies of.
var everything = func() policy.Attached {
	d, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {"Sid": "Unknown", "Effect": "Allow", "Action": "*", "Resource": "*"}}`), policy.Identity)
	if err != nil {
		panic(err)
	}
	return policy.Attached{Name: "none", Document: d}
}()

// resourceOf returns the policy of a resource: of an object that of its bucket, of an index that of its table.
func (b *Book) resourceOf(arn string) (policy.Attached, bool) {
	if p, ok := b.resources[arn]; ok {
		return p, true
	}
	if i := strings.IndexByte(arn, '/'); i > 0 && strings.HasPrefix(arn, "arn:aws:s3:::") {
		p, ok := b.resources[arn[:i]]
		return p, ok
	}
	return policy.Attached{}, false
}

// accountOf returns the account of an ARN; "" where it has none, as those of buckets.
func accountOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 && len(parts[4]) == 12 {
		return parts[4]
	}
	return ""
}

// SetBucketAccount says that a bucket is in another account than the book's.
func (b *Book) SetBucketAccount(bucket, account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buckets[bucket] = account
}

// accountOf returns the account that a resource is in: of buckets, whose ARNs do not say it, the book's own where nothing else was said.
func (b *Book) accountOf(arn string) string {
	path, is := strings.CutPrefix(arn, "arn:aws:s3:::")
	if !is {
		return accountOf(arn)
	}
	bucket, _, _ := strings.Cut(path, "/")
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.buckets[bucket], b.Account)
}

// context returns the condition keys of a request. Requests of the model count as sent by TLS.
func (b *Book) context(who policy.Principal, role Role, a wire.Access) policy.Context {
	now := b.Now().UTC()
	c := policy.Context{
		"aws:securetransport": {"true"}, "aws:requestedregion": {b.Region}, "aws:currenttime": {now.Format(time.RFC3339)},
		"aws:epochtime": {strconv.FormatInt(now.Unix(), 10)}, "aws:viaawsservice": {"false"}, "aws:principalisawsservice": {"false"},
		"aws:resourceaccount": {cmp.Or(b.accountOf(a.Resource), b.Account)},
	}
	if strings.HasPrefix(a.Action, "s3:") {
		c["s3:resourceaccount"] = c["aws:resourceaccount"]
	}
	if strings.HasPrefix(a.Action, "ec2:") {
		c["ec2:region"] = []string{b.Region}
	}
	switch {
	case who.Service != "":
		c["aws:principalisawsservice"], c["aws:principalservicename"] = []string{"true"}, []string{who.Service}
	default:
		c["aws:principalarn"], c["aws:principalaccount"] = []string{who.ARN}, []string{who.Account}
		c["aws:principaltype"] = []string{principalType(who)}
	}
	for key, value := range role.Tags {
		c["aws:principaltag/"+strings.ToLower(key)] = []string{value}
	}
	for key, values := range a.Context {
		c[key] = values
	}
	return c
}

func principalType(who policy.Principal) string {
	switch {
	case who.Session != "":
		return "AssumedRole"
	case strings.HasSuffix(who.ARN, ":root"):
		return "Account"
	}
	return "User"
}

func (b *Book) remember(who policy.Principal, a wire.Access, d policy.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	principal := cmp.Or(who.Service, who.ARN)
	key := use{principal, a.Action, a.Resource, string(d.Reason), fmt.Sprint(d.By)}
	if b.uses[key] == nil {
		b.uses[key] = &Use{Principal: principal, Action: a.Action, Resource: a.Resource, Decision: d}
	}
	b.uses[key].Times++
}

// Uses returns what was asked and how it was decided, sorted.
func (b *Book) Uses() []Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Use
	for _, u := range b.uses {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(x, y Use) int { return strings.Compare(x.String(), y.String()) })
	return out
}

// Denied returns what was refused, sorted.
func (b *Book) Denied() []Use {
	return slices.DeleteFunc(b.Uses(), func(u Use) bool { return u.Decision.Allowed() })
}

// Forget drops what was remembered.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses = map[use]*Use{}
}

// Unused returns every action that a role is allowed and never used, as its statements write them, sorted. An action that several
// statements allow counts as used for each that fits the call. Statements with NotAction count as one grant, with Action "".
func (b *Book) Unused() []Grant {
	used := map[Grant]bool{}
	for _, u := range b.Uses() {
		for _, o := range u.Decision.By {
			if u.Decision.Allowed() {
				used[Grant{u.Principal, o.Policy, o.Sid, o.Action}] = true
			}
		}
	}
	return slices.DeleteFunc(b.Grants(), func(g Grant) bool { return used[g] })
}

// Grants returns every action the roles are allowed, as their statements write them, sorted.
func (b *Book) Grants() []Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Grant
	for arn, role := range b.roles {
		for _, attached := range role.Identity {
			for i, s := range attached.Document.Statements {
				sid := cmp.Or(s.Sid, fmt.Sprintf("#%d", i+1))
				switch {
				case s.Deny:
				case s.NotAction:
					out = append(out, Grant{arn, attached.Name, sid, ""})
				default:
					for _, action := range s.Actions {
						out = append(out, Grant{arn, attached.Name, sid, action})
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(x, y Grant) int { return strings.Compare(x.String(), y.String()) })
	return out
}

// Because words why a request is refused, as AWS ends its sentences.
func Because(d policy.Decision, action string) string {
	switch d.Reason {
	case policy.ExplicitDeny:
		return strings.Replace("with an explicit deny in a "+d.DeniedIn, "a identity", "an identity", 1)
	case policy.NoBoundaryAllow:
		return "because no permissions boundary allows the " + action + " action"
	case policy.NoSessionAllow:
		return "because no session policy allows the " + action + " action"
	case policy.NoResourceAllow:
		return "because no resource-based policy allows the " + action + " action"
	}
	return "because no identity-based policy allows the " + action + " action"
}

// Roles returns the ARNs of the roles that have policies, sorted.
func (b *Book) Roles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.roles))
}
