package ssm

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// Options say whose store it is. The zero value is a working one.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits; "" means 123456789012
}

// Model is the Parameter Store of one account and region. It is safe for
// concurrent use.
type Model struct {
	clock   clock.Clock
	account string

	mu         sync.Mutex
	parameters map[string][]version // by name; all versions, oldest first
}

type version struct {
	value    string
	modified time.Time
}

// New returns a store with the public parameters of the catalog.
func New(o Options) *Model {
	m := &Model{clock: o.Clock, account: o.Account, parameters: map[string][]version{}}
	if m.clock == nil {
		m.clock = clock.System()
	}
	if m.account == "" {
		m.account = "123456789012"
	}
	for _, p := range catalog.Parameters() {
		m.parameters[p.Name] = []version{{p.Value, p.Modified}}
	}
	return m
}

// Put sets a parameter and returns the number of its new version. A public
// parameter may be set too: as when a new image is published.
func (m *Model) Put(name, value string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parameters[name] = append(m.parameters[name], version{value, m.clock.Now()})
	return int64(len(m.parameters[name]))
}

// Value returns the newest value of a parameter; ok is false where there is none of that name.
func (m *Model) Value(name string) (value string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := m.parameters[name]
	if len(versions) == 0 {
		return "", false
	}
	return versions[len(versions)-1].value, true
}

// Delete removes a parameter with all its versions.
func (m *Model) Delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.parameters, name)
}

// parameter is what the wire shows of one version.
type parameter struct {
	ARN              string
	DataType         string
	LastModifiedDate float64 // seconds since 1970
	Name             string
	Selector         string `json:",omitempty"`
	Type             string
	Value            string
	Version          int64
}

// find returns a parameter by what a caller may call it: its name or ARN, with
// ":" and a version behind it or not.
func (m *Model) find(asked string) (p parameter, found, versionFound bool) {
	name := asked
	if strings.HasPrefix(name, "arn:") {
		_, path, ok := strings.Cut(name, ":parameter")
		if !ok {
			return parameter{}, false, false
		}
		name = path
	}
	name, selector, selected := strings.Cut(name, ":")
	versions := m.parameters[name]
	if len(versions) == 0 {
		return parameter{}, false, false
	}
	number := len(versions)
	if selected {
		n, err := strconv.Atoi(selector)
		if err != nil || n < 1 || n > len(versions) {
			return parameter{}, true, false
		}
		number = n
	}
	p = m.view(name, number)
	if selected {
		p.Selector = ":" + selector
	}
	return p, true, true
}

func (m *Model) view(name string, number int) parameter {
	v := m.parameters[name][number-1]
	owner := m.account
	if strings.HasPrefix(name, "/aws/service/") {
		owner = "" // public parameters belong to nobody
	}
	return parameter{
		ARN:  "arn:aws:ssm:" + catalog.Region + ":" + owner + ":parameter/" + strings.TrimPrefix(name, "/"),
		Name: name, Value: v.value, Version: int64(number), Type: "String", DataType: dataType(v.value),
		LastModifiedDate: float64(v.modified.UnixMilli()) / 1000,
	}
}

func dataType(value string) string {
	if strings.HasPrefix(value, "ami-") {
		return "aws:ec2:image"
	}
	return "text"
}

// below returns the parameters under a path, sorted by name: direct children
// only unless recursive.
func (m *Model) below(path string, recursive bool) []parameter {
	prefix := strings.TrimSuffix(path, "/") + "/"
	var names []string
	for name := range m.parameters {
		rest, under := strings.CutPrefix(name, prefix)
		if under && (recursive || !strings.Contains(rest, "/")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := []parameter{}
	for _, name := range names {
		out = append(out, m.view(name, len(m.parameters[name])))
	}
	return out
}
