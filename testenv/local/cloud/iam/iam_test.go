package iam_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
)

// start returns the SDK's client of a model with the given profiles, by name with the role each holds.
func start(t *testing.T, profiles map[string]string) (*sdk.Client, *ec2.Model) {
	t.Helper()
	m := ec2.New(ec2.Options{Clock: clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))})
	for name, role := range profiles {
		m.AddInstanceProfile(name, role)
	}
	server := httptest.NewServer(iam.NewHandler(m))
	t.Cleanup(server.Close)
	return sdk.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		RetryMaxAttempts: 1,
	}), m
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestProfilesOfARoleAreListedByNameInPages(t *testing.T) {
	profiles := map[string]string{"other": "someone", "empty": ""}
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("nodes-%d", i)
		profiles[name] = "node-role"
		want = append(want, name)
	}
	client, _ := start(t, profiles)
	pages := sdk.NewListInstanceProfilesForRolePaginator(client, &sdk.ListInstanceProfilesForRoleInput{
		RoleName: aws.String("node-role"), MaxItems: aws.Int32(2),
	})
	var got []string
	calls := 0
	for ; pages.HasMorePages(); calls++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.InstanceProfiles {
			got = append(got, aws.ToString(p.InstanceProfileName))
			if len(p.Roles) != 1 || aws.ToString(p.Roles[0].RoleName) != "node-role" {
				t.Errorf("roles of %s: %+v", aws.ToString(p.InstanceProfileName), p.Roles)
			}
		}
	}
	if !reflect.DeepEqual(got, want) || calls != 3 {
		t.Errorf("got %v in %d pages, want %v in 3", got, calls, want)
	}
	all, err := client.ListInstanceProfiles(t.Context(), &sdk.ListInstanceProfilesInput{})
	if err != nil || len(all.InstanceProfiles) != len(profiles) {
		t.Errorf("%d of %d profiles are listed, %v", len(all.InstanceProfiles), len(profiles), err)
	}
}

func TestUnknownNamesAreNoSuchEntity(t *testing.T) {
	client, _ := start(t, map[string]string{"nodes": "node-role"})
	_, err := client.ListInstanceProfilesForRole(t.Context(), &sdk.ListInstanceProfilesForRoleInput{RoleName: aws.String("gone")})
	wantCode(t, "profiles of a role", err, "NoSuchEntity")
	_, err = client.GetInstanceProfile(t.Context(), &sdk.GetInstanceProfileInput{InstanceProfileName: aws.String("gone")})
	wantCode(t, "profile", err, "NoSuchEntity")
	_, err = client.GetRole(t.Context(), &sdk.GetRoleInput{RoleName: aws.String("gone")})
	wantCode(t, "role", err, "NoSuchEntity")
	_, err = client.AddRoleToInstanceProfile(t.Context(), &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("nodes"), RoleName: aws.String("gone")})
	wantCode(t, "role to add", err, "NoSuchEntity")
}

func TestProfileMadeThroughIAMIsOneEC2LaunchesWith(t *testing.T) {
	client, m := start(t, nil)
	ctx := t.Context()
	if _, err := client.CreateRole(ctx, &sdk.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
	created, err := client.CreateInstanceProfile(ctx, &sdk.CreateInstanceProfileInput{InstanceProfileName: aws.String("p")})
	if err != nil || len(created.InstanceProfile.Roles) != 0 {
		t.Fatalf("%+v %v", created, err)
	}
	add := &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("p"), RoleName: aws.String("r")}
	if _, err := client.AddRoleToInstanceProfile(ctx, add); err != nil {
		t.Fatal(err)
	}
	_, err = client.AddRoleToInstanceProfile(ctx, add)
	wantCode(t, "a second role", err, "LimitExceeded")
	got, err := client.GetInstanceProfile(ctx, &sdk.GetInstanceProfileInput{InstanceProfileName: aws.String("p")})
	if err != nil || len(got.InstanceProfile.Roles) != 1 || !got.InstanceProfile.CreateDate.Equal(*created.InstanceProfile.CreateDate) {
		t.Fatalf("%+v %v", got, err)
	}
	if known := m.InstanceProfiles(); len(known) != 1 || known[0].Role != "r" || known[0].ARN != aws.ToString(got.InstanceProfile.Arn) {
		t.Errorf("EC2 knows %+v", known)
	}
	_, err = client.CreateInstanceProfile(ctx, &sdk.CreateInstanceProfileInput{InstanceProfileName: aws.String("p")})
	wantCode(t, "the same profile", err, "EntityAlreadyExists")
	_, err = client.CreateRole(ctx, &sdk.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String("{}")})
	wantCode(t, "the same role", err, "EntityAlreadyExists")
	_, err = client.CreateRole(ctx, &sdk.CreateRoleInput{RoleName: aws.String("no/slash"), AssumeRolePolicyDocument: aws.String("{}")})
	wantCode(t, "a name IAM does not take", err, "ValidationError")
}

func TestTheRoleForSpotIsMadeOnce(t *testing.T) {
	c, _ := start(t, nil)
	in := &sdk.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")}
	made, err := c.CreateServiceLinkedRole(t.Context(), in)
	if err != nil || aws.ToString(made.Role.Arn) != "arn:aws:iam::123456789012:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot" {
		t.Errorf("%+v %v", made, err)
	}
	if _, err := c.CreateServiceLinkedRole(t.Context(), in); err == nil || !strings.Contains(err.Error(), "has been taken in this account") {
		t.Errorf("twice: %v", err)
	}
}
