package ec2_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// dryRuns are the three dry runs by which a node class is evaluated, by action.
func (b bench) dryRuns(t *testing.T) map[string]func() error {
	dry := aws.Bool(true)
	return map[string]func() error{
		"CreateFleet": func() error {
			in := fleetOf(1, od, b.over("m5.large", "a"))
			in.DryRun = dry
			_, err := b.sdk.CreateFleet(t.Context(), in)
			return err
		},
		"RunInstances": func() error {
			_, err := b.sdk.RunInstances(t.Context(), &sdk.RunInstancesInput{DryRun: dry, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large",
				SubnetId: aws.String(b.subnetIn("a")), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest")}})
			return err
		},
		"CreateLaunchTemplate": func() error {
			_, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{DryRun: dry, LaunchTemplateName: aws.String("fresh"),
				LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: aws.String(imageFor(catalog.X86_64))}})
			return err
		},
	}
}

func TestDryRunSaysWhetherTheCallerMay(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	for action, run := range b.dryRuns(t) {
		wantCode(t, action, run(), "DryRunOperation")
		for because, want := range map[string]string{
			"": "because no identity-based policy allows the ec2:" + action + " action", ec2.ExplicitDeny: ec2.ExplicitDeny,
			ec2.NoBoundaryAllows: "permissions boundary", ec2.ServiceControlDeny: "service control policy",
		} {
			allow := b.Deny(ec2.Denial{Action: action, Because: because, Resource: "arn:aws:ec2:us-west-2::image/ami-1"})
			err := run()
			wantCode(t, action+" denied", err, "UnauthorizedOperation")
			var api smithy.APIError
			if errors.As(err, &api); !strings.Contains(api.ErrorMessage(), want) || !strings.Contains(api.ErrorMessage(), "is not authorized to perform: ec2:"+action+" on resource: arn:aws:ec2:us-west-2::image/ami-1") {
				t.Errorf("%s: %v, want %q in it", action, err, want)
			}
			allow()
			wantCode(t, action+" allowed again", run(), "DryRunOperation")
		}
	}
	if n := len(b.Launches()); n != 0 {
		t.Errorf("dry runs launched %d instances", n)
	}
	out, err := b.sdk.DescribeLaunchTemplates(t.Context(), &sdk.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) != 1 {
		t.Errorf("templates after the dry runs: %+v, %v", out, err)
	}
}

func TestDryRunFindsWhatIsWrongWithTheRequest(t *testing.T) {
	b := newBench(t)
	b.AddInstanceProfile("other", "role")
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("gone")}
	})
	runs := b.dryRuns(t)
	wantCode(t, "an unknown profile", runs["RunInstances"](), "InvalidParameterValue")
	_, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{DryRun: aws.Bool(true), LaunchTemplateName: aws.String("nodes"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.large"}})
	wantCode(t, "a name taken", err, "InvalidLaunchTemplateName.AlreadyExistsException")
	_, err = b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{DryRun: aws.Bool(true), LaunchTemplateName: aws.String("big"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{UserData: aws.String(strings.Repeat("AAAA", 5462))}})
	wantCode(t, "user data of 16,386 bytes", err, "InvalidUserData.Malformed")
	in := fleetOf(1, od, b.over("m5.large", "a"))
	in.DryRun, in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.Bool(true), aws.String("absent")
	_, err = b.sdk.CreateFleet(t.Context(), in)
	wantCode(t, "an absent template", err, "InvalidLaunchTemplateName.NotFoundException")
}

func TestDeniedRunInstancesIsAnErrorOfEachOverride(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.Deny(ec2.Denial{Action: "RunInstances"})
	out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a"), b.over("c5.large", "b")))
	if len(launchedIDs(out)) != 0 || len(out.Errors) != 2 || *out.Errors[0].ErrorCode != "UnauthorizedOperation" {
		t.Errorf("launched %v, errors %+v", got(out), out.Errors)
	}
}

func TestDenialOfARoleRefusesItsSessionsOnly(t *testing.T) {
	m := ec2.New(ec2.Options{Clock: clock.NewFake(start)})
	m.Deny(ec2.Denial{Action: "DescribeSubnets", Role: "readers"})
	handler := ec2.NewHandler(m)
	ask := func(caller string) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("Action=DescribeSubnets&DryRun=true"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), wire.Identity{ARN: caller})))
		return w.Code
	}
	for caller, want := range map[string]int{
		"arn:aws:sts::123456789012:assumed-role/readers/one":   http.StatusForbidden,
		"arn:aws:sts::123456789012:assumed-role/readers-b/one": http.StatusPreconditionFailed,
		"arn:aws:iam::123456789012:root":                       http.StatusPreconditionFailed,
	} {
		if got := ask(caller); got != want {
			t.Errorf("%s: status %d, want %d", caller, got, want)
		}
	}
}
