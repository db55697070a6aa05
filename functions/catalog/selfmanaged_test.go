package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/joiner-sh/joiner/shared/model"
)

// A stack registers a self-managed cluster with what EKS would say of it; it has no ARN, and is in the stack's region.
func TestSelfManagedClustersAreRegisteredByTheirStack(t *testing.T) {
	desired, err := standaloneOf(map[string]any{
		"cluster": "own", "account": "111122223333", "region": "us-west-2", "selfManaged": "true", "version": "1.36",
		"endpoint": "https://10.0.0.10:6443", "ca": base64.StdEncoding.EncodeToString([]byte("PEM")),
		"serviceCIDR": "10.96.0.0/12",
	})
	if err != nil || !desired.SelfManaged || string(desired.CA) != "PEM" ||
		desired.Endpoint != "https://10.0.0.10:6443" ||
		desired.Version != "1.36" || desired.ServiceCIDR != "10.96.0.0/12" {
		t.Fatalf("%+v %v", desired, err)
	}
	_, err = standaloneOf(map[string]any{"cluster": "own", "ca": "-----BEGIN", "selfManaged": true})
	if err == nil || !strings.Contains(err.Error(), "property ca") {
		t.Errorf("an authority that is not in base64: %v", err)
	}
	stack := arn.ARN{Partition: "aws", Service: "cloudformation", Region: "us-west-2", AccountID: "111122223333"}
	for name, c := range map[string]struct {
		reg model.Registration
		ok  bool
	}{
		"self-managed":      {model.Registration{SelfManaged: true, Region: "us-west-2"}, true},
		"of another region": {model.Registration{SelfManaged: true, Region: "eu-central-1"}, false},
		"EKS's without ARN": {model.Registration{Region: "us-west-2"}, false},
	} {
		if err := ofStack(stack, &c.reg); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
