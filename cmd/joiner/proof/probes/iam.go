package probes

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// roleRights are what the run's role takes.
var roleRights = []string{"iam:CreateRole", "iam:TagRole", "iam:PutRolePolicy", "sts:AssumeRole", "sqs:CreateQueue", "sqs:TagQueue"}

var profileRights = []string{"iam:CreateInstanceProfile", "iam:TagInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "iam:CreateRole", "iam:TagRole", "iam:PassRole"}

// ofIAM is a probe about IAM or STS with one reading.
func ofIAM(service, id, assumption, about string, rights []string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
	return proof.Probe{
		ID: id, Service: service, Assumption: assumption, About: about, Kind: proof.KindSmall, Lasts: 2 * time.Second,
		Rights: rights, Readings: one(assumption, want), Run: run,
	}
}

func identity() []proof.Probe {
	missing := ofIAM("sts", "sts-missing-role", "a role that does not exist is refused like one that trusts nobody", "AssumeRole of a role that is not there", []string{"sts:AssumeRole"},
		proof.Seen{"assume": "403 AccessDenied"}, missingRole)
	codes := ofIAM("iam", "iam-no-such-entity", "what does not exist is NoSuchEntity", "GetRole and GetInstanceProfile of nothing", []string{"iam:GetRole", "iam:GetInstanceProfile"},
		proof.Seen{"role": "404 NoSuchEntity", "profile": "404 NoSuchEntity"}, noSuchEntity)
	for _, p := range []*proof.Probe{&missing, &codes} {
		p.Kind = proof.KindDryRuns
	}
	lag := ofIAM("iam", "iam-policy-lag", "how soon a role and its policy act", "CreateRole, PutRolePolicy, AssumeRole and a call of the session's until that is let through", roleRights, nil, policyLag)
	lag.Readings = []proof.Reading{
		{Name: "at once", Says: "roles and policies act at once", Want: proof.Seen{"within 3 s": "yes"}},
		{Name: "later", Says: "they act some seconds after they were made", Want: proof.Seen{"within 3 s": "no"}},
	}
	lag.Lasts = 15 * time.Second
	profile := ofIAM("iam", "iam-profile-lag", "how soon EC2 knows an instance profile", "CreateInstanceProfile, AddRoleToInstanceProfile, dry runs of RunInstances with it until one is let through",
		append(append([]string{}, profileRights...), launchRights...), nil, profileLag)
	profile.Readings = []proof.Reading{
		{Name: "at once", Says: "an instance profile can be launched with at once", Want: proof.Seen{"within 3 s": "yes"}},
		{Name: "later", Says: "EC2 does not know it for some seconds", Want: proof.Seen{"within 3 s": "no"}},
	}
	return []proof.Probe{
		missing, codes, lag, profile,
		ofIAM("sts", "sts-session-bounds", "a session lasts from 15 minutes to the role's maximum", "AssumeRole for 899 s, and for two hours of a role with one", roleRights,
			proof.Seen{"899 s": "ValidationError", "7200 s": "ValidationError"}, sessionBounds),
		ofIAM("sts", "sts-chained-hour", "a session that a session took on lasts an hour at most", "AssumeRole for 3600 and 3601 s by a session of another role", roleRights,
			proof.Seen{"3600 s": "ok", "3601 s": "ValidationError"}, chained),
		ofIAM("sts", "sts-external-id", "a role that asks for an external id is refused without it", "AssumeRole without the external id, and with it", roleRights,
			proof.Seen{"without": "403 AccessDenied", "with": "ok"}, externalID),
		ofIAM("sts", "sts-identity-is-everyones", "GetCallerIdentity is everyone's, whatever policies say", "GetCallerIdentity by a session that is denied everything", roleRights,
			proof.Seen{"identity": "ok"}, identityOfAll),
		ofIAM("iam", "iam-profile-one-role", "an instance profile holds one role", "AddRoleToInstanceProfile twice", profileRights, proof.Seen{"second": "409 LimitExceeded"}, profileOneRole),
		ofIAM("iam", "iam-profile-delete-conflict", "a profile with a role cannot be deleted, nor a role that a profile holds", "DeleteInstanceProfile, DeleteRole",
			append([]string{"iam:DeleteInstanceProfile", "iam:DeleteRole"}, profileRights...), proof.Seen{"profile": "409 DeleteConflict", "role": "409 DeleteConflict"}, profileConflict),
		ofIAM("iam", "iam-names-differ-in-more-than-case", "names of IAM differ in more than case", "CreateInstanceProfile of one name in two cases", profileRights,
			proof.Seen{"same": "409 EntityAlreadyExists", "other case": "409 EntityAlreadyExists"}, nameCase),
		ofIAM("iam", "iam-path-slashes", "a path begins and ends with a slash", "CreateInstanceProfile with the path /a", profileRights, proof.Seen{"create": "ValidationError"}, pathSlashes),
		ofIAM("iam", "iam-lists-leave-tags-out", "a list is below a prefix of the path, comes in pages, and leaves tags out", "ListInstanceProfiles by one of two",
			profileRights, proof.Seen{"first page": "1", "goes on": "yes", "tags": "none"}, lists),
	}
}

// profileWith makes an instance profile of the run's and returns its name.
func profileWith(ctx context.Context, e *proof.Env, what, path string) (string, error) {
	name := e.Name(what)
	_, err := e.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: &path, Tags: proof.IAMTags(e)})
	return name, err
}

func addRole(ctx context.Context, e *proof.Env, profile, role string) error {
	_, err := e.IAM.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
	return err
}

// profileAndRole returns the names of the run's profile and of the role it holds.
func profileAndRole(ctx context.Context, e *proof.Env) ([2]string, error) {
	return proof.Shared(ctx, e, "profile", func(ctx context.Context) ([2]string, error) {
		name, err := profileWith(ctx, e, "profile", proof.Path)
		if err != nil {
			return [2]string{}, err
		}
		if _, err := proof.MakeRole(ctx, e, "held"); err != nil {
			return [2]string{}, err
		}
		return [2]string{name, e.Name("held")}, addRole(ctx, e, name, e.Name("held"))
	})
}

func missingRole(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.STS.AssumeRole(ctx, proof.AssumeInput(e, "arn:"+e.Partition+":iam::"+e.Account+":role"+proof.Path+"nothing", "proof"))
	return proof.Seen{"assume": status(err)}, proof.Answered(err)
}

func noSuchEntity(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, role := e.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(e.Name("nothing"))})
	_, profile := e.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(e.Name("nothing"))})
	return proof.Seen{"role": status(role), "profile": status(profile)}, proof.Answered(role, profile)
}

func policyLag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	took, err := proof.RoleTook(ctx, e)
	return proof.Seen{"within 3 s": yes(took < 3*time.Second), "seconds": count(int(took.Seconds()))}, err
}

func profileLag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	template, err := proof.Plain(ctx, e)
	if err != nil {
		return nil, err
	}
	in, err := proof.RunInput(ctx, e, template)
	if err != nil {
		return nil, err
	}
	if _, err := proof.MakeRole(ctx, e, "lagging"); err != nil {
		return nil, err
	}
	name, err := profileWith(ctx, e, "lagging", proof.Path)
	if err != nil {
		return nil, err
	}
	if err := addRole(ctx, e, name, e.Name("lagging")); err != nil {
		return nil, err
	}
	in.DryRun, in.IamInstanceProfile = aws.Bool(true), profileOf(name)
	took, ok, err := e.Until(ctx, time.Minute, time.Second, func() (bool, error) {
		_, err := e.EC2.RunInstances(ctx, in)
		return proof.Code(err) == wouldHave, proof.Answered(err)
	})
	if err == nil && !ok {
		err = errorf("EC2 did not know instance profile %s within a minute", name)
	}
	return proof.Seen{"within 3 s": yes(took < 3*time.Second), "seconds": count(int(took.Seconds()))}, err
}

func sessionBounds(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	arn, err := proof.Role(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	long := map[string]int32{"899 s": 899, "7200 s": 7200}
	for _, fact := range sorted(long) {
		err := assumeFor(ctx, e, e.STS, arn, long[fact])
		if err := proof.Answered(err); err != nil {
			return nil, err
		}
		seen[fact] = proof.Code(err)
	}
	return seen, nil
}

func assumeFor(ctx context.Context, e *proof.Env, c *sts.Client, arn string, seconds int32) error {
	in := proof.AssumeInput(e, arn, "proof")
	in.DurationSeconds = &seconds
	_, err := c.AssumeRole(ctx, in)
	return err
}

func chained(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	first, err := proof.Role(ctx, e)
	if err != nil {
		return nil, err
	}
	second, err := proof.MakeRoleFor(ctx, e, "chained", first)
	if err != nil {
		return nil, err
	}
	c, err := proof.Unlimited(ctx, e, first)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	// Until IAM has told everybody of the second role.
	if _, _, err := e.Until(ctx, time.Minute, 2*time.Second, func() (bool, error) {
		err := assumeFor(ctx, e, c.STS, second, 3600)
		seen["3600 s"] = proof.Code(err)
		return err == nil, proof.Answered(err)
	}); err != nil {
		return nil, err
	}
	err = assumeFor(ctx, e, c.STS, second, 3601)
	seen["3601 s"] = proof.Code(err)
	return seen, proof.Answered(err)
}

func externalID(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	arn, err := proof.Role(ctx, e)
	if err != nil {
		return nil, err
	}
	in := proof.AssumeInput(e, arn, "proof")
	_, with := e.STS.AssumeRole(ctx, in)
	in.ExternalId = nil
	_, without := e.STS.AssumeRole(ctx, in)
	return proof.Seen{"without": status(without), "with": status(with)}, proof.Answered(without, with)
}

func identityOfAll(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	c, err := proof.Session(ctx, e, proof.Statement{Effect: "Deny", Action: []string{"*"}, Resource: []string{"*"}})
	if err != nil {
		return nil, err
	}
	_, err = c.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	return proof.Seen{"identity": proof.Code(err)}, proof.Answered(err)
}

func profileOneRole(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	names, err := profileAndRole(ctx, e)
	if err != nil {
		return nil, err
	}
	if _, err := proof.MakeRole(ctx, e, "second"); err != nil {
		return nil, err
	}
	err = addRole(ctx, e, names[0], e.Name("second"))
	return proof.Seen{"second": status(err)}, proof.Answered(err)
}

func profileConflict(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	names, err := profileAndRole(ctx, e)
	if err != nil {
		return nil, err
	}
	_, profile := e.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &names[0]})
	_, role := e.IAM.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &names[1]})
	return proof.Seen{"profile": status(profile), "role": status(role)}, proof.Answered(profile, role)
}

func nameCase(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	if _, err := profileWith(ctx, e, "case", proof.Path); err != nil {
		return nil, err
	}
	_, same := profileWith(ctx, e, "case", proof.Path)
	_, other := profileWith(ctx, e, "CASE", proof.Path)
	return proof.Seen{"same": status(same), "other case": status(other)}, proof.Answered(same, other)
}

func pathSlashes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := profileWith(ctx, e, "slashes", strings.TrimSuffix(proof.Path, "/"))
	return proof.Seen{"create": proof.Code(err)}, proof.Answered(err)
}

func lists(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	path := proof.Path + e.Run + "/"
	for _, what := range []string{"list-a", "list-b"} {
		if _, err := profileWith(ctx, e, what, path); err != nil {
			return nil, err
		}
	}
	var out *iam.ListInstanceProfilesOutput
	// Lists of IAM are late.
	_, _, err := e.Until(ctx, 30*time.Second, 2*time.Second, func() (bool, error) {
		var err error
		out, err = e.IAM.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{PathPrefix: &path, MaxItems: aws.Int32(1)})
		return err == nil && out.IsTruncated, err
	})
	if err != nil {
		return nil, err
	}
	return proof.Seen{"first page": count(len(out.InstanceProfiles)), "goes on": yes(out.IsTruncated && out.Marker != nil), "tags": tagsOf(out.InstanceProfiles)}, nil
}

func tagsOf(profiles []types.InstanceProfile) string {
	for _, p := range profiles {
		if len(p.Tags) > 0 {
			return "some"
		}
	}
	return "none"
}
