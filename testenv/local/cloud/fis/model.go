package fis

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Instances is what of EC2 experiments do: *ec2.Model.
type Instances interface {
	Lookup(id string) (ec2.Instance, bool)
	Rebalance(id string) bool // sends the recommendation
	Interrupt(id string) bool // sends the notice, and ends the instance two minutes later
}

// Options describe the account and region. All but Account and Region are required.
type Options struct {
	Clock           clock.Clock
	Instances       Instances
	Account, Region string // "" means those of ec2.DefaultAccount and us-west-2
}

// Model is one account in one region. It is safe for concurrent use.
type Model struct {
	options Options

	mu          sync.Mutex
	templates   map[string]*template
	experiments map[string]*experiment
	tokens      map[string]string // id of what a client token has made, by action and token
	ids         int
}

// New returns a model without templates.
func New(o Options) *Model {
	o.Account, o.Region = cmp.Or(o.Account, ec2.DefaultAccount), cmp.Or(o.Region, "us-west-2")
	return &Model{options: o, templates: map[string]*template{}, experiments: map[string]*experiment{}, tokens: map[string]string{}}
}

// Limits and names of the one action. Source: user guide, "AWS FIS actions reference" and "Quotas".
const (
	sendInterruptions = "aws:ec2:send-spot-instance-interruptions"
	spotInstance      = "aws:ec2:spot-instance"
	targetKey         = "SpotInstances"
	durationKey       = "durationBeforeInterruption"
	noticeTime        = 2 * time.Minute // from the notice to the end
	mostDuration      = 15 * time.Minute
	mostInstances     = 5 // spot instances of a target
)

type template struct {
	id, description, role string
	actions               map[string]action
	targets               map[string]target
	stops                 []stopCondition
	tags                  map[string]string
	created               time.Time
}

type action struct {
	ID          string            `json:"actionId"`
	Description string            `json:"description,omitempty"`
	Parameters  map[string]string `json:"parameters,omitempty"`
	Targets     map[string]string `json:"targets,omitempty"`
}

type target struct {
	ResourceType  string   `json:"resourceType"`
	SelectionMode string   `json:"selectionMode"`
	ResourceARNs  []string `json:"resourceArns,omitempty"`
}

type stopCondition struct {
	Source string `json:"source"`
}

type experiment struct {
	id       string
	template template // as it was when it began
	tags     map[string]string
	started  time.Time
	ended    time.Time // when the last notice is sent
}

func (m *Model) newID(prefix string) string {
	m.ids++
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s/%s/%d", m.options.Account, prefix, m.ids)))
	return prefix + hex.EncodeToString(sum[:])[:16]
}

func (m *Model) arn(resource string) string {
	return "arn:aws:fis:" + m.options.Region + ":" + m.options.Account + ":" + resource
}

// check refuses what a template cannot say.
func (t *template) check() error {
	switch {
	case t.description == "" || t.role == "" || len(t.actions) == 0 || len(t.stops) == 0:
		return invalid("a template needs description, roleArn, actions and stopConditions")
	case slices.ContainsFunc(t.stops, func(s stopCondition) bool { return s.Source != "none" }):
		return invalid("stop conditions other than none are not modelled")
	}
	for name, a := range t.actions {
		of, known := t.targets[a.Targets[targetKey]]
		switch {
		case a.ID != sendInterruptions:
			return invalid("action %s: %q is not modelled", name, a.ID)
		case !known:
			return invalid("action %s: %s names no target of the template", name, targetKey)
		case len(a.Parameters) != 1:
			return invalid("action %s: its one parameter is %s", name, durationKey)
		}
		if _, err := a.before(); err != nil {
			return err
		}
		if err := of.check(a.Targets[targetKey]); err != nil {
			return err
		}
	}
	return nil
}

func (t target) check(name string) error {
	switch {
	case t.ResourceType != spotInstance:
		return invalid("target %s: resource type %q is not that of the action, which is %s", name, t.ResourceType, spotInstance)
	case t.SelectionMode != "ALL":
		return invalid("target %s: selection mode %q is not modelled; ALL is", name, t.SelectionMode)
	case len(t.ResourceARNs) == 0 || len(t.ResourceARNs) > mostInstances:
		return invalid("target %s: it has %d instances, and may have 1 to %d", name, len(t.ResourceARNs), mostInstances)
	}
	for _, arn := range t.ResourceARNs {
		if !strings.HasPrefix(arn, "arn:aws:ec2:") || !strings.Contains(arn, ":instance/i-") {
			return invalid("target %s: %q is no ARN of an instance", name, arn)
		}
	}
	return nil
}

var minutesOrSeconds = regexp.MustCompile(`^PT(?:(\d{1,5})M)?(?:(\d{1,5})S)?$`)

// before returns how long the action waits before it has instances ended.
func (a action) before() (time.Duration, error) {
	text := a.Parameters[durationKey]
	found := minutesOrSeconds.FindStringSubmatch(text)
	if found == nil {
		return 0, invalid("%s %q is no duration such as PT2M", durationKey, text)
	}
	minutes, _ := strconv.Atoi(cmp.Or(found[1], "0"))
	seconds, _ := strconv.Atoi(cmp.Or(found[2], "0"))
	d := time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	if d < noticeTime || d > mostDuration {
		return 0, invalid("%s %q must be between PT2M and PT15M", durationKey, text)
	}
	return d, nil
}

// start runs the actions of an experiment: instances are recommended to be left at once, and get their notice two minutes before they end.
func (m *Model) start(e *experiment) error {
	type step struct {
		id     string
		notice time.Duration
	}
	var steps []step
	for _, a := range e.template.actions {
		before, err := a.before()
		if err != nil {
			return err
		}
		for _, arn := range e.template.targets[a.Targets[targetKey]].ResourceARNs {
			id := arn[strings.LastIndexByte(arn, '/')+1:]
			if i, known := m.options.Instances.Lookup(id); !known || i.CapacityType != ec2.Spot {
				return invalid("target resolution returned empty set: %s is no spot instance", id)
			}
			steps = append(steps, step{id, before - noticeTime})
		}
	}
	e.started, e.ended = m.options.Clock.Now(), m.options.Clock.Now()
	for _, s := range steps {
		m.options.Instances.Rebalance(s.id)
		if s.notice == 0 {
			m.options.Instances.Interrupt(s.id)
			continue
		}
		m.options.Clock.AfterFunc(s.notice, func() { m.options.Instances.Interrupt(s.id) })
		if at := e.started.Add(s.notice); at.After(e.ended) {
			e.ended = at
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}
