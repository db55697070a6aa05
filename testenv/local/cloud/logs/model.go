// Package logs is a model of the log groups of CloudWatch Logs as far as looking at them goes: DescribeLogGroups.
//
//	m := logs.New()
//	m.Add("/aws/lambda/joiner-provision")
//	c.Register("logs", logs.NewHandler(m))
package logs

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const maxPage = 50

// Model is the log groups of an account in a region. It may be used from many goroutines.
type Model struct {
	mu     sync.Mutex
	groups []string // sorted
}

// New returns a model without log groups.
func New() *Model { return &Model{} }

// Add makes a log group; where it is there already nothing happens.
func (m *Model) Add(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, there := slices.BinarySearch(m.groups, name); !there {
		m.groups = slices.Insert(m.groups, at, name)
	}
}

// Remove takes a log group away; where there is none nothing happens.
func (m *Model) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.groups = slices.DeleteFunc(m.groups, func(g string) bool { return g == name })
}

// NewHandler serves m on the wire protocol of CloudWatch Logs.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "Logs_20140328", Actions: map[string]wire.JSONAction{"DescribeLogGroups": wire.JSONFunc(m.describe)}}
}

type describeInput struct {
	LogGroupNamePrefix, NextToken string
	Limit                         *int
}

type group struct {
	LogGroupName string `json:"logGroupName"`
}

type describeOutput struct {
	LogGroups []group `json:"logGroups"`
	NextToken string  `json:"nextToken,omitempty"`
}

// describe returns groups in order of their names; the token is the last name of a page.
func (m *Model) describe(_ context.Context, in *describeInput) (*describeOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := maxPage
	if in.Limit != nil {
		size = *in.Limit
	}
	if size < 1 || size > maxPage {
		return nil, wire.Errorf("InvalidParameterException", "1 validation error detected: Value at 'limit' failed to satisfy constraint: Member must have value between 1 and %d", maxPage)
	}
	out := &describeOutput{LogGroups: []group{}}
	for _, name := range m.groups {
		if !strings.HasPrefix(name, in.LogGroupNamePrefix) || name <= in.NextToken {
			continue
		}
		if len(out.LogGroups) == size {
			out.NextToken = out.LogGroups[size-1].LogGroupName
			break
		}
		out.LogGroups = append(out.LogGroups, group{name})
	}
	return out, nil
}
