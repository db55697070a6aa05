package iam

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// NewHandler serves the instance profiles of profiles on the wire protocol of
// IAM. Roles that its profiles hold exist; others are made with CreateRole.
func NewHandler(profiles *ec2.Model) http.Handler {
	s := &service{ec2: profiles, roles: map[string]role{}}
	return wire.Query{Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Actions: map[string]wire.QueryAction{
		"AddRoleToInstanceProfile":    wire.QueryFunc(s.addRoleToInstanceProfile),
		"CreateInstanceProfile":       wire.QueryFunc(s.createInstanceProfile),
		"CreateRole":                  wire.QueryFunc(s.createRole),
		"GetInstanceProfile":          wire.QueryFunc(s.getInstanceProfile),
		"GetRole":                     wire.QueryFunc(s.getRole),
		"ListInstanceProfiles":        wire.QueryFunc(s.listInstanceProfiles),
		"ListInstanceProfilesForRole": wire.QueryFunc(s.listInstanceProfilesForRole),
	}}
}

// service is what the actions share. The mutex makes reading the EC2 model and
// changing it one step.
type service struct {
	ec2   *ec2.Model
	mu    sync.Mutex
	roles map[string]role // made through CreateRole, by name
}

type profileOutput struct {
	InstanceProfile profileView
}

type profileInput struct {
	InstanceProfileName string
}

func (s *service) getInstanceProfile(_ context.Context, in *profileInput) (*profileOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &profileOutput{s.viewProfile(p)}, nil
}

type createProfileInput struct {
	InstanceProfileName string
	Path                string
}

func (s *service) createInstanceProfile(_ context.Context, in *createProfileInput) (*profileOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := check("instanceProfileName", in.InstanceProfileName, maxProfileName, in.Path); err != nil {
		return nil, err
	}
	if _, err := s.profile(in.InstanceProfileName); err == nil {
		return nil, wire.StatusErrorf(http.StatusConflict, "EntityAlreadyExists", "Instance Profile %s already exists.", in.InstanceProfileName)
	}
	return &profileOutput{s.viewProfile(s.ec2.AddInstanceProfile(in.InstanceProfileName, ""))}, nil
}

type addRoleInput struct {
	InstanceProfileName string
	RoleName            string
}

func (s *service) addRoleToInstanceProfile(_ context.Context, in *addRoleInput) (*struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if _, err := s.role(in.RoleName); err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, wire.StatusErrorf(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	s.ec2.AddInstanceProfile(p.Name, in.RoleName)
	return &struct{}{}, nil
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
}

func (s *service) createRole(_ context.Context, in *createRoleInput) (*roleOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := check("roleName", in.RoleName, maxRoleName, in.Path); err != nil {
		return nil, err
	}
	if _, err := s.role(in.RoleName); err == nil {
		return nil, wire.StatusErrorf(http.StatusConflict, "EntityAlreadyExists", "Role with name %s already exists.", in.RoleName)
	}
	if in.AssumeRolePolicyDocument == "" {
		return nil, wire.Errorf("MalformedPolicyDocument", "AssumeRolePolicyDocument must not be empty.")
	}
	r := role{name: in.RoleName, trust: in.AssumeRolePolicyDocument, created: time.Now()}
	s.roles[in.RoleName] = r
	return &roleOutput{s.viewRole(r)}, nil
}

type roleInput struct {
	RoleName string
}

func (s *service) getRole(_ context.Context, in *roleInput) (*roleOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &roleOutput{s.viewRole(r)}, nil
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
	if in.PathPrefix != "" && in.PathPrefix != "/" {
		return &listProfilesOutput{}, nil // nothing here has a longer path
	}
	return s.list("", in.Marker, in.MaxItems)
}

type listProfilesForRoleInput struct {
	RoleName string
	Marker   string
	MaxItems *int
}

func (s *service) listInstanceProfilesForRole(_ context.Context, in *listProfilesForRoleInput) (*listProfilesOutput, error) {
	s.mu.Lock()
	_, err := s.role(in.RoleName)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.list(in.RoleName, in.Marker, in.MaxItems)
}

// list returns a page of the profiles, of those that hold a role where one is
// given, by name. A marker is the name of the last one seen.
func (s *service) list(roleName, marker string, maxItems *int) (*listProfilesOutput, error) {
	most := 100
	if maxItems != nil {
		if most = *maxItems; most < 1 || most > 1000 {
			return nil, wire.Errorf("ValidationError", "1 validation error detected: Value '%d' at 'maxItems' failed to satisfy constraint: Member must have value between 1 and 1000", most)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &listProfilesOutput{}
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Name <= marker || roleName != "" && p.Role != roleName {
			continue
		}
		if len(out.InstanceProfiles.Items) == most {
			out.IsTruncated, out.Marker = true, out.InstanceProfiles.Items[most-1].InstanceProfileName
			break
		}
		out.InstanceProfiles.Items = append(out.InstanceProfiles.Items, s.viewProfile(p))
	}
	return out, nil
}
