package iam

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Limits of IAM. Source: user guide, "IAM and AWS STS quotas".
const (
	maxProfileName = 128
	maxRoleName    = 64
	maxProfiles    = 1000 // instance profiles of an account
	maxTags        = 50
)

var (
	validName   = regexp.MustCompile(`^[\w+=,.@-]+$`)
	validPath   = regexp.MustCompile(`^(/|/[\x21-\x7e]+/)$`)
	validPrefix = regexp.MustCompile(`^/[\x21-\x7e]*$`)
)

type tag struct{ Key, Value string }

// tagged returns tags with some added or changed.
func tagged(tags map[string]string, added []tag) (map[string]string, error) {
	out := maps.Clone(tags)
	if out == nil {
		out = map[string]string{}
	}
	for _, t := range added {
		if t.Key == "" || len([]rune(t.Key)) > 128 || len([]rune(t.Value)) > 256 {
			return nil, wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'tags' failed to satisfy constraint: a key has between 1 and 128 characters and a value at most 256", t.Key)
		}
		if strings.HasPrefix(strings.ToLower(t.Key), "aws:") {
			return nil, wire.Errorf("InvalidInput", "Tag keys that begin with aws: are reserved for AWS.")
		}
		out[t.Key] = t.Value
	}
	if len(out) > maxTags {
		return nil, wire.StatusErrorf(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for TagsPerInstanceProfile: %d", maxTags)
	}
	return out, nil
}

// tagList returns tags sorted by key.
func tagList(tags map[string]string) []tag {
	var out []tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{key, tags[key]})
	}
	return out
}

type profileView struct {
	Path                string
	InstanceProfileName string
	InstanceProfileID   string `xml:"InstanceProfileId"`
	ARN                 string `xml:"Arn"`
	CreateDate          wire.Time
	Roles               wire.Members[roleView]
	Tags                *wire.Members[tag]
}

type roleView struct {
	Path                     string
	RoleName                 string
	RoleID                   string `xml:"RoleId"`
	ARN                      string `xml:"Arn"`
	CreateDate               wire.Time
	AssumeRolePolicyDocument string // URL-encoded, as IAM writes it
	Tags                     *wire.Members[tag]
}

func (s *service) profile(name string) (ec2.Profile, error) {
	for _, p := range s.ec2.InstanceProfiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return ec2.Profile{}, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Instance Profile %s cannot be found.", name)
}

// role returns a role that was made or that some profile holds.
func (s *service) role(name string) (ec2.Role, error) {
	if r, ok := s.ec2.LookupRole(name); ok {
		return r, nil
	}
	return ec2.Role{}, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "The role with name %s cannot be found.", name)
}

func (s *service) viewProfile(p ec2.Profile) profileView {
	v := profileView{Path: p.Path, InstanceProfileName: p.Name, InstanceProfileID: p.ID, ARN: p.ARN, CreateDate: wire.Time{Time: p.Created}}
	if r, err := s.role(p.Role); err == nil {
		v.Roles = wire.MembersOf([]roleView{s.viewRole(r)})
	}
	if len(p.Tags) > 0 {
		tags := wire.MembersOf(tagList(p.Tags))
		v.Tags = &tags
	}
	return v
}

func (s *service) viewRole(r ec2.Role) roleView {
	sum := sha256.Sum256([]byte(s.ec2.Account() + "/role/" + r.Name))
	v := roleView{
		Path: r.Path, RoleName: r.Name, RoleID: "AROA" + strings.ToUpper(hex.EncodeToString(sum[:]))[:17],
		ARN: "arn:aws:iam::" + s.ec2.Account() + ":role" + r.Path + r.Name, CreateDate: wire.Time{Time: r.Created},
		AssumeRolePolicyDocument: url.QueryEscape(r.Trust),
	}
	if len(r.Tags) > 0 {
		tags := wire.MembersOf(tagList(r.Tags))
		v.Tags = &tags
	}
	return v
}

// check refuses a name or path IAM would not take.
func check(parameter, name string, maxLength int, path string) error {
	if len(name) > maxLength || !validName.MatchString(name) {
		return wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]+ and have length less than or equal to %d", name, parameter, maxLength)
	}
	if path != "" && (len(path) > 512 || !validPath.MatchString(path)) {
		return wire.Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}
