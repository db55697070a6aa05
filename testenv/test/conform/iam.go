package conform

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// IAM is the contract of instance profiles: made, tagged, given a role, listed by path, emptied and deleted.
func IAM(t *testing.T, target Target) {
	c := iam.NewFromConfig(target.Config)
	newProfile := func(t T, path string) string {
		t.Helper()
		name := Unique("profile")
		if _, err := c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: &path,
			Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}); err != nil {
			t.Fatalf("create: %v", err)
		}
		return name
	}
	newRole := func(t T) string {
		t.Helper()
		name := Unique("role")
		if _, err := c.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)}); err != nil {
			t.Fatalf("create role: %v", err)
		}
		return name
	}
	target.Run(t, "iam", []Case{
		{"a profile has its path in its ARN and keeps its tags", func(t T) {
			path := "/" + Unique("path") + "/"
			name := newProfile(t, path)
			if _, err := c.TagInstanceProfile(t.Context(), &iam.TagInstanceProfileInput{InstanceProfileName: &name, Tags: []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}}}); err != nil {
				t.Fatalf("tag: %v", err)
			}
			out, err := c.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: &name})
			if err != nil || *out.InstanceProfile.Path != path || len(out.InstanceProfile.Tags) != 2 || *out.InstanceProfile.Arn != "arn:aws:iam::123456789012:instance-profile"+path+name {
				t.Errorf("profile %+v, %v", out, err)
			}
		}},
		{"profiles are listed below their path", func(t T) {
			path := "/" + Unique("path") + "/"
			name := newProfile(t, path+"inner/")
			newProfile(t, "/"+Unique("path")+"/")
			out, err := c.ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{PathPrefix: &path})
			if err != nil || len(out.InstanceProfiles) != 1 || *out.InstanceProfiles[0].InstanceProfileName != name {
				t.Errorf("below %s: %+v, %v", path, out, err)
			}
		}},
		{"a profile holds one role and is deleted once it holds none", func(t T) {
			name, role := newProfile(t, "/"), newRole(t)
			add := &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role}
			if _, err := c.AddRoleToInstanceProfile(t.Context(), add); err != nil {
				t.Fatalf("add: %v", err)
			}
			_, err := c.AddRoleToInstanceProfile(t.Context(), add)
			wantCode(t, err, "LimitExceeded")
			_, err = c.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
			wantCode(t, err, "DeleteConflict")
			if _, err := c.RemoveRoleFromInstanceProfile(t.Context(), &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: &role}); err != nil {
				t.Fatalf("remove: %v", err)
			}
			if _, err := c.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: &name}); err != nil {
				t.Fatalf("delete: %v", err)
			}
			_, err = c.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: &name})
			wantCode(t, err, "NoSuchEntity")
		}},
		{"a name is taken once", func(t T) {
			name := newProfile(t, "/")
			_, err := c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
			wantCode(t, err, "EntityAlreadyExists")
		}},
		{"a role that is not there cannot be added", func(t T) {
			name := newProfile(t, "/")
			_, err := c.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String(Unique("absent"))})
			wantCode(t, err, "NoSuchEntity")
		}},
	})
}
