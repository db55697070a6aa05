package ec2catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// profile returns the class's instance profile: the one it names, else the first by name that holds its role.
func (c *Classes) profile(ctx context.Context, class model.Class) (string, *model.ClassProblem, error) {
	if class.InstanceProfile != "" {
		return class.InstanceProfile, nil, nil
	}
	problem := func(reason, format string, args ...any) (string, *model.ClassProblem, error) {
		return "", &model.ClassProblem{Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	role := class.Role[strings.LastIndexByte(class.Role, '/')+1:]
	if role == "" {
		return problem("InstanceProfileNotFound", "neither spec.role nor spec.instanceProfile is set; set one of them")
	}
	if c.settings.Isolated {
		return problem("InstanceProfileNotFound",
			"spec.role %q needs IAM, which an isolated network does not reach; set spec.instanceProfile instead",
			class.Role)
	}
	pages := iam.NewListInstanceProfilesForRolePaginator(c.clients.IAM,
		&iam.ListInstanceProfilesForRoleInput{RoleName: aws.String(role)})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			err = translate(err, "list instance profiles of role %s", role)
			if fault.Is(err, fault.NotFound) {
				return problem("RoleNotFound",
					"spec.role %q does not exist in this account; create it or correct the name", class.Role)
			}
			return "", nil, err
		}
		for _, profile := range page.InstanceProfiles {
			names = append(names, aws.ToString(profile.InstanceProfileName))
		}
	}
	if len(names) == 0 {
		return problem("InstanceProfileNotFound",
			"spec.role %q is in no instance profile; add it to one, or set spec.instanceProfile", class.Role)
	}
	sort.Strings(names)
	return names[0], nil, nil
}

// InstanceProfiles are those of IAM.
type InstanceProfiles struct{ *source }

// Profile returns an instance profile; NotFound where there is none of that name.
func (c InstanceProfiles) Profile(ctx context.Context, name string) (model.InstanceProfile, error) {
	out, err := c.clients.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		return model.InstanceProfile{}, translate(err, "read instance profile %s", name)
	}
	return profileOf(out.InstanceProfile), nil
}

// EnsureProfile makes an instance profile with its path and tags, and puts its role into it. What an earlier try left
// half made is finished. NotFound where the role does not exist, Conflict where the profile holds another.
func (c InstanceProfiles) EnsureProfile(ctx context.Context, profile model.InstanceProfile) error {
	var tags []types.Tag
	for _, key := range slices.Sorted(maps.Keys(profile.Tags)) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(profile.Tags[key])})
	}
	_, err := c.clients.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: &profile.Name, Path: &profile.Path, Tags: tags,
	})
	made := model.InstanceProfile{Name: profile.Name}
	if err != nil {
		if err = translate(err, "create instance profile %s",
			profile.Name); fault.CodeOf(err) != "EntityAlreadyExists" {
			return err
		}
		if made, err = c.Profile(ctx, profile.Name); err != nil {
			return err
		}
	}
	switch made.Role {
	case profile.Role:
		return nil
	case "":
	default:
		return fault.New(fault.Conflict, "", "instance profile %s holds role %s, not %s", profile.Name, made.Role,
			profile.Role)
	}
	_, err = c.clients.IAM.AddRoleToInstanceProfile(ctx,
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile.Name, RoleName: &profile.Role})
	return translate(err, "add role %s to instance profile %s", profile.Role, profile.Name)
}

// Profiles returns the instance profiles whose path begins with a prefix, by name.
func (c InstanceProfiles) Profiles(ctx context.Context, prefix string) ([]model.InstanceProfile, error) {
	pages := iam.NewListInstanceProfilesPaginator(c.clients.IAM, &iam.ListInstanceProfilesInput{PathPrefix: &prefix})
	var found []model.InstanceProfile
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "list instance profiles under %s", prefix)
		}
		for i := range page.InstanceProfiles {
			found = append(found, profileOf(&page.InstanceProfiles[i]))
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Name < found[j].Name })
	return found, nil
}

// DeleteProfile takes the role out of an instance profile and deletes it. One that is not there is no error.
func (c InstanceProfiles) DeleteProfile(ctx context.Context, profile model.InstanceProfile) error {
	if profile.Role != "" {
		_, err := c.clients.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: &profile.Name, RoleName: &profile.Role,
		})
		if err = translate(err, "remove role %s from instance profile %s", profile.Role,
			profile.Name); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	_, err := c.clients.IAM.DeleteInstanceProfile(ctx,
		&iam.DeleteInstanceProfileInput{InstanceProfileName: &profile.Name})
	if err = translate(err, "delete instance profile %s", profile.Name); fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func profileOf(profile *types.InstanceProfile) model.InstanceProfile {
	out := model.InstanceProfile{Name: aws.ToString(profile.InstanceProfileName), Path: aws.ToString(profile.Path)}
	if len(profile.Roles) > 0 {
		out.Role = aws.ToString(profile.Roles[0].RoleName)
	}
	if profile.CreateDate != nil {
		out.CreatedUnix = profile.CreateDate.Unix()
	}
	return out
}
