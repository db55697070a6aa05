package iam_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }

func tagsOf(tags []types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[*t.Key] = *t.Value
	}
	return out
}

func TestProfileLivesFromCreationToDeletion(t *testing.T) {
	client, m := start(t, nil)
	ctx := t.Context()
	m.AddRole(ec2.Role{Name: "nodes", Path: "/team/"})
	name, path := aws.String("web_1"), "/karpenter/us-west-2/web/uid-1/"
	made, err := client.CreateInstanceProfile(ctx, &sdk.CreateInstanceProfileInput{InstanceProfileName: name, Path: &path, Tags: []types.Tag{tag("a", "1"), tag("b", "2")}})
	if err != nil {
		t.Fatal(err)
	}
	if p := made.InstanceProfile; *p.Path != path || *p.Arn != "arn:aws:iam::"+m.Account()+":instance-profile"+path+"web_1" || tagsOf(p.Tags)["b"] != "2" || len(p.Roles) != 0 {
		t.Errorf("made %+v", p)
	}
	_, err = client.AddRoleToInstanceProfile(ctx, &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("team/nodes")})
	wantCode(t, "a role with its path", err, "ValidationError")
	if _, err = client.AddRoleToInstanceProfile(ctx, &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	if _, err = client.TagInstanceProfile(ctx, &sdk.TagInstanceProfileInput{InstanceProfileName: name, Tags: []types.Tag{tag("b", "3"), tag("c", "4")}}); err != nil {
		t.Fatal(err)
	}
	if _, err = client.UntagInstanceProfile(ctx, &sdk.UntagInstanceProfileInput{InstanceProfileName: name, TagKeys: []string{"a", "absent"}}); err != nil {
		t.Fatal(err)
	}
	got, err := client.GetInstanceProfile(ctx, &sdk.GetInstanceProfileInput{InstanceProfileName: name})
	if err != nil {
		t.Fatal(err)
	}
	p := got.InstanceProfile
	if tags := tagsOf(p.Tags); len(tags) != 2 || tags["b"] != "3" || tags["c"] != "4" || *p.Roles[0].RoleName != "nodes" || *p.Roles[0].Path != "/team/" ||
		*p.InstanceProfileId != *made.InstanceProfile.InstanceProfileId || !p.CreateDate.Equal(*made.InstanceProfile.CreateDate) {
		t.Errorf("profile %+v with tags %v", p, tags)
	}
	listed, err := client.ListInstanceProfileTags(ctx, &sdk.ListInstanceProfileTagsInput{InstanceProfileName: name})
	if err != nil || len(listed.Tags) != 2 {
		t.Errorf("tags %+v %v", listed, err)
	}
	_, err = client.DeleteInstanceProfile(ctx, &sdk.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, "deleting one that holds a role", err, "DeleteConflict")
	_, err = client.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: aws.String("nodes")})
	wantCode(t, "deleting a role that is held", err, "DeleteConflict")
	_, err = client.RemoveRoleFromInstanceProfile(ctx, &sdk.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("other")})
	wantCode(t, "removing a role it has not", err, "NoSuchEntity")
	if _, err = client.RemoveRoleFromInstanceProfile(ctx, &sdk.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	if _, err = client.DeleteInstanceProfile(ctx, &sdk.DeleteInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	_, err = client.DeleteInstanceProfile(ctx, &sdk.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, "deleting it twice", err, "NoSuchEntity")
	again, err := client.CreateInstanceProfile(ctx, &sdk.CreateInstanceProfileInput{InstanceProfileName: name})
	if err != nil || *again.InstanceProfile.InstanceProfileId == *p.InstanceProfileId {
		t.Errorf("made again it is %+v, %v; want another id", again, err)
	}
}

func TestProfilesAreListedByPathAndWithoutTags(t *testing.T) {
	client, m := start(t, map[string]string{"plain": "r"})
	for name, path := range map[string]string{"a": "/karpenter/us-west-2/web/1/", "b": "/karpenter/us-west-2/web/2/", "c": "/karpenter/us-west-2/webshop/1/"} {
		m.PutInstanceProfile(ec2.Profile{Name: name, Path: path, Tags: map[string]string{"k": "v"}})
	}
	for prefix, want := range map[string][]string{
		"/karpenter/us-west-2/web/": {"a", "b"}, "/karpenter/us-west-2/web/2/": {"b"}, "/karpenter/": {"a", "b", "c"}, "/": {"a", "b", "c", "plain"}, "/nowhere/": nil,
	} {
		out, err := client.ListInstanceProfiles(t.Context(), &sdk.ListInstanceProfilesInput{PathPrefix: &prefix})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range out.InstanceProfiles {
			got = append(got, *p.InstanceProfileName)
			if len(p.Tags) > 0 {
				t.Errorf("%s is listed with tags %v", *p.InstanceProfileName, p.Tags)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %s: %v, want %v", prefix, got, want)
		}
	}
	_, err := client.ListInstanceProfiles(t.Context(), &sdk.ListInstanceProfilesInput{PathPrefix: aws.String("karpenter")})
	wantCode(t, "a prefix without its slash", err, "ValidationError")
}

func TestPathsNamesAndTagsAreChecked(t *testing.T) {
	client, _ := start(t, map[string]string{"Taken": "r"})
	for what, in := range map[string]*sdk.CreateInstanceProfileInput{
		"path without its last slash": {InstanceProfileName: aws.String("p"), Path: aws.String("/karpenter")},
		"a slash in the name":         {InstanceProfileName: aws.String("a/b")},
	} {
		_, err := client.CreateInstanceProfile(t.Context(), in)
		wantCode(t, what, err, "ValidationError")
	}
	_, err := client.CreateInstanceProfile(t.Context(), &sdk.CreateInstanceProfileInput{InstanceProfileName: aws.String("taken")})
	wantCode(t, "a name that differs in case", err, "EntityAlreadyExists")
	_, err = client.CreateInstanceProfile(t.Context(), &sdk.CreateInstanceProfileInput{InstanceProfileName: aws.String("p"), Tags: []types.Tag{tag("aws:own", "x")}})
	wantCode(t, "a tag of AWS", err, "InvalidInput")
}

func TestDenialsAreAccessDenied(t *testing.T) {
	client, m := start(t, map[string]string{"holds": "nodes", "empty": ""})
	allow := m.Deny(ec2.Denial{Action: "iam:CreateInstanceProfile", Because: ec2.ServiceControlDeny})
	create := &sdk.CreateInstanceProfileInput{InstanceProfileName: aws.String("p")}
	_, err := client.CreateInstanceProfile(t.Context(), create)
	wantCode(t, "creation", err, "AccessDenied")
	allow()
	if _, err = client.CreateInstanceProfile(t.Context(), create); err != nil {
		t.Error(err)
	}
	m.Deny(ec2.Denial{Action: "iam:PassRole"})
	_, err = client.AddRoleToInstanceProfile(t.Context(), &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("empty"), RoleName: aws.String("nodes")})
	wantCode(t, "a role that may not be passed", err, "AccessDenied")
}
