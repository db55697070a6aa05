package ssm

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves m on the wire protocol of Systems Manager.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "AmazonSSM", Actions: map[string]wire.JSONAction{
		"DeleteParameter":     wire.JSONFunc(m.deleteParameter),
		"GetParameter":        wire.JSONFunc(m.getParameter),
		"GetParameters":       wire.JSONFunc(m.getParameters),
		"GetParametersByPath": wire.JSONFunc(m.getParametersByPath),
		"PutParameter":        wire.JSONFunc(m.putParameter),
	}}
}

// Limits of the Parameter Store.
const (
	maxNames   = 10
	maxPerPage = 10
)

type getParameterInput struct{ Name string }

type getParameterOutput struct{ Parameter parameter }

func (m *Model) getParameter(_ context.Context, in *getParameterInput) (*getParameterOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.Name == "" {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'name' failed to satisfy constraint: Member must not be empty")
	}
	p, found, versionFound := m.find(in.Name)
	switch {
	case !found:
		return nil, wire.Errorf("ParameterNotFound", "")
	case !versionFound:
		return nil, wire.Errorf("ParameterVersionNotFound", "Systems Manager could not find version of %s. Verify the version and try again.", in.Name)
	}
	return &getParameterOutput{p}, nil
}

type getParametersInput struct{ Names []string }

type getParametersOutput struct {
	InvalidParameters []string
	Parameters        []parameter
}

func (m *Model) getParameters(_ context.Context, in *getParametersInput) (*getParametersOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(in.Names) == 0 || len(in.Names) > maxNames {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and %d", maxNames)
	}
	out := &getParametersOutput{InvalidParameters: []string{}, Parameters: []parameter{}}
	for _, name := range in.Names {
		if p, _, ok := m.find(name); ok {
			out.Parameters = append(out.Parameters, p)
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}

type getParametersByPathInput struct {
	Path             string
	Recursive        bool
	ParameterFilters []struct{ Key string }
	MaxResults       *int
	NextToken        string
}

type getParametersByPathOutput struct {
	NextToken  string `json:",omitempty"`
	Parameters []parameter
}

func (m *Model) getParametersByPath(_ context.Context, in *getParametersByPathInput) (*getParametersByPathOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := maxPerPage
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	switch {
	case !strings.HasPrefix(in.Path, "/"):
		return nil, wire.Errorf("ValidationException", "The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward slash \"/\".")
	case size < 1 || size > maxPerPage:
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: Member must have value between 1 and %d", size, maxPerPage)
	case len(in.ParameterFilters) > 0:
		return nil, wire.Errorf("InvalidFilterKey", "Filters are not modelled")
	}
	all := m.below(in.Path, in.Recursive)
	if in.NextToken != "" {
		after, err := base64.StdEncoding.DecodeString(in.NextToken)
		if err != nil {
			return nil, wire.Errorf("InvalidNextToken", "The specified token is not valid.")
		}
		all = slices.DeleteFunc(all, func(p parameter) bool { return p.Name <= string(after) })
	}
	out := &getParametersByPathOutput{Parameters: all}
	if len(all) > size {
		out.Parameters = all[:size]
		out.NextToken = base64.StdEncoding.EncodeToString([]byte(all[size-1].Name))
	}
	return out, nil
}

type putParameterInput struct {
	Name, Value, Type string
	Overwrite         bool
}

type putParameterOutput struct {
	Tier    string
	Version int64
}

func (m *Model) putParameter(_ context.Context, in *putParameterInput) (*putParameterOutput, error) {
	m.mu.Lock()
	_, exists := m.parameters[in.Name]
	m.mu.Unlock()
	switch {
	case in.Name == "" || in.Value == "":
		return nil, wire.Errorf("ValidationException", "1 validation error detected: name and value must not be empty")
	case strings.HasPrefix(strings.TrimPrefix(in.Name, "/"), "aws"):
		return nil, wire.Errorf("AccessDeniedException", "No access to reserved parameter name: %s.", in.Name)
	case in.Type != "" && in.Type != "String":
		return nil, wire.Errorf("UnsupportedParameterType", "Only parameters of type String are modelled")
	case exists && !in.Overwrite:
		return nil, wire.Errorf("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	}
	return &putParameterOutput{"Standard", m.Put(in.Name, in.Value)}, nil
}

type deleteParameterInput struct{ Name string }

func (m *Model) deleteParameter(_ context.Context, in *deleteParameterInput) (*struct{}, error) {
	m.mu.Lock()
	_, exists := m.parameters[in.Name]
	m.mu.Unlock()
	if !exists {
		return nil, wire.Errorf("ParameterNotFound", "")
	}
	m.Delete(in.Name)
	return &struct{}{}, nil
}
