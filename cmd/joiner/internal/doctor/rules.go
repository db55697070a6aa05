package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// TickRule is the rule of EventBridge by which the region's stack has each function invoked each minute.
const TickRule = "joiner-tick"

// NoticeRules are the rules by which EventBridge tells the queue of notices what AWS says of instances, with what is
// lost without each.
var NoticeRules = map[string]string{
	"joiner-spot":        "spot interruptions are known only at the next poll of EC2",
	"joiner-rebalance":   "spot instances with an elevated risk of interruption are not replaced before",
	"joiner-reservation": "instances of interruptible capacity reservations are terminated without a warning",
	"joiner-state":       "terminated instances are known only at the next poll of EC2",
	"joiner-health":      "nodes are not drained before AWS's scheduled maintenance",
	"joiner-shift":       "zonal shifts are known only when ARC is asked next",
}

// tickRule looks whether the functions are called each minute.
func (r *region) tickRule(ctx context.Context) ([]check.Finding, error) {
	called, found, err := r.rule(ctx, TickRule, "lost messages and clusters without a watcher are not handled")
	if err != nil || found != nil {
		return found, err
	}
	for _, function := range slices.Sorted(maps.Keys(r.at.Functions)) {
		if arn := r.at.Functions[function]; function != "webhook" && !called[arn] { // which nobody calls by the clock
			found = append(found, check.Finding{Level: check.Fail, Object: function, Seen: "the rule " + TickRule +
				" does not invoke it", Do: "deploy the region's stack again"})
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK, "each function is invoked each minute", "")
	}
	return found, nil
}

// notices looks whether what AWS says of instances comes to the queue at url.
func (r *region) notices(ctx context.Context, url string) ([]check.Finding, error) {
	queue := ":" + url[strings.LastIndexByte(url, '/')+1:] // the end of its ARN
	var all []check.Finding
	for _, name := range slices.Sorted(maps.Keys(NoticeRules)) {
		targets, found, err := r.rule(ctx, name, NoticeRules[name])
		if err != nil {
			return all, err
		}
		if found == nil && !slices.ContainsFunc(slices.Sorted(maps.Keys(targets)),
			func(arn string) bool { return strings.HasSuffix(arn, queue) }) {
			found = check.One(check.Fail, "the rule does not send to the queue joiner-notices: "+NoticeRules[name],
				"deploy the region's stack again")
		}
		for i := range found {
			found[i].Object = "rule " + name
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		all = check.One(check.OK, fmt.Sprintf("%d rules forward events about instances", len(NoticeRules)), "")
	}
	return all, nil
}

// rule looks at a rule of EventBridge: the ARNs of its targets, and what is wrong with it itself, with what is lost
// without it.
func (r *region) rule(
	ctx context.Context, name, without string,
) (targets map[string]bool, found []check.Finding, err error) {
	client := eventbridge.NewFromConfig(r.at.Config)
	rule, err := client.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
	var none *eventtypes.ResourceNotFoundException
	if errors.As(err, &none) {
		return nil, check.One(check.Fail, "there is no such rule: "+without, "deploy the region's stack again"), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if rule.State != eventtypes.RuleStateEnabled {
		return nil, check.One(check.Fail, fmt.Sprintf("the rule is %s: %s", rule.State, without),
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
