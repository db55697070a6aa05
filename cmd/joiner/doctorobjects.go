package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/model"
)

// tickRule is the rule of EventBridge by which the region's stack has each function invoked each minute.
const tickRule = "joiner-tick"

// noticeRules are the rules by which EventBridge tells the queue of notices what AWS says of instances, with what is lost without each.
var noticeRules = map[string]string{
	"joiner-spot":        "spot interruptions are known only at the next poll of EC2",
	"joiner-rebalance":   "spot instances with an elevated risk of interruption are not replaced before",
	"joiner-reservation": "instances of interruptible capacity reservations are terminated without a warning",
	"joiner-state":       "terminated instances are known only at the next poll of EC2",
	"joiner-health":      "nodes are not drained before AWS's scheduled maintenance",
}

// tickRule looks whether the functions are called each minute.
func (p *target) tickRule(ctx context.Context) ([]doctor.Finding, error) {
	called, found, err := p.rule(ctx, tickRule, "lost messages and clusters without a watcher are not handled")
	if err != nil || found != nil {
		return found, err
	}
	for _, function := range sortedKeys(p.at.Functions) {
		if arn := p.at.Functions[function]; function != "webhook" && !called[arn] { // which nobody calls by the clock
			found = append(found, doctor.Finding{Level: doctor.Fail, Object: function, Seen: "the rule " + tickRule + " does not invoke it", Do: "deploy the region's stack again"})
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, "each function is invoked each minute", "")
	}
	return found, nil
}

// notices looks whether what AWS says of instances comes to the queue at url.
func (p *target) notices(ctx context.Context, url string) ([]doctor.Finding, error) {
	queue := ":" + url[strings.LastIndexByte(url, '/')+1:] // the end of its ARN
	var all []doctor.Finding
	for _, name := range sortedKeys(noticeRules) {
		targets, found, err := p.rule(ctx, name, noticeRules[name])
		if err != nil {
			return all, err
		}
		if found == nil && !slices.ContainsFunc(sortedKeys(targets), func(arn string) bool { return strings.HasSuffix(arn, queue) }) {
			found = one(doctor.Fail, "the rule does not send to the queue joiner-notices: "+noticeRules[name], "deploy the region's stack again")
		}
		for i := range found {
			found[i].Object = "rule " + name
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		all = one(doctor.OK, fmt.Sprintf("%d rules forward events about instances", len(noticeRules)), "")
	}
	return all, nil
}

// rule looks at a rule of EventBridge: the ARNs of its targets, and what is wrong with it itself, with what is lost without it.
func (p *target) rule(ctx context.Context, name, without string) (targets map[string]bool, found []doctor.Finding, err error) {
	client := eventbridge.NewFromConfig(p.at.config)
	rule, err := client.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
	var none *eventtypes.ResourceNotFoundException
	if errors.As(err, &none) {
		return nil, one(doctor.Fail, "there is no such rule: "+without, "deploy the region's stack again"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if rule.State != eventtypes.RuleStateEnabled {
		return nil, one(doctor.Fail, fmt.Sprintf("the rule is %s: %s", rule.State, without),
			"aws events enable-rule --name "+name+", or deploy the region's stack again"), nil
	}
	targets = map[string]bool{}
	input := &eventbridge.ListTargetsByRuleInput{Rule: &name}
	for {
		page, err := client.ListTargetsByRule(ctx, input)
		if err != nil {
			return nil, nil, err
		}
		for i := range page.Targets {
			targets[aws.ToString(page.Targets[i].Arn)] = true
		}
		if input.NextToken = page.NextToken; input.NextToken == nil {
			return targets, nil, nil
		}
	}
}

// classes says what the catalog function found wrong with node classes: selectors that match nothing, roles, dry runs of launches.
func (p *target) classes(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	ledger, err := p.at.ledger.Load(ctx, reg)
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	for i := range ledger.Classes {
		record := &ledger.Classes[i]
		for _, problem := range record.Status.Problems {
			f := doctor.Finding{
				Level: doctor.Fail, Object: reg.Cluster + " EC2NodeClass " + record.Name, Seen: fmt.Sprintf("%s: %s", problem.Reason, problem.Message),
				Do: "kubectl describe ec2nodeclass " + record.Name + " has its conditions; correct the class, or tag what its selectors name",
			}
			if problem.Unknown {
				f.Level, f.Do = doctor.Warn, "it is unknown; read the log of joiner-catalog if it stays so"
			}
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, fmt.Sprintf("%d EC2NodeClasses are resolved, and each has subnets, security groups and images and passed validation", len(ledger.Classes)), "")
	}
	return found, nil
}

// objects compares what is in the cluster of the chart with what this command and the functions are of.
func (p *target) objects(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	reg.RelayURL = "" // people reach it themselves, or not at all
	sites := adoptClients{flags: p.reach, config: p.at.config}
	client, err := sites.cluster(sites.rights(reg), reg)
	if err != nil {
		return nil, err
	}
	shipped, err := shippedSchemas()
	if err != nil {
		return nil, err
	}
	have, err := client.Installed(ctx, sortedKeys(shipped), "joiner", watcherAccount)
	if err != nil {
		return nil, err
	}
	upgrade := "helm upgrade --install joiner infra/chart, from a checkout of the functions' version; joiner attach " + reg.Cluster + " prints the whole command"
	var found []doctor.Finding
	say := func(level doctor.Level, format string, args ...any) {
		found = append(found, doctor.Finding{Level: level, Seen: fmt.Sprintf(format, args...), Do: upgrade})
	}
	for _, name := range sortedKeys(shipped) {
		switch schemas, there := have.Schemas[name]; {
		case !there && name == buffers:
			// It may be left out.
		case !there:
			say(doctor.Fail, "the CustomResourceDefinition %s does not exist: no node is terminated for that, and nothing is launched; apply it, the NodePools and the EC2NodeClasses again, and NodeClaims are created again by themselves", name)
		case slices.Contains(have.Going, name):
			say(doctor.Fail, "the CustomResourceDefinition %s is being deleted, with all its objects: no node is terminated for that; once it is deleted apply it, the NodePools and the EC2NodeClasses again, and NodeClaims are created again by themselves", name)
		case name != buffers && !sameJSON(schemas, shipped[name]): // which another autoscaler may have brought
			say(doctor.Warn, "the CustomResourceDefinition %s is not that of this version: fields may be refused or dropped", name)
		}
	}
	switch {
	case have.Chart == "":
		say(doctor.Warn, "there is no Deployment joiner/%s: the chart is not installed, or in another namespace", watcherAccount)
	case p.at.Version != "" && p.at.Version != "dev" && have.Chart != p.at.Version:
		say(doctor.Warn, "the watcher is of version %s and the functions are of %s", have.Chart, p.at.Version)
	}
	if len(found) == 0 {
		found = one(doctor.OK, "its CustomResourceDefinitions are those of this version, and the watcher is of version "+have.Chart, "")
	}
	return found, nil
}

// buffers is the one definition that may be somebody else's, or missing.
const buffers = "capacitybuffers.autoscaling.x-k8s.io"

// sameJSON reports whether two values are written alike, whatever types their numbers have here.
func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	two, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(one, two)
}

// shippedSchemas are the schemas of this version's definitions, by name and version.
func shippedSchemas() (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, manifest := range crds.Manifests() {
		var definition struct {
			Metadata struct{ Name string }
			Spec     struct {
				Versions []struct {
					Name   string
					Schema any
				}
			}
		}
		if err := yaml.Unmarshal(manifest, &definition); err != nil {
			return nil, fmt.Errorf("read the CustomResourceDefinitions of this version: %w", err)
		}
		schemas := map[string]any{}
		for _, version := range definition.Spec.Versions {
			schemas[version.Name] = version.Schema
		}
		out[definition.Metadata.Name] = schemas
	}
	return out, nil
}
