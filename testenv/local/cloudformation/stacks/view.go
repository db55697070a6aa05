package stacks

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
)

type outputView struct {
	OutputKey, OutputValue string
	Description            string `xml:",omitempty"`
	ExportName             string `xml:",omitempty"`
}

type driftView struct{ StackDriftStatus string }

type stackView struct {
	StackID                     string `xml:"StackId"`
	StackName                   string
	Description                 string `xml:",omitempty"`
	Parameters                  wire.Members[parameter]
	CreationTime                wire.Time
	DeletionTime                *wire.Time
	LastUpdatedTime             *wire.Time
	RollbackConfiguration       struct{}
	StackStatus                 string
	StackStatusReason           string `xml:",omitempty"`
	DisableRollback             bool
	NotificationARNs            wire.Members[string]
	Capabilities                wire.Members[string]
	Outputs                     wire.Members[outputView]
	RoleARN                     string `xml:",omitempty"`
	Tags                        wire.Members[tag]
	EnableTerminationProtection bool
	DriftInformation            driftView
}

func view(s *stack) stackView {
	v := stackView{
		StackID: s.id, StackName: s.name, Description: s.description, Parameters: wire.MembersOf(s.parameters), CreationTime: wire.Time{Time: s.created},
		DeletionTime: timeOf(s.deleted), LastUpdatedTime: timeOf(s.updated), StackStatus: s.status, StackStatusReason: s.reason, DisableRollback: s.keepsFailed,
		Capabilities: wire.MembersOf(s.capabilities), RoleARN: s.role, Tags: wire.MembersOf(s.tags), EnableTerminationProtection: s.protected,
		DriftInformation: driftView{"NOT_CHECKED"},
	}
	for _, name := range slices.Sorted(maps.Keys(s.outputs)) {
		o := s.outputs[name]
		v.Outputs.Items = append(v.Outputs.Items, outputView{name, o.value, o.description, o.export})
	}
	return v
}

func timeOf(t time.Time) *wire.Time {
	if t.IsZero() {
		return nil
	}
	return &wire.Time{Time: t}
}

type stacksOutput struct {
	Stacks    wire.Members[stackView]
	NextToken string `xml:",omitempty"`
}

type stacksInput struct{ StackName, NextToken string }

func (m *Model) describeStacks(_ context.Context, in *stacksInput) (*stacksOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.StackName != "" {
		s := m.find(in.StackName)
		if s == nil {
			return nil, invalid("Stack with id %s does not exist", in.StackName)
		}
		return &stacksOutput{Stacks: wire.MembersOf([]stackView{view(s)})}, nil
	}
	var all []stackView
	for _, s := range slices.Backward(m.stacks) {
		if s.status != deleteComplete {
			all = append(all, view(s))
		}
	}
	items, next, err := paged(all, in.NextToken)
	return &stacksOutput{wire.MembersOf(items), next}, err
}

type summaryView struct {
	StackID             string `xml:"StackId"`
	StackName           string
	TemplateDescription string `xml:",omitempty"`
	CreationTime        wire.Time
	LastUpdatedTime     *wire.Time
	DeletionTime        *wire.Time
	StackStatus         string
	StackStatusReason   string `xml:",omitempty"`
	DriftInformation    driftView
}

type summariesOutput struct {
	StackSummaries wire.Members[summaryView]
	NextToken      string `xml:",omitempty"`
}

func (m *Model) listStacks(_ context.Context, in *struct {
	StackStatusFilter []string
	NextToken         string
}) (*summariesOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []summaryView
	for _, s := range slices.Backward(m.stacks) {
		if len(in.StackStatusFilter) == 0 || slices.Contains(in.StackStatusFilter, s.status) {
			all = append(all, summaryView{s.id, s.name, s.description, wire.Time{Time: s.created}, timeOf(s.updated), timeOf(s.deleted), s.status, s.reason, driftView{"NOT_CHECKED"}})
		}
	}
	items, next, err := paged(all, in.NextToken)
	return &summariesOutput{wire.MembersOf(items), next}, err
}

type eventView struct {
	StackID              string `xml:"StackId"`
	EventID              string `xml:"EventId"`
	StackName            string
	LogicalResourceID    string `xml:"LogicalResourceId"`
	PhysicalResourceID   string `xml:"PhysicalResourceId"`
	ResourceType         string
	Timestamp            wire.Time
	ResourceStatus       string
	ResourceStatusReason string `xml:",omitempty"`
	ClientRequestToken   string `xml:",omitempty"`
}

type eventsOutput struct {
	StackEvents wire.Members[eventView]
	NextToken   string `xml:",omitempty"`
}

type eventsInput struct{ StackName, NextToken string }

// describeStackEvents answers the newest first.
func (m *Model) describeStackEvents(_ context.Context, in *eventsInput) (*eventsOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	var all []eventView
	for _, e := range slices.Backward(s.events) {
		all = append(all, eventView{s.id, e.id, s.name, e.logical, e.physical, e.kind, wire.Time{Time: e.time}, e.status, e.reason, e.token})
	}
	items, next, err := paged(all, in.NextToken)
	return &eventsOutput{wire.MembersOf(items), next}, err
}

type operationEvent struct {
	EventID              string `xml:"EventId"`
	StackID              string `xml:"StackId"`
	EventType            string
	LogicalResourceID    string `xml:"LogicalResourceId"`
	PhysicalResourceID   string `xml:"PhysicalResourceId"`
	ResourceType         string
	Timestamp            wire.Time
	ResourceStatus       string
	ResourceStatusReason string `xml:",omitempty"`

	ValidationName         string `xml:",omitempty"`
	ValidationStatus       string `xml:",omitempty"`
	ValidationStatusReason string `xml:",omitempty"`
	ValidationPath         string `xml:",omitempty"`
}

type operationEvents struct {
	OperationEvents wire.Members[operationEvent]
	NextToken       string `xml:",omitempty"`
}

type operationInput struct {
	StackName, ChangeSetName, NextToken string
	OperationID                         string `query:"OperationId"`
	Filters                             struct{ FailedEvents bool }
}

// describeEvents answers the events of a stack, or with the filter for failures those that failed; of a change set what kept it from being created.
func (m *Model) describeEvents(_ context.Context, in *operationInput) (*operationEvents, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.ChangeSetName != "" {
		s, c, err := m.changeSetOf(&changeSetRef{ChangeSetName: in.ChangeSetName, StackName: in.StackName})
		if err != nil {
			return nil, err
		}
		return &operationEvents{OperationEvents: wire.MembersOf(takenNames(s, c))}, nil
	}
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	var all []operationEvent
	for _, e := range slices.Backward(s.events) {
		if !in.Filters.FailedEvents || strings.HasSuffix(e.status, "_FAILED") {
			all = append(all, operationEvent{
				EventID: e.id, StackID: s.id, EventType: "STACK_EVENT", LogicalResourceID: e.logical, PhysicalResourceID: e.physical, ResourceType: e.kind,
				Timestamp: wire.Time{Time: e.time}, ResourceStatus: e.status, ResourceStatusReason: e.reason,
			})
		}
	}
	items, next, err := paged(all, in.NextToken)
	return &operationEvents{wire.MembersOf(items), next}, err
}

// takenNames says which resources of a change set have names that are taken.
func takenNames(s *stack, c *changeSet) []operationEvent {
	var out []operationEvent
	for _, one := range c.taken {
		out = append(out, operationEvent{
			EventID: wire.NewRequestID(), StackID: s.id, EventType: "VALIDATION_ERROR", LogicalResourceID: one.logical, PhysicalResourceID: one.physical,
			ResourceType: one.kind, Timestamp: wire.Time{Time: c.created}, ValidationName: "NAME_CONFLICT_VALIDATION", ValidationStatus: "FAILED",
			ValidationStatusReason: "Resource of type '" + one.kind + "' with identifier '" + one.physical + "' already exists.", ValidationPath: "/Resources/" + one.logical,
		})
	}
	return out
}

type resourceView struct {
	StackID              string `xml:"StackId"`
	StackName            string
	LogicalResourceID    string `xml:"LogicalResourceId"`
	PhysicalResourceID   string `xml:"PhysicalResourceId,omitempty"`
	ResourceType         string
	Timestamp            *wire.Time
	LastUpdatedTimestamp *wire.Time
	ResourceStatus       string
	ResourceStatusReason string `xml:",omitempty"`
	DriftInformation     struct{ StackResourceDriftStatus string }
}

// resourcesOf are the resources of a stack, by name.
func resourcesOf(s *stack) []resourceView {
	out := []resourceView{}
	for _, id := range slices.Sorted(maps.Keys(s.resources)) {
		r := s.resources[id]
		v := resourceView{
			StackID: s.id, StackName: s.name, LogicalResourceID: id, PhysicalResourceID: r.physical, ResourceType: r.kind,
			Timestamp: timeOf(r.updated), LastUpdatedTimestamp: timeOf(r.updated), ResourceStatus: r.status, ResourceStatusReason: r.reason,
		}
		v.DriftInformation.StackResourceDriftStatus = "NOT_CHECKED"
		out = append(out, v)
	}
	return out
}

type resourcesOutput struct {
	StackResources wire.Members[resourceView]
}

func (m *Model) describeStackResources(_ context.Context, in *struct {
	StackName          string
	LogicalResourceID  string `query:"LogicalResourceId"`
	PhysicalResourceID string `query:"PhysicalResourceId"`
}) (*resourcesOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	if in.PhysicalResourceID != "" {
		s = m.owner(in.PhysicalResourceID)
	}
	if s == nil {
		return nil, invalid("Stack with id %s does not exist", cmp.Or(in.StackName, in.PhysicalResourceID))
	}
	out := slices.DeleteFunc(resourcesOf(s), func(r resourceView) bool {
		return in.LogicalResourceID != "" && r.LogicalResourceID != in.LogicalResourceID
	})
	return &resourcesOutput{wire.MembersOf(out)}, nil
}

// owner is the stack that has a resource of a physical id, nil where there is none.
func (m *Model) owner(physical string) *stack {
	for _, s := range m.stacks {
		for _, r := range s.resources {
			if s.status != deleteComplete && r.physical == physical {
				return s
			}
		}
	}
	return nil
}

type resourceOutput struct{ StackResourceDetail resourceView }

func (m *Model) describeStackResource(_ context.Context, in *struct {
	StackName         string
	LogicalResourceID string `query:"LogicalResourceId"`
}) (*resourceOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	if s == nil {
		return nil, invalid("Stack '%s' does not exist", in.StackName)
	}
	for _, r := range resourcesOf(s) {
		if r.LogicalResourceID == in.LogicalResourceID {
			return &resourceOutput{r}, nil
		}
	}
	return nil, invalid("Resource %s does not exist for stack %s", in.LogicalResourceID, s.name)
}

type resourceSummaries struct {
	StackResourceSummaries wire.Members[resourceView]
	NextToken              string `xml:",omitempty"`
}

func (m *Model) listStackResources(_ context.Context, in *struct{ StackName, NextToken string }) (*resourceSummaries, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	if s == nil {
		return nil, invalid("Stack with id %s does not exist", in.StackName)
	}
	items, next, err := paged(resourcesOf(s), in.NextToken)
	return &resourceSummaries{wire.MembersOf(items), next}, err
}

type exportView struct {
	ExportingStackID string `xml:"ExportingStackId"`
	Name, Value      string
}

type exportsOutput struct {
	Exports   wire.Members[exportView]
	NextToken string `xml:",omitempty"`
}

func (m *Model) listExports(_ context.Context, in *struct{ NextToken string }) (*exportsOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []exportView
	for _, s := range m.stacks {
		for _, o := range s.outputs {
			if o.export != "" {
				all = append(all, exportView{s.id, o.export, o.value})
			}
		}
	}
	slices.SortFunc(all, func(a, b exportView) int { return strings.Compare(a.Name, b.Name) })
	items, next, err := paged(all, in.NextToken)
	return &exportsOutput{wire.MembersOf(items), next}, err
}

type importsOutput struct {
	Imports   wire.Members[string]
	NextToken string `xml:",omitempty"`
}

func (m *Model) listImports(_ context.Context, in *struct{ ExportName, NextToken string }) (*importsOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.importers(in.ExportName)
	if len(all) == 0 {
		return nil, invalid("Export '%s' is not imported by any stack.", in.ExportName)
	}
	items, next, err := paged(all, in.NextToken)
	return &importsOutput{wire.MembersOf(items), next}, err
}

type templateOutput struct {
	TemplateBody    string
	StagesAvailable wire.Members[string]
}

func (m *Model) getTemplate(_ context.Context, in *struct{ StackName, ChangeSetName, TemplateStage string }) (*templateOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stages := wire.MembersOf([]string{"Original", "Processed"})
	if in.ChangeSetName != "" {
		_, c, err := m.changeSetOf(&changeSetRef{ChangeSetName: in.ChangeSetName, StackName: in.StackName})
		if err != nil {
			return nil, err
		}
		return &templateOutput{c.plan.body, stages}, nil
	}
	s := m.find(in.StackName)
	if s == nil {
		return nil, invalid("Stack with id %s does not exist", in.StackName)
	}
	return &templateOutput{s.body, stages}, nil
}

type declaration struct {
	ParameterKey, ParameterType string
	DefaultValue                *string
	NoEcho                      bool
}

type templateSummary struct {
	Parameters    wire.Members[declaration]
	Description   string `xml:",omitempty"`
	Capabilities  wire.Members[string]
	ResourceTypes wire.Members[string]
}

func (m *Model) getTemplateSummary(_ context.Context, in *struct{ StackName, TemplateBody, TemplateURL string }) (*templateSummary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(in.StackName)
	text, err := m.text(source{in.TemplateBody, in.TemplateURL, true}, s)
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	return summary(t), nil
}

// summary is what a template asks for and makes.
func summary(t *cloudformation.Template) *templateSummary {
	out := &templateSummary{Description: t.Description}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		d := declaration{ParameterKey: name, ParameterType: t.Parameters[name].Type}
		if value, ok := t.Parameters[name].Default.(string); ok {
			d.DefaultValue = &value
		}
		out.Parameters.Items = append(out.Parameters.Items, d)
	}
	for _, r := range t.Resources {
		if !slices.Contains(out.ResourceTypes.Items, r.Type) {
			out.ResourceTypes.Items = append(out.ResourceTypes.Items, r.Type)
		}
	}
	slices.Sort(out.ResourceTypes.Items)
	return out
}
