package iam

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// Lengths of names IAM takes.
const (
	maxProfileName = 128
	maxRoleName    = 64
)

// trustEC2 is the trust policy of a role that is known only because a profile
// holds it.
const trustEC2 = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`

var validName = regexp.MustCompile(`^[\w+=,.@-]+$`)

// role is a role as far as instance profiles have to do with it.
type role struct {
	name    string
	trust   string // policy document, JSON
	created time.Time
}

type profileView struct {
	Path                string
	InstanceProfileName string
	InstanceProfileID   string `xml:"InstanceProfileId"`
	ARN                 string `xml:"Arn"`
	CreateDate          wire.Time
	Roles               wire.Members[roleView]
}

type roleView struct {
	Path                     string
	RoleName                 string
	RoleID                   string `xml:"RoleId"`
	ARN                      string `xml:"Arn"`
	CreateDate               wire.Time
	AssumeRolePolicyDocument string // URL-encoded, as IAM writes it
}

func (s *service) profile(name string) (ec2.Profile, error) {
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return ec2.Profile{}, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Instance Profile %s cannot be found.", name)
}

// role returns a role that was made here or that some profile holds.
func (s *service) role(name string) (role, error) {
	if r, ok := s.roles[name]; ok {
		return r, nil
	}
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Role == name && name != "" {
			return role{name: name, trust: trustEC2, created: p.Created}, nil
		}
	}
	return role{}, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "The role with name %s cannot be found.", name)
}

func (s *service) viewProfile(p ec2.Profile) profileView {
	v := profileView{Path: "/", InstanceProfileName: p.Name, InstanceProfileID: p.ID, ARN: p.ARN, CreateDate: wire.Time{Time: p.Created}}
	if r, err := s.role(p.Role); err == nil {
		v.Roles = wire.MembersOf([]roleView{s.viewRole(r)})
	}
	return v
}

func (s *service) viewRole(r role) roleView {
	sum := sha256.Sum256([]byte(s.ec2.Account() + "/role/" + r.name))
	return roleView{
		Path: "/", RoleName: r.name, RoleID: "AROA" + strings.ToUpper(hex.EncodeToString(sum[:]))[:17],
		ARN: "arn:aws:iam::" + s.ec2.Account() + ":role/" + r.name, CreateDate: wire.Time{Time: r.created},
		AssumeRolePolicyDocument: url.QueryEscape(r.trust),
	}
}

// check refuses a name IAM would not take and a path this model has not.
func check(parameter, name string, maxLength int, path string) error {
	if len(name) > maxLength || !validName.MatchString(name) {
		return wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]+ and have length less than or equal to %d", name, parameter, maxLength)
	}
	if path != "" && path != "/" {
		return wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "Paths other than / are not modelled, got %s", path)
	}
	return nil
}
