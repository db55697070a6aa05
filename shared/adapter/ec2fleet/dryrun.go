package ec2fleet

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// DryRunFleet asks EC2 whether it would carry out a stored request, and nothing else. Nil where it would. It asks once,
// the caller asks again some other time; but of a launch template that was made a moment ago it asks until EC2 knows
// it.
func (f *Fleet) DryRunFleet(ctx context.Context, request []byte) error {
	stored, err := decodeRequest(request)
	if err != nil {
		return err
	}
	return f.dryRunResult(f.try(ctx, stored), stored, "CreateFleet")
}

// DryRun asks EC2 whether it would run one instance of a stored request's first launch template in a subnet, with the
// security groups and addresses of the launch the request was made from, and nothing else. Nil where it would. Tags and
// metadata options are said although the template has them: EC2 may evaluate a request by what it says itself (API
// reference, RunInstances: what is specified takes the place of the launch template's parameters).
func (f *Fleet) DryRun(ctx context.Context, launch model.Launch, request []byte, subnet string) error {
	stored, err := decodeRequest(request)
	if err != nil {
		return err
	}
	input := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		InstanceType: types.InstanceType(stored.instanceType(subnet)),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String(stored.Templates[0].Name),
			Version: aws.String("$Latest")},
		// A subnet beside a template that has interfaces is refused; it goes on an interface that takes their place.
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnet), Groups: securityGroups(launch.Class),
			AssociatePublicIpAddress: launch.Class.AssociatePublicIPAddress,
		}},
		MetadataOptions: runMetadata(metadataOptions(f.client.Options().Region, launch.Class.Metadata)),
	}
	for _, resource := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume,
		types.ResourceTypeNetworkInterface} {
		input.TagSpecifications = append(input.TagSpecifications,
			types.TagSpecification{ResourceType: resource, Tags: sdkTags(stored.Tags)})
	}
	_, err = f.client.RunInstances(ctx, input, once)
	return f.dryRunResult(err, stored, "RunInstances")
}

// runMetadata are the metadata options of a launch template as RunInstances takes them.
func runMetadata(o *types.LaunchTemplateInstanceMetadataOptionsRequest) *types.InstanceMetadataOptionsRequest {
	return &types.InstanceMetadataOptionsRequest{
		HttpEndpoint:            types.InstanceMetadataEndpointState(o.HttpEndpoint),
		HttpProtocolIpv6:        types.InstanceMetadataProtocolState(o.HttpProtocolIpv6),
		HttpPutResponseHopLimit: o.HttpPutResponseHopLimit, HttpTokens: types.HttpTokensState(o.HttpTokens),
		InstanceMetadataTags: types.InstanceMetadataTagsState(o.InstanceMetadataTags),
	}
}

// instanceType returns the type the request names for a subnet, else its first.
func (r *request) instanceType(subnet string) string {
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			if o.SubnetID == subnet {
				return o.InstanceType
			}
		}
	}
	return r.Templates[0].Overrides[0].InstanceType
}

// dryRunResult reads the answer to a dry run. The error's text is EC2's own without what changes from call to call, so
// that the same refusal reads the same. A launch template that somebody tidied away says nothing about the class: that
// is Internal, and the next request makes it again.
func (f *Fleet) dryRunResult(err error, stored *request, action string) error {
	switch {
	case templateGone(sdkerr.Code(err)):
		f.missing(stored)
		return fault.New(fault.Internal, sdkerr.Code(err),
			"%s: the launch template for the dry run does not exist any more", action)
	case err == nil: // EC2 always answers a dry run with an error
		return fault.New(fault.Internal, "", "the answer to a dry run of %s says that it was carried out", action)
	case sdkerr.Code(err) == "DryRunOperation":
		return nil
	case sdkerr.Code(err) == "":
		return translate(err, "dry run of %s", action)
	}
	text, _, _ := strings.Cut(sdkerr.Message(err), " Encoded authorization failure message")
	return fault.New(fault.KindOf(translate(err, "")), sdkerr.Code(err), "%s: %s", action, text)
}
