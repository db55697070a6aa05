package stacks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
)

// changeSet is what would be done to a stack.
type changeSet struct {
	id, name, description string
	status, reason        string
	execution             string // AVAILABLE, UNAVAILABLE, EXECUTE_IN_PROGRESS …
	created               time.Time
	creates               bool // the stack is new
	plan                  plan
	changes               []change
	taken                 []change // what cannot be made, since something has its name
}

// plan is a stack as it is to be.
type plan struct {
	body         string
	template     *cloudformation.Template
	parameters   []parameter
	values       map[string]string // of parameters
	tags         []tag
	capabilities []string
	role         string
	keepsFailed  bool
	takesOver    bool // resources that exist and have names are imported
}

// change is what becomes of one resource.
type change struct {
	action     string // Add, Modify, Remove
	logical    string
	physical   string
	kind       string
	replaces   bool
	policy     string // PolicyAction, "" for none
	properties []string
}

// request is what actions that deploy a template have in common.
type request struct {
	StackName        string
	TemplateBody     string
	TemplateURL      string
	Parameters       []parameter
	Capabilities     []string
	RoleARN          string
	Tags             []tag
	NotificationARNs []string
	DeploymentConfig *struct{ Mode, DisableRollback string }
}

// plan reads and checks what a request is to make of a stack, previous by the template it has; s is nil for a new one.
func (m *Model) plan(in *request, previous bool, s *stack) (plan, error) {
	var none plan
	if len(in.StackName) > maxStackName || !stackName.MatchString(in.StackName) && !strings.HasPrefix(in.StackName, "arn:") {
		return none, invalid("1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: %s, and have at most %d characters", in.StackName, stackName, maxStackName)
	}
	if len(in.Tags) > maxTags {
		return none, invalid("Stack %s has %d tags, the limit is %d", in.StackName, len(in.Tags), maxTags)
	}
	text, err := m.text(source{in.TemplateBody, in.TemplateURL, previous}, s)
	if err != nil {
		return none, err
	}
	t, err := parse(text)
	if err != nil {
		return none, err
	}
	parameters, values, err := m.fill(t, in.Parameters, s)
	if err != nil {
		return none, err
	}
	if err := capable(t, in.Capabilities); err != nil {
		return none, err
	}
	role := in.RoleARN
	if role == "" && s != nil {
		role = s.role
	}
	if err := m.passes(role); err != nil {
		return none, err
	}
	keeps := in.DeploymentConfig != nil && in.DeploymentConfig.DisableRollback == "true"
	return plan{text, t, parameters, values, in.Tags, in.Capabilities, role, keeps, false}, nil
}

// add makes a stack that nothing has been done to. The lock is held.
func (m *Model) add(name string) *stack {
	s := &stack{
		id:   fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/%s", m.account.Cloud.Region(), m.account.ID(), name, wire.NewRequestID()),
		name: name, created: m.clock.Now(), resources: map[string]*resource{}, outputs: map[string]output{},
	}
	m.stacks = append(m.stacks, s)
	return s
}

// open puts a plan in the environment of a stack. The lock is held.
func (m *Model) open(s *stack, p plan) (*deploy.Stack, error) {
	return m.account.Open(p.template, cloudformation.Environment{
		StackName: s.name, StackID: s.id, Parameters: p.values, Exports: m.exports(s),
	}, s.now)
}

// compare fills in what a change set would do, or why it cannot be executed. Locks of engine and model are held.
func (m *Model) compare(s *stack, c *changeSet) {
	after, err := m.open(s, c.plan)
	if err == nil {
		c.changes, err = m.changes(s, after)
	}
	if err == nil && c.plan.takesOver {
		err = m.imports(after, c.changes)
	}
	if err == nil && len(c.changes) == 0 && !c.creates && slices.Equal(s.tags, c.plan.tags) && sameOutputs(s.now, after) {
		//nolint:staticcheck // AWS's words
		err = errors.New("The submitted information didn't contain changes. Submit different information to create a change set.")
	}
	if err == nil && m.early {
		err = m.free(after, c)
	}
	if err != nil {
		c.status, c.reason, c.execution = "FAILED", err.Error(), "UNAVAILABLE"
		return
	}
	c.status, c.execution = createComplete, "AVAILABLE"
}

// changes lists what becomes of each resource, in the order it would be done.
func (m *Model) changes(s *stack, after *deploy.Stack) ([]change, error) {
	order, err := after.Order()
	if err != nil {
		return nil, err
	}
	if err := m.importable(s, after); err != nil {
		return nil, err
	}
	var out []change
	for _, id := range order {
		kind := after.Resources[id].Type
		if s.now == nil || !s.now.Made(id) {
			out = append(out, change{action: "Add", logical: id, kind: kind})
			continue
		}
		what, properties, err := m.account.Differs(s.now, after, id)
		if err != nil {
			what, properties = deploy.InPlace, nil // it refers to what is not known before it is made
		}
		if what == deploy.Same {
			continue
		}
		one := change{action: "Modify", logical: id, physical: s.physical(id), kind: kind, replaces: what == deploy.Replace, properties: properties}
		if one.replaces {
			one.policy = "ReplaceAndDelete"
			if after.Resources[id].UpdateReplacePolicy == "Retain" {
				one.policy = "ReplaceAndRetain"
			}
		}
		out = append(out, one)
	}
	if s.now == nil {
		return out, nil
	}
	gone, err := s.now.Order()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(gone) {
		if !after.Made(id) {
			one := change{action: "Remove", logical: id, physical: s.physical(id), kind: s.now.Resources[id].Type, policy: "Delete"}
			if keeps(s.now.Resources[id].DeletionPolicy, false) {
				one.policy = "Retain"
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// free returns an error where something has the name of what a change set would make.
func (m *Model) free(after *deploy.Stack, c *changeSet) error {
	for _, one := range c.changes {
		name, err := after.CustomName(one.logical)
		if err != nil || name == "" || one.action != "Add" {
			continue
		}
		there, err := m.account.Exists(m.running, after, one.logical)
		if err != nil {
			return err
		}
		if there {
			one.physical = name
			c.taken = append(c.taken, one)
		}
	}
	if len(c.taken) > 0 {
		//nolint:staticcheck // AWS's words
		return errors.New("The following hook(s)/validation failed: [AWS::EarlyValidation::ResourceExistenceCheck]. To troubleshoot Early Validation errors, use the DescribeEvents API for detailed failure information.")
	}
	return nil
}

// imports turns what is to be made and exists already into what is taken over, if its policy of deletion lets it.
func (m *Model) imports(after *deploy.Stack, changes []change) error {
	for i, c := range changes {
		name, err := after.CustomName(c.logical)
		if err != nil || name == "" || c.action != "Add" {
			continue
		}
		physical, err := after.Ref(c.logical)
		if err != nil || m.owner(physical) != nil {
			continue // made, which fails where another stack has it
		}
		there, err := m.account.Exists(m.running, after, c.logical)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if policy := after.Resources[c.logical].DeletionPolicy; policy != "Retain" && policy != "RetainExceptOnCreate" {
			return fmt.Errorf("resource %s exists already and can be imported only with a DeletionPolicy of Retain or RetainExceptOnCreate", c.logical)
		}
		changes[i].action, changes[i].physical = "Import", physical
	}
	return nil
}

func (s *stack) physical(id string) string {
	if r := s.resources[id]; r != nil {
		return r.physical
	}
	return ""
}

// importable returns an error where a stack imports what no other exports.
func (m *Model) importable(s *stack, after *deploy.Stack) error {
	names, err := after.Imports()
	if err != nil {
		return err
	}
	exported := m.exports(s)
	for _, name := range names {
		if _, ok := exported[name]; !ok {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("No export named %s found. Rollback requested by user.", name)
		}
	}
	return nil
}

// exports are what other stacks than s export.
func (m *Model) exports(s *stack) map[string]string {
	out := map[string]string{}
	for _, other := range m.stacks {
		if other == s || other.status == deleteComplete {
			continue
		}
		for _, o := range other.outputs {
			if o.export != "" {
				out[o.export] = o.value
			}
		}
	}
	return out
}

// importers are the names of stacks that import an export, sorted.
func (m *Model) importers(export string) []string {
	var out []string
	for _, s := range m.stacks {
		if s.status != deleteComplete && slices.Contains(s.imports, export) {
			out = append(out, s.name)
		}
	}
	slices.Sort(out)
	return out
}

// sameOutputs reports whether two stacks tell the same.
func sameOutputs(a, b *deploy.Stack) bool {
	if a == nil {
		return false
	}
	before, err := a.OutputValues()
	after, other := b.OutputValues()
	return err == nil && other == nil && maps.Equal(before, after)
}

// keeps reports whether a resource stays that its stack does not have any more. creating: it was made by the operation that is rolled back.
func keeps(policy string, creating bool) bool {
	return policy == "Retain" || policy == "RetainExceptOnCreate" && !creating
}

// changeSet returns a change set of a stack by name or id.
func (s *stack) changeSet(nameOrID string) *changeSet {
	for _, c := range s.changeSets {
		if c.name == nameOrID || c.id == nameOrID {
			return c
		}
	}
	return nil
}
