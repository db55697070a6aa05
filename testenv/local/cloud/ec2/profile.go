package ec2

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Profile is an instance profile: the role instances run with.
type Profile struct {
	Name    string
	Path    string // begins and ends with a slash
	ID      string // "AIPA…"
	ARN     string
	Role    string // name; "" when it has none
	Created time.Time
	Tags    map[string]string
}

// Role is something an instance profile can hold.
type Role struct {
	Name    string
	Path    string // begins and ends with a slash
	Trust   string // policy document, JSON
	Created time.Time

	Tags     map[string]string
	Policies []string // ARNs of the managed policies that are attached, sorted; what they allow is the business of package access
}

// trustEC2 is the trust policy of a role that is known without having been made.
const trustEC2 = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

// AddInstanceProfile makes an instance profile that holds a role, or gives one
// there is that role, and returns it. Once there has been one, launches must name a
// profile that exists.
func (m *Model) AddInstanceProfile(name, role string) Profile {
	m.lock()
	defer m.unlock()
	p := Profile{Name: name, Path: "/"}
	if before, ok := m.profiles[name]; ok {
		p = before
	}
	p.Role = role
	return m.putProfile(p)
}

// PutInstanceProfile makes a profile, or replaces the one of that name. What is empty is filled in.
func (m *Model) PutInstanceProfile(p Profile) Profile {
	m.lock()
	defer m.unlock()
	return m.putProfile(p)
}

func (m *Model) putProfile(p Profile) Profile {
	p.Path = cmp.Or(p.Path, "/")
	p.ARN = "arn:aws:iam::" + m.account + ":instance-profile" + p.Path + p.Name
	if p.Created.IsZero() {
		p.Created = m.now()
	}
	if p.ID == "" {
		// One made again is another one.
		of := m.account + "/profile/" + p.Name
		if n := m.removedProfiles[p.Name]; n > 0 {
			of += fmt.Sprintf("/%d", n)
		}
		p.ID = iamID("AIPA", of)
	}
	p.Tags = maps.Clone(p.Tags)
	m.profiles[p.Name], m.knowsProfiles = p, true
	return p
}

// RemoveInstanceProfile deletes a profile, whatever it holds, and reports whether there was one of that name. Instances
// launched with it keep it.
func (m *Model) RemoveInstanceProfile(name string) bool {
	m.lock()
	defer m.unlock()
	_, ok := m.profiles[name]
	delete(m.profiles, name)
	m.removedProfiles[name]++
	return ok
}

// InstanceProfiles returns every instance profile, sorted by name.
func (m *Model) InstanceProfiles() []Profile {
	m.lock()
	defer m.unlock()
	return slices.SortedFunc(maps.Values(m.profiles), func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
}

// SpotRole is the name of the service-linked role by which EC2 launches spot instances. Source: EC2 user guide, "Service-linked role for Spot
// Instance requests".
const SpotRole = "AWSServiceRoleForEC2Spot"

// AddRole makes a role that instance profiles can hold, or replaces the one of that name. What is empty is filled in.
// Who may assume a role is the business of package sts.
func (m *Model) AddRole(r Role) Role {
	m.lock()
	defer m.unlock()
	r.Path, r.Trust = cmp.Or(r.Path, "/"), cmp.Or(r.Trust, trustEC2)
	if r.Created.IsZero() {
		r.Created = m.now()
	}
	m.roles[r.Name] = r
	return r
}

// RemoveRole deletes a role and reports whether there was one of that name.
func (m *Model) RemoveRole(name string) bool {
	m.lock()
	defer m.unlock()
	_, ok := m.roles[name]
	delete(m.roles, name)
	return ok
}

// LookupRole returns a role that was made or that some profile holds.
func (m *Model) LookupRole(name string) (Role, bool) {
	m.lock()
	defer m.unlock()
	if r, ok := m.roles[name]; ok {
		return r, true
	}
	for _, p := range m.profiles {
		if p.Role == name && name != "" {
			return Role{Name: name, Path: "/", Trust: trustEC2, Created: p.Created}, true
		}
	}
	return Role{}, false
}

// AuthorizeIAM refuses what the caller of ctx may not do with IAM: verb is e.g. "iam:PassRole", as Deny was told.
// keys are the condition keys that belong to it.
func (m *Model) AuthorizeIAM(ctx context.Context, verb, resource string, keys map[string][]string) error {
	if guard := wire.GuardOf(ctx); guard != nil {
		a := wire.Access{Action: verb, Resource: resource, Context: keys}
		if because := guard(a); because != "" {
			return wire.StatusErrorf(http.StatusForbidden, "AccessDenied", "%s", wire.NotAuthorized(ctx, a, because))
		}
	}
	m.lock()
	defer m.unlock()
	if d, caller, denied := m.denial(ctx, verb); denied {
		d.Resource = cmp.Or(d.Resource, resource)
		return wire.StatusErrorf(http.StatusForbidden, "AccessDenied", "%s", d.sentence(caller, verb))
	}
	return nil
}

// profile finds the profile a launch names. nil and no error when it names none,
// or when the model never knew a profile and so takes every name.
func (m *Model) profile(ref *InstanceProfileRef) (*Profile, *wire.Error) {
	if ref == nil || ref.ARN == "" && ref.Name == "" {
		return nil, nil
	}
	name := ref.Name
	if name == "" {
		name = ref.ARN[strings.LastIndexByte(ref.ARN, '/')+1:]
	}
	p, ok := m.profiles[name]
	ok = ok && !m.now().Before(p.Created.Add(m.timing.Profile))
	if ok && (ref.ARN == "" || ref.ARN == p.ARN) {
		if p.Role == "" {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. IAM Instance Profile \"%s\" has no associated IAM Roles", p.Name, p.ARN)
		}
		return &p, nil
	}
	if !m.knowsProfiles {
		return &Profile{Name: name, ID: iamID("AIPA", m.account+"/profile/"+name),
			ARN: "arn:aws:iam::" + m.account + ":instance-profile/" + name}, nil
	}
	if ref.Name != "" {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", ref.Name)
	}
	return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN", ref.ARN)
}

// iamID returns a unique id as IAM makes them: a prefix and 17 capitals or digits.
func iamID(prefix, of string) string {
	sum := sha256.Sum256([]byte(of))
	return prefix + strings.ToUpper(hex.EncodeToString(sum[:]))[:17]
}
