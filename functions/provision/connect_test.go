package main

import (
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestConnectReadsTheDefaultSpreadOfTheRegistration(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	reg := model.Registration{Cluster: "prod", Region: "us-west-2", Endpoint: server.URL,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	c := newConnector(aws.Config{}, nil, false)
	if _, err := c.Connect(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	reg.DefaultSpread = "[{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]" // another setting opens the cluster anew
	if _, err := c.Connect(t.Context(), reg); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "maxSkew") {
		t.Errorf("got %v, want Invalid", err)
	}
}
