package stacks

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const namespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/"

// NewHandler serves m on the wire protocol of CloudFormation.
func NewHandler(m *Model) http.Handler {
	return wire.Query{Namespace: namespace, Actions: map[string]wire.QueryAction{
		"CreateChangeSet":             wire.QueryFunc(m.createChangeSet),
		"CreateStack":                 wire.QueryFunc(m.createStack),
		"DeleteChangeSet":             wire.QueryFunc(m.deleteChangeSet),
		"DeleteStack":                 wire.QueryFunc(m.deleteStack),
		"DescribeChangeSet":           wire.QueryFunc(m.describeChangeSet),
		"DescribeEvents":              wire.QueryFunc(m.describeEvents),
		"DescribeStackEvents":         wire.QueryFunc(m.describeStackEvents),
		"DescribeStackResource":       wire.QueryFunc(m.describeStackResource),
		"DescribeStackResources":      wire.QueryFunc(m.describeStackResources),
		"DescribeStacks":              wire.QueryFunc(m.describeStacks),
		"ExecuteChangeSet":            wire.QueryFunc(m.executeChangeSet),
		"GetTemplate":                 wire.QueryFunc(m.getTemplate),
		"GetTemplateSummary":          wire.QueryFunc(m.getTemplateSummary),
		"ListChangeSets":              wire.QueryFunc(m.listChangeSets),
		"ListExports":                 wire.QueryFunc(m.listExports),
		"ListImports":                 wire.QueryFunc(m.listImports),
		"ListStackResources":          wire.QueryFunc(m.listStackResources),
		"ListStacks":                  wire.QueryFunc(m.listStacks),
		"RollbackStack":               wire.QueryFunc(m.rollbackStack),
		"UpdateStack":                 wire.QueryFunc(m.updateStack),
		"UpdateTerminationProtection": wire.QueryFunc(m.updateTerminationProtection),
	}}
}

type stackID struct {
	StackID string `xml:"StackId"`
}

type changeSetInput struct {
	request
	ChangeSetName           string
	ChangeSetType           string
	Description             string
	ClientToken             string
	IncludeNestedStacks     bool
	ImportExistingResources bool
	UsePreviousTemplate     bool
	OnStackFailure          string
	RollbackConfiguration   *struct{ MonitoringTimeInMinutes string }
}

type changeSetOutput struct {
	ID      string `xml:"Id"`
	StackID string `xml:"StackId"`
}

func (m *Model) createChangeSet(_ context.Context, in *changeSetInput) (*changeSetOutput, error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	creates := in.ChangeSetType == "CREATE"
	switch {
	case in.ChangeSetType == "IMPORT":
		return nil, invalid("Change sets of type IMPORT are not modelled")
	case creates && s != nil && s.status != reviewInProgress:
		return nil, invalid("Stack [%s] already exists and cannot be created again with the changeSet [%s].", in.StackName, in.ChangeSetName)
	case !creates && (s == nil || s.status == reviewInProgress):
		return nil, invalid("Stack [%s] does not exist", in.StackName)
	case !creates && !changeable(s.status):
		return nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	case s != nil && s.changeSet(in.ChangeSetName) != nil:
		return nil, wire.StatusErrorf(http.StatusConflict, "AlreadyExistsException", "ChangeSet %s already exists", in.ChangeSetName)
	}
	p, err := m.plan(&in.request, in.UsePreviousTemplate, s)
	if err != nil {
		return nil, err
	}
	p.takesOver = in.ImportExistingResources
	if s == nil {
		s = m.add(in.StackName)
		m.set(s, reviewInProgress, "User Initiated")
	}
	c := &changeSet{
		name: in.ChangeSetName, description: in.Description, created: m.clock.Now(), creates: creates, plan: p,
		id: "arn:aws:cloudformation:" + m.account.Cloud.Region() + ":" + m.account.ID() + ":changeSet/" + in.ChangeSetName + "/" + wire.NewRequestID(),
	}
	s.changeSets = append(s.changeSets, c)
	m.compare(s, c)
	return &changeSetOutput{c.id, s.id}, nil
}

// changeable reports whether a stack in a status can be updated.
func changeable(status string) bool {
	return slices.Contains([]string{createComplete, updateComplete, updateBackComplete, createFailed, updateFailed}, status)
}

type changeSetRef struct {
	ChangeSetName         string
	StackName             string
	NextToken             string
	IncludePropertyValues bool
}

// changeSetOf finds a change set by its ARN, or by name in a stack.
func (m *Model) changeSetOf(in *changeSetRef) (*stack, *changeSet, error) {
	for _, s := range m.stacks {
		if c := s.changeSet(in.ChangeSetName); c != nil && (c.id == in.ChangeSetName || s == m.find(in.StackName)) {
			return s, c, nil
		}
	}
	if in.StackName != "" {
		if _, err := m.need(in.StackName); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, notFound("ChangeSetNotFound", "ChangeSet [%s] does not exist", in.ChangeSetName)
}

func (m *Model) describeChangeSet(_ context.Context, in *changeSetRef) (*changeSetView, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, c, err := m.changeSetOf(in)
	if err != nil {
		return nil, err
	}
	return viewChangeSet(s, c), nil
}

// deleteChangeSet says nothing of a change set that does not exist, as CloudFormation does where the stack does.
func (m *Model) deleteChangeSet(_ context.Context, in *changeSetRef) (*struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, c, err := m.changeSetOf(in)
	if c != nil {
		s.changeSets = slices.DeleteFunc(s.changeSets, func(one *changeSet) bool { return one == c })
		return &struct{}{}, nil
	}
	if m.find(in.StackName) != nil {
		return &struct{}{}, nil
	}
	return nil, err
}

type executeInput struct {
	ChangeSetName      string
	StackName          string
	ClientRequestToken string
	DisableRollback    bool
}

func (m *Model) executeChangeSet(_ context.Context, in *executeInput) (*struct{}, error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, c, err := m.changeSetOf(&changeSetRef{ChangeSetName: in.ChangeSetName, StackName: in.StackName})
	if err != nil {
		return nil, err
	}
	if c.execution != "AVAILABLE" || s.busy() {
		return nil, wire.Errorf("InvalidChangeSetStatus", "ChangeSet [%s] cannot be executed in its current status of [%s]", c.id, c.status)
	}
	c.plan.keepsFailed = c.plan.keepsFailed || in.DisableRollback
	s.changeSets = nil // those that were not executed fit no more
	imported := map[string]bool{}
	for _, one := range c.changes {
		imported[one.logical] = one.action == "Import"
	}
	return &struct{}{}, m.deploy(s, c.plan, imported, in.ClientRequestToken)
}

// deploy begins to make a stack what a plan says. Locks of engine and model are held.
func (m *Model) deploy(s *stack, p plan, imported map[string]bool, token string) error {
	after, err := m.open(s, p)
	if err != nil {
		return invalid("%v", err)
	}
	o := &operation{m: m, s: s, before: s.now, after: after, custom: map[string]string{}, imported: imported}
	s.body, s.parameters, s.tags, s.capabilities, s.role, s.keepsFailed = p.body, p.parameters, p.tags, p.capabilities, p.role, p.keepsFailed
	s.description, s.token, s.now = p.template.Description, token, after
	if o.before == nil {
		m.set(s, createInProgress, "User Initiated")
		m.begin(o.runCreate)
		return nil
	}
	s.updated = m.clock.Now()
	m.set(s, updateInProgress, "User Initiated")
	m.begin(o.runUpdate)
	return nil
}

type createInput struct {
	request
	DisableRollback             bool
	ClientRequestToken          string
	EnableTerminationProtection bool
}

func (m *Model) createStack(_ context.Context, in *createInput) (*stackID, error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find(in.StackName) != nil {
		return nil, wire.Errorf("AlreadyExistsException", "Stack [%s] already exists", in.StackName)
	}
	p, err := m.plan(&in.request, false, nil)
	if err != nil {
		return nil, err
	}
	p.keepsFailed = p.keepsFailed || in.DisableRollback
	s := m.add(in.StackName)
	s.protected = in.EnableTerminationProtection
	after, err := m.open(s, p)
	if err == nil {
		err = m.importable(s, after)
	}
	if err != nil {
		m.stacks = m.stacks[:len(m.stacks)-1]
		return nil, invalid("%v", err)
	}
	return &stackID{s.id}, m.deploy(s, p, nil, in.ClientRequestToken)
}

type updateInput struct {
	request
	UsePreviousTemplate   bool
	DisableRollback       bool
	ClientRequestToken    string
	RollbackConfiguration *struct{ MonitoringTimeInMinutes string }
}

func (m *Model) updateStack(_ context.Context, in *updateInput) (*stackID, error) {
	m.engine.Lock()
	defer m.engine.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	if !changeable(s.status) {
		return nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	p, err := m.plan(&in.request, in.UsePreviousTemplate, s)
	if err != nil {
		return nil, err
	}
	p.keepsFailed = p.keepsFailed || in.DisableRollback
	c := &changeSet{plan: p}
	if m.compare(s, c); c.status == "FAILED" {
		if c.changes == nil && len(c.reason) > 13 && c.reason[:13] == "The submitted" {
			return nil, invalid("No updates are to be performed.")
		}
		return nil, invalid("%s", c.reason)
	}
	return &stackID{s.id}, m.deploy(s, p, nil, in.ClientRequestToken)
}

type deleteInput struct {
	StackName          string
	RoleARN            string
	ClientRequestToken string
	RetainResources    []string
	DeletionMode       string
	DeploymentConfig   *struct{ Mode, DisableRollback string }
}

func (m *Model) deleteStack(_ context.Context, in *deleteInput) (*struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	switch {
	case s == nil || s.status == deleteComplete:
		return &struct{}{}, nil // as good
	case s.protected:
		return nil, invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", s.name)
	case s.busy() && s.status != deleteInProgress:
		return nil, invalid("Stack [%s] cannot be deleted while in status %s", s.name, s.status)
	case s.status == deleteInProgress:
		return &struct{}{}, nil
	case len(in.RetainResources) > 0 && s.status != deleteFailed:
		return nil, invalid("Invalid operation on stack [%s]. The specified resources to retain can be given for a stack in status DELETE_FAILED alone", s.name)
	}
	role := s.role
	if in.RoleARN != "" {
		role = in.RoleARN
	}
	if err := m.passes(role); err != nil {
		return nil, err
	}
	s.token = in.ClientRequestToken
	o := &operation{m: m, s: s, before: s.now}
	m.set(s, deleteInProgress, "User Initiated")
	m.begin(func(ctx context.Context) { o.runDelete(ctx, in.RetainResources) })
	return &struct{}{}, nil
}

// rollbackStack rolls a creation back that failed and was left as it was.
func (m *Model) rollbackStack(_ context.Context, in *struct {
	StackName            string
	RoleARN              string
	ClientRequestToken   string
	RetainExceptOnCreate bool
	DeploymentConfig     *struct{ Mode, DisableRollback string }
}) (*stackID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	if s.status != createFailed {
		return nil, invalid("Stack [%s] is in status %s; rolling back is modelled for stacks in status %s", s.name, s.status, createFailed)
	}
	s.token = in.ClientRequestToken
	o := &operation{m: m, s: s, after: s.now, custom: map[string]string{}}
	for id, r := range s.resources {
		if r.status == createComplete {
			o.made = append(o.made, id)
		}
	}
	order, err := s.now.Order()
	if err != nil {
		return nil, invalid("%v", err)
	}
	slices.SortFunc(o.made, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	m.set(s, rollbackInProgress, "User Initiated")
	m.begin(o.finishRollback)
	return &stackID{s.id}, nil
}

type protectionInput struct {
	StackName                   string
	EnableTerminationProtection bool
}

func (m *Model) updateTerminationProtection(_ context.Context, in *protectionInput) (*stackID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	s.protected = in.EnableTerminationProtection
	return &stackID{s.id}, nil
}

// page is how many items one answer has.
const page = 100

// paged returns a page of items and the token of the next.
func paged[T any](items []T, token string) ([]T, string, error) {
	from := 0
	if token != "" {
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || n > len(items) {
			return nil, "", invalid("NextToken %q is not valid", token)
		}
		from = n
	}
	if len(items)-from <= page {
		return items[from:], "", nil
	}
	return items[from : from+page], strconv.Itoa(from + page), nil
}
