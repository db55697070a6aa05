package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// given is a context of tests: JSON values by key.
type given map[string]any

func (g given) TryGetContext(key *string) interface{} { return g[*key] }

func (g given) GetAllContext(*map[string]interface{}) interface{} { return map[string]any(g) }

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
	if !o.Webhook || o.Reserve || o.Protect || !o.DryRun || o.LogRetentionDays != 30 || o.Zips != "../../dist/amd64" || o.MaxClusters != 10 || len(o.VPCSubnets) != 2 || o.Settings["JOINER_SPOT_TO_SPOT"] != "true" {
		t.Errorf("options %+v", o)
	}
}

// What makes no sense is refused with key, value and remedy, all of it at once.
func TestOptionsRefused(t *testing.T) {
	for text, wants := range map[string]string{
		`{"architecture": "mips"}`:                           `context architecture "mips": functions run on arm64 or x86_64`,
		`{"logRetentionDays": "15"}`:                         "context logRetentionDays 15",
		`{"logRetentionDays": "many"}`:                       `context logRetentionDays "many": give a whole number`,
		`{"subnetIds": "subnet-1"}`:                          "functions in a VPC need both",
		`{"isolatedVpc": true}`:                              "give subnetIds and securityGroupIds too",
		`{"webhook": "yes"}`:                                 `context webhook "yes": give true or false`,
		`{"cluster": "not a name"}`:                          `name "not a name"`,
		`{"clusters": "a,a"}`:                                `name "a": it is named twice`,
		`{"clusters": [{"name": "a", "colour": "red"}]}`:     `unknown field "colour"`,
		`{"clusters": 7}`:                                    "context clusters 7: give names",
		`{"cluster": "a", "clusterAccount": "12"}`:           `account "12": give the 12 digits`,
		`{"cluster": "a", "clusterAccount": "222222222222"}`: "by context hubAccount",
		`{"cluster": "a", "externalId": "11111111-2222-3333-4444-555555555555"}`:                                                                          "it is for a cluster in another account",
		`{"cluster": "a", "hubAccount": "111111111111", "clusterAccount": "222222222222", "externalId": "guess"}`:                                         "give the output ExternalID of the cluster's stack in account 222222222222",
		`{"clusters": "a,b", "hubAccount": "111111111111", "clusterAccount": "222222222222", "externalId": "11111111-2222-3333-4444-555555555555"}`:       "cluster a has the same",
		`{"cluster": "a", "nodeRole": "arn:aws:iam::1:role/x"}`:                                                                                           "give the name of a role, without path and ARN",
		`{"cluster": "a", "nodeRoleName": "a/b"}`:                                                                                                         `cluster a, nodeRoleName "a/b": give a name as roles have`,
		`{"cluster": "a", "nodeRoleName": "x", "nodeRole": "y"}`:                                                                                          "give one of them",
		`{"cluster": "a", "windows": true, "nodeRole": "y"}`:                                                                                              "ipv6 and windows are for roles that the stack creates",
		`{"cluster": "a", "vpcId": "shop"}`:                                                                                                               `cluster a, vpcId "shop": give the id of a VPC`,
		`{"cluster": "a", "irsaProvider": "arn:aws:iam::111111111111:oidc-provider/x"}`:                                                                   "give what follows https:// in the cluster's identity.oidc.issuer",
		`{"clusters": [{"name": "a", "account": "222222222222", "irsaProvider": "oidc.eks.us-west-2.amazonaws.com/id/A"}], "hubAccount": "111111111111"}`: "leave irsaProvider or clusterAccount out",
		`{"batches": 1}`:      "context batches 1: Lambda takes 2 to 1000",
		`{"reserve": "some"}`: `context reserve "some": give true or false`,
		`{"cluster": "a", "ssmParameters": "/images/*"}`:              "has no wildcard",
		`{"kmsKeyArn": "alias/x"}`:                                    `context kmsKeyArn "alias/x": give an ARN of a key`,
		`{"kmsKeyArn": "arn:aws:kms:us-west-2:111111111111:alias/x"}`: "not of an alias",
		`{"kmsKeyArn": "arn:aws:s3:::joiner"}`:                        `context kmsKeyArn "arn:aws:s3:::joiner": give an ARN of a key`,
		`{"permissionsBoundary": "arn:aws:iam::111111111111:role/x"}`: "give an ARN of a policy",
		`{"alarmTopicArn": "arn:aws:sqs:us-west-2:111111111111:x"}`:   "give an ARN of a topic",
		`{"adopters": "alice"}`:                                       `context adopters "alice": give ARNs`,
		`{"subnetIds": "vpc-1", "securityGroupIds": "sg-1"}`:          `context subnetIds "vpc-1"`,
		`{"subnetIds": "subnet-1", "securityGroupIds": "default"}`:    `context securityGroupIds "default"`,
		`{"cluster": ""}`:     `context cluster "": give the name`,
		`{"Cluster": "shop"}`: "context Cluster: there is no such key; there are adopters, ",
		`{"kmsKeyARN": "arn:aws:kms:us-west-2:111111111111:key/1"}`:        "context kmsKeyARN: there is no such key",
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

// CDK tells all keys of the context, its own among them: those people misspelt are found in a real app, too.
func TestMisspeltKeysOfAnApp(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Context: &map[string]interface{}{"cluster": "shop", "clustres": "a", "@aws-cdk/core:validateAgainstDefaultRules": true}})
	_, err := readOptions(contextOf(app))
	if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), "context clustres: there is no such key") {
		t.Errorf("error %v", err)
	}
}

// What CDK keeps in the context for itself is nobody's mistake.
func TestKeysOfCDKAreLeftAlone(t *testing.T) {
	text := `{"@aws-cdk/core:validateAgainstDefaultRules": true, "acknowledged-issue-numbers": [1], "cli-telemetry": false, "aws:cdk:bundling-stacks": ["**"], "vpc-provider:account=1": {}}`
	if _, err := readOptions(contextFrom(t, text)); err != nil {
		t.Error(err)
	}
}

// The installation says the version its zips were built as, unless people say another.
func TestVersionIsThatOfTheZips(t *testing.T) {
	folder := t.TempDir()
	read := func(more string) string {
		t.Helper()
		o, err := readOptions(contextFrom(t, fmt.Sprintf(`{"zips": %q%s}`, folder, more)))
		if err != nil {
			t.Fatal(err)
		}
		return o.Version
	}
	if got := read(""); got != "dev" {
		t.Errorf("without a file VERSION: %q", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "VERSION"), []byte("v1.2.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(""); got != "v1.2.3" {
		t.Errorf("with one: %q", got)
	}
	if got := read(`, "version": "mine"`); got != "mine" {
		t.Errorf("where people say so: %q", got)
	}
}

// Names of roles fit into 64 characters whatever the cluster's, the region's and the function's, and stay apart.
func TestNamesFit(t *testing.T) {
	long, other := strings.Repeat("c", 100), strings.Repeat("c", 99)+"d"
	for _, cluster := range []string{"a", strings.Repeat("b", 29), long, other} {
		for _, program := range []string{"provision", "interruption", "catalog", "disrupt", "watcher", "adopt", "forward", "watcher-hub", "node", "windows"} {
			if name := "joiner-" + short(cluster) + "-ap-southeast-1-" + program; len(name) > 64 {
				t.Errorf("role %s has %d characters", name, len(name))
			}
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
