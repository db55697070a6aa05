package stacks

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type targetView struct {
	Attribute          string
	Name               string `xml:",omitempty"`
	RequiresRecreation string
}

type detailView struct {
	Target                   targetView
	Evaluation, ChangeSource string
}

type resourceChange struct {
	PolicyAction       string `xml:",omitempty"`
	Action             string
	LogicalResourceID  string `xml:"LogicalResourceId"`
	PhysicalResourceID string `xml:"PhysicalResourceId,omitempty"`
	ResourceType       string
	Replacement        string `xml:",omitempty"`
	Scope              wire.Members[string]
	Details            wire.Members[detailView]
}

type changeView struct {
	Type           string
	ResourceChange resourceChange
}

type changeSetView struct {
	ChangeSetName       string
	ChangeSetID         string `xml:"ChangeSetId"`
	StackID             string `xml:"StackId"`
	StackName           string
	Description         string `xml:",omitempty"`
	Parameters          wire.Members[parameter]
	CreationTime        wire.Time
	ExecutionStatus     string
	Status              string
	StatusReason        string `xml:",omitempty"`
	Capabilities        wire.Members[string]
	Tags                wire.Members[tag]
	Changes             wire.Members[changeView]
	IncludeNestedStacks bool
}

func viewChangeSet(s *stack, c *changeSet) *changeSetView {
	v := &changeSetView{
		ChangeSetName: c.name, ChangeSetID: c.id, StackID: s.id, StackName: s.name, Description: c.description, Parameters: wire.MembersOf(c.plan.parameters),
		CreationTime: wire.Time{Time: c.created}, ExecutionStatus: c.execution, Status: c.status, StatusReason: c.reason,
		Capabilities: wire.MembersOf(c.plan.capabilities), Tags: wire.MembersOf(c.plan.tags),
	}
	for _, one := range c.changes {
		r := resourceChange{PolicyAction: one.policy, Action: one.action, LogicalResourceID: one.logical, PhysicalResourceID: one.physical, ResourceType: one.kind}
		if one.action == "Modify" {
			r.Replacement = "False"
			recreation := "Never"
			if one.replaces {
				r.Replacement, recreation = "True", "Always"
			}
			r.Scope = wire.MembersOf([]string{"Properties"})
			for _, name := range one.properties {
				r.Details.Items = append(r.Details.Items, detailView{targetView{"Properties", name, recreation}, "Static", "DirectModification"})
			}
		}
		v.Changes.Items = append(v.Changes.Items, changeView{"Resource", r})
	}
	return v
}

type changeSetSummary struct {
	ChangeSetName           string
	ChangeSetID             string `xml:"ChangeSetId"`
	StackID                 string `xml:"StackId"`
	StackName               string
	CreationTime            wire.Time
	ExecutionStatus, Status string
	StatusReason            string `xml:",omitempty"`
	Description             string `xml:",omitempty"`
}

type changeSetsOutput struct {
	Summaries wire.Members[changeSetSummary]
}

func (m *Model) listChangeSets(_ context.Context, in *struct{ StackName, NextToken string }) (*changeSetsOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.need(in.StackName)
	if err != nil {
		return nil, err
	}
	out := &changeSetsOutput{}
	for _, c := range s.changeSets {
		out.Summaries.Items = append(out.Summaries.Items, changeSetSummary{c.name, c.id, s.id, s.name, wire.Time{Time: c.created}, c.execution, c.status, c.reason, c.description})
	}
	return out, nil
}
