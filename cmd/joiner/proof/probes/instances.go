package probes

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var instanceRights = append(append([]string{}, launchRights...), ruleRights...)

// ran is the instance on demand that several probes look at.
type ran struct {
	id      string
	in      *ec2.RunInstancesInput // the request it came from
	seenBy  time.Duration          // until describing by tag showed it
	found   types.Instance         // as it was described then
	notices string                 // URL of the queue that hears of its states
}

// tags of the instance that its launch template has, and those that its request has.
const tagOfTemplate, tagOfRequest = "joiner.sh/proof-template", "joiner.sh/proof-request"

// hopsOfTemplate is a hop limit that no image and no account has by default.
const hopsOfTemplate = 7

// instance runs an instance on demand, of a launch template and a request that both have tags and metadata options.
func instance(ctx context.Context, e *proof.Env) (*ran, error) {
	return proof.Shared(ctx, e, "machine", func(ctx context.Context) (*ran, error) {
		m := &ran{}
		var err error
		if m.notices, err = listen(ctx, e, "states", `{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}`); err != nil {
			return nil, err
		}
		template, err := templateFor(ctx, e, "machine", func(data *types.RequestLaunchTemplateData) {
			data.MetadataOptions.HttpPutResponseHopLimit = aws.Int32(hopsOfTemplate)
			for i := range data.TagSpecifications {
				if data.TagSpecifications[i].ResourceType == types.ResourceTypeInstance {
					data.TagSpecifications[i].Tags = proof.EC2Tags(e, map[string]string{tagOfTemplate: "yes"})
				}
			}
		})
		if err != nil {
			return nil, err
		}
		if m.in, err = proof.RunInput(ctx, e, template); err != nil {
			return nil, err
		}
		m.in.ClientToken = aws.String(e.Token("machine"))
		m.in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired}
		m.in.TagSpecifications[0].Tags = proof.EC2Tags(e, map[string]string{tagOfRequest: "yes"})
		// A new rule takes EventBridge a while to heed.
		if err := e.Sleep(ctx, 10*time.Second); err != nil {
			return nil, err
		}
		if err := e.Spend("an instance on demand", proof.InstanceCost); err != nil {
			return nil, err
		}
		out, err := e.EC2.RunInstances(ctx, m.in)
		if err != nil {
			return nil, err
		}
		m.id = idsOf(out.Instances)[0]
		m.seenBy, m.found, err = shown(ctx, e, m.id, proof.Filter("tag:"+tagOfRequest, "yes"), proof.Filter("tag:"+proof.TagRun, e.Run))
		return m, err
	})
}

// shown waits until an instance is described by filters, and returns how long that took and what was described.
func shown(ctx context.Context, e *proof.Env, id string, filters ...types.Filter) (time.Duration, types.Instance, error) {
	var found types.Instance
	took, ok, err := e.Until(ctx, 3*time.Minute, time.Second, func() (bool, error) {
		out, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: filters})
		if err != nil {
			return false, err
		}
		for _, r := range out.Reservations {
			for _, i := range r.Instances {
				if aws.ToString(i.InstanceId) == id {
					found = i
				}
			}
		}
		return found.InstanceId != nil, nil
	})
	if err == nil && !ok {
		err = errorf("DescribeInstances did not show %s within three minutes", id)
	}
	return took, found, err
}

func instances() []proof.Probe {
	of := func(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		p := ofEC2(id, assumption, about, proof.KindInstances, instanceRights, want, run)
		p.Cost, p.Lasts = proof.InstanceCost, 20*time.Second
		return p
	}
	lag := of("ec2-describe-lag", "how far describing lags behind launching", "RunInstances, DescribeInstances by tag each second", nil, describeLag)
	lag.Readings = []proof.Reading{
		{Name: "seconds", Says: "some seconds", Want: proof.Seen{"within 5 s": "yes"}},
		{Name: "longer", Says: "ten seconds and more", Want: proof.Seen{"within 5 s": "no"}},
	}
	parameters := of("ec2-run-instances-parameters", "whether a parameter of RunInstances takes the place of the launch template's as a whole, or is joined to it member by member",
		"RunInstances with MetadataOptions, from a template whose MetadataOptions have a hop limit, too", nil, joinedParameters)
	parameters.Readings = []proof.Reading{
		{Name: "whole", Says: "the request's MetadataOptions take the place of all of the template's", Want: proof.Seen{"hops of the template": "no"}},
		{Name: "members", Says: "structures are joined member by member", Want: proof.Seen{"hops of the template": "yes"}},
	}
	tags := of("ec2-run-instances-tags-of-machine", "which tags an instance has whose template and request both have some: the same doubt as ec2-run-instances-tags, on an instance that runs",
		"RunInstances with tags, from a template with others", nil, joinedTags)
	tags.Readings = []proof.Reading{
		{Name: "overwrite", Says: "tag specifications of the request take the place of all of the launch template's", Want: proof.Seen{"of the request": "yes", "of the template": "no"}},
		{Name: "merge", Says: "both are joined", Want: proof.Seen{"of the request": "yes", "of the template": "yes"}},
	}
	stolen := of("ec2-tag-not-stolen", "who may tag only what it makes cannot give its tags to an instance that runs", "CreateTags on an instance by a session that needs ec2:CreateAction",
		proof.Seen{"tag": "UnauthorizedOperation"}, stolenTag)
	byTag := of("ec2-end-by-tag", "TerminateInstances is authorized by the tags of the instance", "dry runs of TerminateInstances by sessions that need a tag",
		proof.Seen{"its tag": let, "another's": denied}, endByTag)
	for _, p := range []*proof.Probe{&stolen, &byTag} {
		p.Rights = append(append([]string{}, roleRights...), instanceRights...)
	}
	ended := of("ec2-ended-stays-described", "an instance that was ended is described for a while, and may be ended again", "RunInstances, TerminateInstances twice, DescribeInstances", proof.Seen{"again": "ok", "described": "yes"}, endedInstance)
	ended.Rights = append([]string{"ec2:TerminateInstances"}, instanceRights...)
	return []proof.Probe{
		of("ec2-run-token-repeats", "the same token and parameters give the same instances, without further ones", "RunInstances twice with one token", proof.Seen{"second": "same instance"}, runTwice),
		of("ec2-run-token-mismatch", "other parameters with a token that was used are IdempotentParameterMismatch", "RunInstances with the token and another type", proof.Seen{"code": "IdempotentParameterMismatch"}, runMismatch),
		lag, parameters, tags, stolen, byTag,
		of("ec2-shows-how-launched", "an instance shows its launch: metadata options, subnet, group, image and client token", "DescribeInstances",
			proof.Seen{"tokens": "required", "subnet": "as asked", "group": "as asked", "token": "as asked"}, asLaunched),
		ended,
	}
}

func describeLag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	return proof.Seen{"within 5 s": yes(m.seenBy <= 5*time.Second), "seconds": count(int(m.seenBy.Seconds()))}, nil
}

func runTwice(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := e.Spend("a second instance, should it be launched", proof.InstanceCost); err != nil {
		return nil, err
	}
	out, err := e.EC2.RunInstances(ctx, m.in)
	if err != nil {
		return proof.Seen{"second": proof.Code(err)}, proof.Answered(err)
	}
	if ids := idsOf(out.Instances); len(ids) == 1 && ids[0] == m.id {
		return proof.Seen{"second": "same instance"}, nil
	}
	return proof.Seen{"second": "another instance"}, nil
}

func runMismatch(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := e.Spend("a second instance, should it be launched", 2*proof.InstanceCost); err != nil {
		return nil, err
	}
	in := *m.in
	in.InstanceType = types.InstanceTypeT4gMicro
	_, err = e.EC2.RunInstances(ctx, &in)
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func joinedParameters(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	o := m.found.MetadataOptions
	if o == nil {
		return nil, errorf("instance %s shows no metadata options", m.id)
	}
	hops := int(aws.ToInt32(o.HttpPutResponseHopLimit))
	return proof.Seen{"hops of the template": yes(hops == hopsOfTemplate), "hops": count(hops)}, nil
}

func tagOf(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return "no"
}

func joinedTags(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	return proof.Seen{"of the request": tagOf(m.found.Tags, tagOfRequest), "of the template": tagOf(m.found.Tags, tagOfTemplate)}, nil
}

func stolenTag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	c, err := proof.Session(ctx, e, unless(e, "ec2:CreateTags", "instance", "ec2:CreateAction")...)
	if err != nil {
		return nil, err
	}
	_, err = c.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{m.id}, Tags: []types.Tag{{Key: aws.String("joiner.sh/proof-stolen"), Value: aws.String("yes")}}})
	return proof.Seen{"tag": proof.Code(err)}, proof.Answered(err)
}

func endByTag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	values := map[string]string{"its tag": e.Run, "another's": "another"}
	for _, fact := range sorted(values) {
		c, err := proof.Session(ctx, e, proof.Everything, proof.Statement{
			Effect: "Deny", Action: []string{"ec2:TerminateInstances"}, Resource: []string{"*"},
			Condition: map[string]map[string]any{"StringNotEquals": {"aws:ResourceTag/" + proof.TagRun: values[fact]}},
		})
		if err != nil {
			return nil, err
		}
		_, err = c.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{m.id}, DryRun: aws.Bool(true)})
		said, err := keyAnswer(err)
		if err != nil {
			return nil, err
		}
		seen[fact] = map[string]string{sent: let, missing: denied}[said]
	}
	return seen, nil
}

func asLaunched(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	asked := map[bool]string{true: "as asked", false: "otherwise"}
	seen := proof.Seen{"subnet": asked[aws.ToString(m.found.SubnetId) == place.Subnet], "token": asked[aws.ToString(m.found.ClientToken) == aws.ToString(m.in.ClientToken)]}
	seen["group"] = asked[len(m.found.SecurityGroups) == 1 && aws.ToString(m.found.SecurityGroups[0].GroupId) == place.Group]
	if m.found.MetadataOptions != nil {
		seen["tokens"] = string(m.found.MetadataOptions.HttpTokens)
	}
	return seen, nil
}

func endedInstance(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	template, err := templateFor(ctx, e, "", nil)
	if err != nil {
		return nil, err
	}
	in, err := proof.RunInput(ctx, e, template)
	if err != nil {
		return nil, err
	}
	in.ClientToken = aws.String(e.Token("ended"))
	if err := e.Spend("an instance on demand", proof.InstanceCost); err != nil {
		return nil, err
	}
	out, err := e.EC2.RunInstances(ctx, in)
	if err != nil {
		return nil, err
	}
	id := idsOf(out.Instances)[0]
	if _, _, err := shown(ctx, e, id, proof.Filter("instance-id", id)); err != nil {
		return nil, err
	}
	if err := proof.End(ctx, e, id); err != nil {
		return nil, err
	}
	if _, _, err := e.Until(ctx, 3*time.Minute, 3*time.Second, func() (bool, error) {
		_, i, err := shown(ctx, e, id, proof.Filter("instance-id", id))
		return err == nil && i.State != nil && i.State.Name == types.InstanceStateNameTerminated, err
	}); err != nil {
		return nil, err
	}
	again := proof.End(ctx, e, id)
	described, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	return proof.Seen{"again": proof.Code(again), "described": yes(err == nil && len(described.Reservations) == 1)}, proof.Answered(again, err)
}
