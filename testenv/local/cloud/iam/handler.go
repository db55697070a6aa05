package iam

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves the instance profiles of profiles on the wire protocol of
// IAM. Roles that its profiles hold exist; others are made with CreateRole, or AddRole of the model.
//
// book, which may be left out, is what SimulatePrincipalPolicy asks.
func NewHandler(profiles *ec2.Model, book ...Simulator) http.Handler {
	s := &service{ec2: profiles}
	if len(book) > 0 {
		s.book = book[0]
	}
	return wire.Query{Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Actions: map[string]wire.QueryAction{
		"AddRoleToInstanceProfile":      action(s, "AddRoleToInstanceProfile", s.addRoleToInstanceProfile),
		"AttachRolePolicy":              action(s, "AttachRolePolicy", s.attachRolePolicy),
		"CreateInstanceProfile":         action(s, "CreateInstanceProfile", s.createInstanceProfile),
		"CreateRole":                    action(s, "CreateRole", s.createRole),
		"CreateServiceLinkedRole":       action(s, "CreateServiceLinkedRole", s.createServiceLinkedRole),
		"DeleteInstanceProfile":         action(s, "DeleteInstanceProfile", s.deleteInstanceProfile),
		"DeleteRole":                    action(s, "DeleteRole", s.deleteRole),
		"DetachRolePolicy":              action(s, "DetachRolePolicy", s.detachRolePolicy),
		"GetInstanceProfile":            action(s, "GetInstanceProfile", s.getInstanceProfile),
		"GetRole":                       action(s, "GetRole", s.getRole),
		"ListAttachedRolePolicies":      action(s, "ListAttachedRolePolicies", s.listAttachedRolePolicies),
		"ListInstanceProfileTags":       action(s, "ListInstanceProfileTags", s.listInstanceProfileTags),
		"ListInstanceProfiles":          action(s, "ListInstanceProfiles", s.listInstanceProfiles),
		"ListInstanceProfilesForRole":   action(s, "ListInstanceProfilesForRole", s.listInstanceProfilesForRole),
		"RemoveRoleFromInstanceProfile": action(s, "RemoveRoleFromInstanceProfile", s.removeRoleFromInstanceProfile),
		"SimulatePrincipalPolicy":       wire.QueryFunc(s.simulate),
		"TagInstanceProfile":            action(s, "TagInstanceProfile", s.tagInstanceProfile),
		"UntagInstanceProfile":          action(s, "UntagInstanceProfile", s.untagInstanceProfile),
	}}
}

// service is what the actions share. The mutex makes reading the EC2 model and
// changing it one step.
type service struct {
	ec2  *ec2.Model
	book Simulator // nil: nobody knows any policy
	mu   sync.Mutex
}

// action wraps a method: rights first, then decoding. One runs at a time.
func action[I, O any](s *service, name string, f func(context.Context, *I) (*O, error)) wire.QueryAction {
	return func(ctx context.Context, form *wire.Form) (any, error) {
		if name == "GetInstanceProfile" && s.ec2.Reads(reading.MissingProfile) {
			if _, err := s.profile(form.Get("InstanceProfileName")); err != nil {
				return nil, err
			}
		}
		for _, verb := range asks(name, form) {
			keys := s.keys(form)
			if verb != name {
				madeWith(keys)
			}
			if err := s.ec2.AuthorizeIAM(ctx, "iam:"+verb, s.resource(form), keys); err != nil {
				return nil, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return wire.QueryFunc(f)(ctx, form)
	}
}

// asks returns the actions a request asks for: what is made with tags asks for tagging, too.
func asks(name string, form *wire.Form) []string {
	if tags := form.Children["Tags"]; tags != nil && (name == "CreateInstanceProfile" || name == "CreateRole") {
		return []string{name, strings.Replace(name, "Create", "Tag", 1)}
	}
	return []string{name}
}

// madeWith lets the tags a profile is made with count as its own where tagging it is asked for: Karpenter's published policy allows
// TagInstanceProfile on condition of both, and making profiles by it works on AWS.
func madeWith(keys map[string][]string) {
	for key, values := range maps.Clone(keys) {
		if tag, ok := strings.CutPrefix(key, "aws:requesttag/"); ok {
			keys["aws:resourcetag/"+tag], keys["iam:resourcetag/"+tag] = values, values
		}
	}
}

// resource returns the ARN a request is about and a refusal names. IAM knows the path of what there is; of anything else it goes by
// the name alone. A list is about the path it is asked for.
func (s *service) resource(form *wire.Form) string {
	arn := "arn:aws:iam::" + s.ec2.Account() + ":"
	if name := form.Get("InstanceProfileName"); name != "" {
		path := form.Get("Path") // of one that is to be
		if p, err := s.profile(name); err == nil {
			path = p.Path
		}
		return arn + "instance-profile" + cmp.Or(path, "/") + name
	}
	if name := form.Get("RoleName"); name != "" {
		path := form.Get("Path")
		if r, err := s.role(name); err == nil {
			path = r.Path
		}
		return arn + "role" + cmp.Or(path, "/") + name
	}
	return arn + "instance-profile" + cmp.Or(form.Get("PathPrefix"), "/")
}

// keys returns the condition keys of a request: the tags it sets, and those of the profile it is about.
func (s *service) keys(form *wire.Form) map[string][]string {
	out := map[string][]string{}
	var in struct{ Tags []tag }
	if tags := form.Children["Tags"]; tags != nil {
		if err := (&wire.Form{Children: map[string]*wire.Form{"Tags": tags}}).Decode(&in); err == nil {
			for _, t := range in.Tags {
				out["aws:requesttag/"+strings.ToLower(t.Key)] = []string{t.Value}
				out["aws:tagkeys"] = append(out["aws:tagkeys"], t.Key)
			}
		}
	}
	if arn := form.Get("PolicyArn"); arn != "" {
		out["iam:policyarn"] = []string{arn}
	}
	if p, err := s.profile(form.Get("InstanceProfileName")); err == nil {
		for key, value := range p.Tags {
			out["aws:resourcetag/"+strings.ToLower(key)] = []string{value}
			out["iam:resourcetag/"+strings.ToLower(key)] = []string{value}
		}
	}
	return out
}

type profileOutput struct {
	InstanceProfile profileView
}

type profileInput struct {
	InstanceProfileName string
}

func (s *service) getInstanceProfile(_ context.Context, in *profileInput) (*profileOutput, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &profileOutput{s.viewProfile(p)}, nil
}

type createProfileInput struct {
	InstanceProfileName string
	Path                string
	Tags                []tag
}

func (s *service) createInstanceProfile(_ context.Context, in *createProfileInput) (*profileOutput, error) {
	if err := check("instanceProfileName", in.InstanceProfileName, maxProfileName, in.Path); err != nil {
		return nil, err
	}
	tags, err := tagged(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	known := s.ec2.InstanceProfiles()
	for _, p := range known {
		if strings.EqualFold(p.Name, in.InstanceProfileName) {
			return nil, wire.StatusErrorf(http.StatusConflict, "EntityAlreadyExists", "Instance Profile %s already exists.", in.InstanceProfileName)
		}
	}
	if len(known) >= maxProfiles {
		return nil, wire.StatusErrorf(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for InstanceProfilesPerAccount: %d", maxProfiles)
	}
	return &profileOutput{s.viewProfile(s.ec2.PutInstanceProfile(ec2.Profile{Name: in.InstanceProfileName, Path: in.Path, Tags: tags}))}, nil
}

func (s *service) deleteInstanceProfile(_ context.Context, in *profileInput) (*struct{}, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, wire.StatusErrorf(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	s.ec2.RemoveInstanceProfile(p.Name)
	return &struct{}{}, nil
}

type addRoleInput struct {
	InstanceProfileName string
	RoleName            string
}

func (s *service) addRoleToInstanceProfile(ctx context.Context, in *addRoleInput) (*struct{}, error) {
	if err := check("roleName", in.RoleName, maxRoleName, ""); err != nil {
		return nil, err
	}
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	if err := s.ec2.AuthorizeIAM(ctx, "iam:PassRole", s.viewRole(r).ARN, map[string][]string{"iam:passedtoservice": {"ec2.amazonaws.com"}}); err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, wire.StatusErrorf(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	s.ec2.AddInstanceProfile(p.Name, in.RoleName)
	return &struct{}{}, nil
}

func (s *service) removeRoleFromInstanceProfile(_ context.Context, in *addRoleInput) (*struct{}, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Role != in.RoleName || p.Role == "" {
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Role %s is not associated with instance profile %s.", in.RoleName, p.Name)
	}
	s.ec2.AddInstanceProfile(p.Name, "")
	return &struct{}{}, nil
}

type tagProfileInput struct {
	InstanceProfileName string
	Tags                []tag
}

func (s *service) tagInstanceProfile(_ context.Context, in *tagProfileInput) (*struct{}, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Tags, err = tagged(p.Tags, in.Tags); err != nil {
		return nil, err
	}
	s.ec2.PutInstanceProfile(p)
	return &struct{}{}, nil
}

type untagProfileInput struct {
	InstanceProfileName string
	TagKeys             []string
}

func (s *service) untagInstanceProfile(_ context.Context, in *untagProfileInput) (*struct{}, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	p.Tags = maps.Clone(p.Tags)
	for _, key := range in.TagKeys {
		delete(p.Tags, key)
	}
	s.ec2.PutInstanceProfile(p)
	return &struct{}{}, nil
}

type listTagsInput struct {
	InstanceProfileName string
	Marker              string
	MaxItems            *int
}

type listTagsOutput struct {
	Tags        wire.Members[tag]
	IsTruncated bool
}

// listInstanceProfileTags answers in one page: a profile has at most fifty tags.
func (s *service) listInstanceProfileTags(_ context.Context, in *listTagsInput) (*listTagsOutput, error) {
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &listTagsOutput{Tags: wire.MembersOf(tagList(p.Tags))}, nil
}

type roleOutput struct {
	Role roleView
}

type createRoleInput struct {
	RoleName                 string
	AssumeRolePolicyDocument string
	Path                     string
	Description              string
	MaxSessionDuration       *int
	Tags                     []tag
}

func (s *service) createRole(_ context.Context, in *createRoleInput) (*roleOutput, error) {
	if err := check("roleName", in.RoleName, maxRoleName, in.Path); err != nil {
		return nil, err
	}
	if _, err := s.role(in.RoleName); err == nil {
		return nil, wire.StatusErrorf(http.StatusConflict, "EntityAlreadyExists", "Role with name %s already exists.", in.RoleName)
	}
	if in.AssumeRolePolicyDocument == "" {
		return nil, wire.Errorf("MalformedPolicyDocument", "AssumeRolePolicyDocument must not be empty.")
	}
	tags, err := tagged(nil, in.Tags)
	if err != nil {
		return nil, err
	}
	return &roleOutput{s.viewRole(s.ec2.AddRole(ec2.Role{Name: in.RoleName, Path: in.Path, Trust: in.AssumeRolePolicyDocument, Tags: tags}))}, nil
}

type roleInput struct {
	RoleName string
}

func (s *service) getRole(_ context.Context, in *roleInput) (*roleOutput, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &roleOutput{s.viewRole(r)}, nil
}

func (s *service) deleteRole(_ context.Context, in *roleInput) (*struct{}, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Role == in.RoleName {
			return nil, wire.StatusErrorf(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	if len(r.Policies) > 0 {
		return nil, wire.StatusErrorf(http.StatusConflict, "DeleteConflict", "Cannot delete entity, must detach all policies first.")
	}
	s.ec2.RemoveRole(in.RoleName)
	return &struct{}{}, nil
}

type listProfilesInput struct {
	PathPrefix string
	Marker     string
	MaxItems   *int
}

type listProfilesOutput struct {
	InstanceProfiles wire.Members[profileView]
	IsTruncated      bool
	Marker           string `xml:",omitempty"`
}

func (s *service) listInstanceProfiles(_ context.Context, in *listProfilesInput) (*listProfilesOutput, error) {
	if in.PathPrefix != "" && !validPrefix.MatchString(in.PathPrefix) {
		return nil, wire.Errorf("ValidationError", "The specified value for pathPrefix is invalid. It must begin with / and contain only alphanumeric characters and/or the following: /.,+@=_-")
	}
	return s.list(func(p ec2.Profile) bool { return strings.HasPrefix(p.Path+p.Name, in.PathPrefix) }, in.Marker, in.MaxItems)
}

type listProfilesForRoleInput struct {
	RoleName string
	Marker   string
	MaxItems *int
}

func (s *service) listInstanceProfilesForRole(_ context.Context, in *listProfilesForRoleInput) (*listProfilesOutput, error) {
	if _, err := s.role(in.RoleName); err != nil {
		return nil, err
	}
	return s.list(func(p ec2.Profile) bool { return p.Role == in.RoleName }, in.Marker, in.MaxItems)
}

// list returns a page of the profiles that are wanted, by name and, as IAM does,
// without their tags. A marker is the name of the last one seen.
func (s *service) list(wanted func(ec2.Profile) bool, marker string, maxItems *int) (*listProfilesOutput, error) {
	most := 100
	if maxItems != nil {
		if most = *maxItems; most < 1 || most > 1000 {
			return nil, wire.Errorf("ValidationError", "1 validation error detected: Value '%d' at 'maxItems' failed to satisfy constraint: Member must have value between 1 and 1000", most)
		}
	}
	out := &listProfilesOutput{}
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Name <= marker || !wanted(p) {
			continue
		}
		if len(out.InstanceProfiles.Items) == most {
			out.IsTruncated, out.Marker = true, out.InstanceProfiles.Items[most-1].InstanceProfileName
			break
		}
		p.Tags = nil
		out.InstanceProfiles.Items = append(out.InstanceProfiles.Items, s.viewProfile(p))
	}
	return out, nil
}
