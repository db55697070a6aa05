package account

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// roles has what package iam leaves out of roles, their policies and tags, and what package sts leaves out of sessions, their
// policies.
type roles struct {
	account *Account

	mu       sync.Mutex
	made     map[string]*role // by name
	sessions int
}

type role struct {
	name, path string
	tags       map[string]string
	policies   map[string]string
	trust      *policy.Document
	acts       time.Time // when its policies do, at the earliest
}

func newRoles(a *Account) *roles { return &roles{account: a, made: map[string]*role{}} }

func (r *roles) arn(of *role) string {
	return "arn:aws:iam::" + r.account.Cloud.Account() + ":role" + of.path + of.name
}

// either serves the actions of first, and next all others.
func either(first wire.Query, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err == nil && first.Actions[r.PostForm.Get("Action")] != nil {
			first.ServeHTTP(w, again(r))
			return
		}
		next.ServeHTTP(w, again(r))
	})
}

// again returns a request whose form can be read once more.
func again(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.Form, out.PostForm = nil, nil
	out.Body = body(r.PostForm.Encode())
	return out
}

func (r *roles) iam(next http.Handler) http.Handler {
	q := wire.Query{Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Actions: map[string]wire.QueryAction{
		"CreateRole": wire.QueryFunc(r.create), "DeleteRole": wire.QueryFunc(r.remove),
		"PutRolePolicy": wire.QueryFunc(r.putPolicy), "DeleteRolePolicy": wire.QueryFunc(r.removePolicy), "ListRolePolicies": wire.QueryFunc(r.listPolicies),
		"ListRoles": wire.QueryFunc(r.list), "ListRoleTags": wire.QueryFunc(r.listTags),
	}}
	return either(q, next)
}

type tag struct{ Key, Value string }

type createInput struct {
	RoleName, Path, AssumeRolePolicyDocument string
	MaxSessionDuration                       *int
	Tags                                     []tag
}

type view struct {
	Path, RoleName, RoleId, Arn string
	CreateDate                  wire.Time
	AssumeRolePolicyDocument    string
}

func (r *roles) view(of *role) view {
	known, _ := r.account.EC2.LookupRole(of.name)
	return view{
		Path: of.path, RoleName: of.name, RoleId: r.account.Cloud.STS.RoleID(r.arn(of)), Arn: r.arn(of),
		CreateDate: wire.Time{Time: known.Created}, AssumeRolePolicyDocument: url.QueryEscape(known.Trust),
	}
}

type roleOutput struct{ Role view }

func (r *roles) create(_ context.Context, in *createInput) (*roleOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.made {
		if strings.EqualFold(name, in.RoleName) {
			return nil, wire.StatusErrorf(http.StatusConflict, "EntityAlreadyExists", "Role with name %s already exists.", in.RoleName)
		}
	}
	if in.Path == "" {
		in.Path = "/"
	}
	if !strings.HasPrefix(in.Path, "/") || !strings.HasSuffix(in.Path, "/") {
		return nil, wire.Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	trust, err := policy.Parse([]byte(in.AssumeRolePolicyDocument), policy.Trust)
	if err != nil {
		return nil, wire.Errorf("MalformedPolicyDocument", "%v", err)
	}
	made := &role{name: in.RoleName, path: in.Path, tags: map[string]string{}, policies: map[string]string{}, trust: trust}
	for _, t := range in.Tags {
		made.tags[t.Key] = t.Value
	}
	r.made[made.name] = made
	r.account.EC2.AddRole(ec2.Role{Name: made.name, Path: made.path, Trust: in.AssumeRolePolicyDocument})
	r.account.Cloud.STS.AddRole(sts.Role{Name: made.name, Path: made.path})
	return &roleOutput{r.view(made)}, r.report(made)
}

// report has the account's policies know the role's. The lock is held.
func (r *roles) report(of *role) error {
	identity, err := attached(of.policies)
	if err != nil {
		return err
	}
	book := r.account.Cloud.Policies
	if book.Readings.Takes(reading.PolicyLag) {
		of.acts = r.account.Clock.Now().Add(reading.PolicyDelay)
	}
	book.SetRole(r.arn(of), access.Role{Trust: of.trust, Identity: identity, Tags: of.tags})
	return nil
}

func attached(policies map[string]string) ([]policy.Attached, error) {
	var out []policy.Attached
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		d, err := policy.Parse([]byte(policies[name]), policy.Identity)
		if err != nil {
			return nil, wire.Errorf("MalformedPolicyDocument", "%v", err)
		}
		out = append(out, policy.Attached{Name: name, Document: d})
	}
	return out, nil
}

type nameInput struct{ RoleName string }

func (r *roles) named(name string) (*role, error) {
	if of := r.made[name]; of != nil {
		return of, nil
	}
	return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "The role with name %s cannot be found.", name)
}

func (r *roles) remove(_ context.Context, in *nameInput) (*struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.RoleName)
	if err != nil {
		return nil, err
	}
	if len(of.policies) > 0 {
		return nil, wire.StatusErrorf(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must delete policies first.")
	}
	for _, p := range r.account.EC2.InstanceProfiles() {
		if p.Role == of.name {
			return nil, wire.StatusErrorf(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	delete(r.made, of.name)
	r.account.EC2.RemoveRole(of.name)
	return &struct{}{}, nil
}

type policyInput struct{ RoleName, PolicyName, PolicyDocument string }

func (r *roles) putPolicy(_ context.Context, in *policyInput) (*struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.RoleName)
	if err != nil {
		return nil, err
	}
	of.policies[in.PolicyName] = in.PolicyDocument
	return &struct{}{}, r.report(of)
}

func (r *roles) removePolicy(_ context.Context, in *policyInput) (*struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.RoleName)
	if err != nil {
		return nil, err
	}
	if _, ok := of.policies[in.PolicyName]; !ok {
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "The role policy with name %s cannot be found.", in.PolicyName)
	}
	delete(of.policies, in.PolicyName)
	return &struct{}{}, r.report(of)
}

type policiesOutput struct {
	PolicyNames wire.Members[string]
	IsTruncated bool
}

func (r *roles) listPolicies(_ context.Context, in *nameInput) (*policiesOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &policiesOutput{PolicyNames: wire.MembersOf(slices.Sorted(maps.Keys(of.policies)))}, nil
}

type listInput struct {
	PathPrefix, Marker string
	MaxItems           *int
}

type listOutput struct {
	Roles       wire.Members[view]
	IsTruncated bool
}

func (r *roles) list(_ context.Context, in *listInput) (*listOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []view
	for _, name := range slices.Sorted(maps.Keys(r.made)) {
		if of := r.made[name]; strings.HasPrefix(of.path+of.name, in.PathPrefix) {
			out = append(out, r.view(of))
		}
	}
	return &listOutput{Roles: wire.MembersOf(out)}, nil
}

type tagsOutput struct {
	Tags        wire.Members[tag]
	IsTruncated bool
}

func (r *roles) listTags(_ context.Context, in *nameInput) (*tagsOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.RoleName)
	if err != nil {
		return nil, err
	}
	var out []tag
	for _, key := range slices.Sorted(maps.Keys(of.tags)) {
		out = append(out, tag{key, of.tags[key]})
	}
	return &tagsOutput{Tags: wire.MembersOf(out)}, nil
}

// sts serves AssumeRole with session policies. A session that has one is a session of a role of the same name on another path, whose
// boundary is that policy: it may do what both the role's policies and its own allow.
func (r *roles) sts() http.Handler {
	next := sts.NewHandler(r.account.Cloud.STS)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := q.ParseForm(); err == nil && q.PostForm.Get("Action") == "AssumeRole" && q.PostForm.Get("Policy") != "" {
			if err := r.shadow(q.PostForm); err != nil {
				wire.WriteError(w, q, wire.ProtocolQuery, err)
				return
			}
		}
		next.ServeHTTP(w, again(q))
	})
}

// shadow has a request for a session with a policy be about the role that stands for it.
func (r *roles) shadow(form url.Values) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	arn := form.Get("RoleArn")
	of := r.made[arn[strings.LastIndexByte(arn, '/')+1:]]
	text := form.Get("Policy")
	form.Del("Policy")
	if of == nil || r.arn(of) != arn || r.account.Clock.Now().Before(of.acts) {
		return nil // it is refused for that
	}
	boundary, err := policy.Parse([]byte(text), policy.Identity)
	if err != nil {
		return wire.Errorf("MalformedPolicyDocument", "%v", err)
	}
	identity, err := attached(of.policies)
	if err != nil {
		return err
	}
	r.sessions++
	path := fmt.Sprintf("%ssession-%d/", of.path, r.sessions)
	shadow := r.account.Cloud.STS.AddRole(sts.Role{Name: of.name, Path: path, MaxSession: 12 * time.Hour})
	// A session's policy acts at once.
	book := r.account.Cloud.Policies
	reads := book.Readings
	book.Readings = reads.Without(reading.PolicyLag)
	book.SetRole(shadow, access.Role{Trust: of.trust, Identity: identity, Boundary: &policy.Attached{Name: "session", Document: boundary}, Tags: of.tags})
	book.Readings = reads
	form.Set("RoleArn", shadow)
	return nil
}
