package ec2

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// Profile is an instance profile: the role instances run with.
type Profile struct {
	Name    string
	ID      string // "AIPA…"
	ARN     string
	Role    string // name; "" when it has none
	Created time.Time
}

// AddInstanceProfile makes an instance profile that holds a role, or gives one
// there is that role, and returns it. Once there is one, launches must name a
// profile that exists.
func (m *Model) AddInstanceProfile(name, role string) Profile {
	m.lock()
	defer m.unlock()
	p := Profile{
		Name: name, Role: role, Created: m.now(),
		ID:  iamID("AIPA", m.account+"/profile/"+name),
		ARN: "arn:aws:iam::" + m.account + ":instance-profile/" + name,
	}
	if before, ok := m.profiles[name]; ok {
		p.Created = before.Created
	}
	m.profiles[name] = p
	return p
}

// InstanceProfiles returns every instance profile, sorted by name.
func (m *Model) InstanceProfiles() []Profile {
	m.lock()
	defer m.unlock()
	return slices.SortedFunc(maps.Values(m.profiles), func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
}

// profile finds the profile a launch names. nil and no error when it names none,
// or when the model knows no profile at all and so takes every name.
func (m *Model) profile(ref *InstanceProfileRef) (*Profile, *wire.Error) {
	if ref == nil || ref.ARN == "" && ref.Name == "" {
		return nil, nil
	}
	name := ref.Name
	if name == "" {
		name = ref.ARN[strings.LastIndexByte(ref.ARN, '/')+1:]
	}
	p, ok := m.profiles[name]
	if ok && (ref.ARN == "" || ref.ARN == p.ARN) {
		return &p, nil
	}
	if len(m.profiles) == 0 {
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
