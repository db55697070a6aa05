// Package servicequotas is a model of Service Quotas as far as EC2's quotas of vCPUs go: what ListServiceQuotas and GetServiceQuota
// answer. What EC2 does at a quota is package ec2's to say.
//
//	m := servicequotas.New()
//	m.Set("L-1216C47A", 5) // Running On-Demand Standard instances
//	c.Register("servicequotas", servicequotas.NewHandler(m))
package servicequotas

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// names are EC2's quotas of vCPUs. Source: Service Quotas console, Amazon Elastic Compute Cloud.
var names = map[string]string{
	"L-1216C47A": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "L-34B43A08": "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
	"L-DB2E81BA": "Running On-Demand G and VT instances", "L-3819A6DF": "All G and VT Spot Instance Requests",
	"L-417A185B": "Running On-Demand P instances", "L-7212CCBC": "All P4, P3 and P2 Spot Instance Requests",
}

const (
	usual   = 1152 // vCPUs of each, in an account that has been in use for some time
	maxPage = 100
)

// Model is the quotas of an account in a region. It may be used from many goroutines.
type Model struct {
	mu     sync.Mutex
	values map[string]float64 // by code
}

// New returns an account with the usual quotas.
func New() *Model {
	m := &Model{values: map[string]float64{}}
	for code := range names {
		m.values[code] = usual
	}
	return m
}

// Set changes a quota, or adds one.
func (m *Model) Set(code string, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[code] = value
}

// NewHandler serves m on the wire protocol of Service Quotas.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "ServiceQuotasV20190624", Actions: map[string]wire.JSONAction{
		"GetServiceQuota": wire.JSONFunc(m.get), "ListServiceQuotas": wire.JSONFunc(m.list),
	}}
}

type quota struct {
	ServiceCode, QuotaCode, QuotaName, Unit string
	Value                                   float64
	Adjustable, GlobalQuota                 bool
}

func (m *Model) quota(code string) quota {
	return quota{ServiceCode: "ec2", QuotaCode: code, QuotaName: names[code], Unit: "None", Value: m.values[code], Adjustable: true}
}

type getInput struct{ ServiceCode, QuotaCode string }

type getOutput struct{ Quota quota }

func (m *Model) get(_ context.Context, in *getInput) (*getOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.values[in.QuotaCode]; !known || in.ServiceCode != "ec2" {
		return nil, wire.Errorf("NoSuchResourceException", "The request failed because the specified service code or quota code does not exist.")
	}
	return &getOutput{m.quota(in.QuotaCode)}, nil
}

type listInput struct {
	ServiceCode, NextToken string
	MaxResults             *int
}

type listOutput struct {
	NextToken string `json:",omitempty"`
	Quotas    []quota
}

// list returns the quotas in order of their codes; the token is the last code of a page.
func (m *Model) list(_ context.Context, in *listInput) (*listOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := maxPage
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	if size < 1 || size > maxPage {
		return nil, wire.Errorf("IllegalArgumentException", "MaxResults must be between 1 and %d", maxPage)
	}
	if in.ServiceCode != "ec2" {
		return nil, wire.Errorf("NoSuchResourceException", "The request failed because the specified service code does not exist.")
	}
	out := &listOutput{Quotas: []quota{}}
	for _, code := range slices.Sorted(maps.Keys(m.values)) {
		if code <= in.NextToken {
			continue
		}
		if len(out.Quotas) == size {
			out.NextToken = out.Quotas[size-1].QuotaCode
			break
		}
		out.Quotas = append(out.Quotas, m.quota(code))
	}
	return out, nil
}
