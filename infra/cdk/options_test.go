package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// given is a context of tests: JSON values by key.
type given map[string]any

func (g given) TryGetContext(key *string) interface{} { return g[*key] }

func contextFrom(t *testing.T, text string) given {
	t.Helper()
	out := given{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOptions(t *testing.T) {
	o, err := readOptions(contextFrom(t, `{"clusters": ["a", {"name": "b_2", "relay": true, "namespace": "kube-system"}], "cluster": "c", "nodeRole": "nodes", "webhook": "true",
		"subnetIds": "subnet-1, subnet-2", "securityGroupIds": ["sg-1"], "logRetentionDays": 30, "architecture": "x86_64", "settings": "{\"JOINER_SPOT_TO_SPOT\": \"true\"}"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Cluster{{Name: "c", NodeRole: "nodes", Namespace: "joiner"}, {Name: "a", NodeRole: "nodes", Namespace: "joiner"}, {Name: "b_2", NodeRole: "nodes", Relay: true, Namespace: "kube-system"}}
	if fmt.Sprint(o.Clusters) != fmt.Sprint(want) {
		t.Errorf("clusters %v, want %v", o.Clusters, want)
	}
	if !o.Webhook || !o.Reserve || !o.DryRun || o.LogRetentionDays != 30 || o.Zips != "../../dist/amd64" || o.MaxClusters != 10 || len(o.VPCSubnets) != 2 || o.Settings["JOINER_SPOT_TO_SPOT"] != "true" {
		t.Errorf("options %+v", o)
	}
}

// What makes no sense is refused with key, value and remedy, all of it at once.
func TestOptionsRefused(t *testing.T) {
	for text, wants := range map[string]string{
		`{"architecture": "mips"}`:                                         `context architecture "mips": functions run on arm64 or x86_64`,
		`{"logRetentionDays": "15"}`:                                       "context logRetentionDays 15",
		`{"logRetentionDays": "many"}`:                                     `context logRetentionDays "many": give a whole number`,
		`{"subnetIds": "subnet-1"}`:                                        "functions in a VPC need both",
		`{"isolatedVpc": true}`:                                            "give subnetIds and securityGroupIds too",
		`{"webhook": "yes"}`:                                               `context webhook "yes": give true or false`,
		`{"cluster": "not a name"}`:                                        `name "not a name"`,
		`{"clusters": "a,a"}`:                                              `name "a": it is named twice`,
		`{"clusters": [{"name": "a", "colour": "red"}]}`:                   `unknown field "colour"`,
		`{"clusters": 7}`:                                                  "context clusters 7: give names",
		`{"cluster": "a", "clusterAccount": "12"}`:                         `account "12": give the 12 digits`,
		`{"cluster": "a", "clusterAccount": "222222222222"}`:               "by context hubAccount",
		`{"cluster": "a", "nodeRole": "arn:aws:iam::1:role/x"}`:            "give the name of a role, without path and ARN",
		`{"cluster": "a", "ssmParameters": "/images/*"}`:                   "has no wildcard",
		`{"kmsKeyArn": "alias/x"}`:                                         `context kmsKeyArn "alias/x": give an ARN`,
		`{"maxClusters": 1, "clusters": "a,b"}`:                            "context maxClusters 1",
		`{"plannerMemory": 64}`:                                            "context plannerMemory 64",
		`{"settings": {"JOINER_COLOUR": "red"}}`:                           "context settings, JOINER_COLOUR: no function reads it",
		`{"settings": [1]}`:                                                "context settings [1]: give an object of texts",
		`{"architecture": "mips", "logRetentionDays": 15, "webhook": "x"}`: "context webhook",
	} {
		_, err := readOptions(contextFrom(t, text))
		if err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: error %v, want %q", text, err, wants)
		}
	}
	_, err := readOptions(contextFrom(t, `{"architecture": "mips", "logRetentionDays": 15, "webhook": "x"}`))
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 3 {
		t.Errorf("%d of three mistakes are told: %v", lines, err)
	}
}

// Names of roles fit into 64 characters whatever the cluster's, the region's and the function's, and stay apart.
func TestNamesFit(t *testing.T) {
	long, other := strings.Repeat("c", 100), strings.Repeat("c", 99)+"d"
	for _, cluster := range []string{"a", strings.Repeat("b", 29), long, other} {
		for _, program := range []string{"provision", "interruption", "catalog", "disrupt", "watcher", "adopt", "forward", "watcher-hub"} {
			if name := "joiner-" + short(cluster) + "-ap-southeast-1-" + program; len(name) > 64 {
				t.Errorf("role %s has %d characters", name, len(name))
			}
		}
		if name := nodeRoleName(cluster); len(name) > 64 {
			t.Errorf("role %s has %d characters", name, len(name))
		}
		if name := "joiner-relay-" + short(cluster); len(name) > 80 {
			t.Errorf("queue %s has %d characters", name, len(name))
		}
	}
	if short(long) == short(other) || short("a") != "a" {
		t.Errorf("%s, %s, %s", short(long), short(other), short("a"))
	}
}

func TestMissingZipsAreTold(t *testing.T) {
	folder := t.TempDir()
	o := Options{Zips: folder}.withDefaults()
	if err := missingZips(o); err == nil || !strings.Contains(err.Error(), "make zips") {
		t.Errorf("error %v", err)
	}
	if err := emptyZips(folder, o); err != nil {
		t.Fatal(err)
	}
	if err := missingZips(o); err != nil {
		t.Error(err)
	}
}
