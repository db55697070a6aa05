package iam

import (
	"context"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Simulator says what a principal might do, without anything of it being remembered.
type Simulator interface {
	Would(who policy.Principal, a wire.Access) policy.Decision
	// Knows reports whether the principal with an ARN has policies.
	Knows(arn string) bool
}

type simulateInput struct {
	PolicySourceArn string
	ActionNames     []string
	ResourceArns    []string
	ContextEntries  []struct {
		ContextKeyName, ContextKeyType string
		ContextKeyValues               []string
	}
}

type evaluation struct {
	EvalActionName, EvalResourceName, EvalDecision string
}

type simulateOutput struct {
	IsTruncated       bool
	EvaluationResults []evaluation `xml:"EvaluationResults>member"`
}

// simulate answers each action on each resource. Source: IAM API reference, SimulatePrincipalPolicy.
func (s *service) simulate(_ context.Context, in *simulateInput) (*simulateOutput, error) {
	if s.book == nil || !s.book.Knows(in.PolicySourceArn) {
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "%s does not exist.", in.PolicySourceArn)
	}
	if len(in.ActionNames) == 0 {
		return nil, wire.Errorf("InvalidInput", "ActionNames must not be empty.")
	}
	keys := map[string][]string{}
	for _, entry := range in.ContextEntries {
		keys[strings.ToLower(entry.ContextKeyName)] = entry.ContextKeyValues
	}
	resources := in.ResourceArns
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	out := &simulateOutput{}
	for _, action := range in.ActionNames {
		for _, resource := range resources {
			d := s.book.Would(policy.Role(in.PolicySourceArn), wire.Access{Action: action, Resource: resource, Context: keys})
			out.EvaluationResults = append(out.EvaluationResults, evaluation{action, resource, decisionOf(d)})
		}
	}
	return out, nil
}

// decisionOf is a decision in IAM's words.
func decisionOf(d policy.Decision) string {
	switch {
	case d.Allowed():
		return "allowed"
	case d.Reason == policy.ExplicitDeny:
		return "explicitDeny"
	default:
		return "implicitDeny"
	}
}
