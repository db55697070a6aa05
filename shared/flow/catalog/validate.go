package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// validate says whether the class, as it was resolved, is fit to launch from: first what shows without asking AWS, then what
// a trial on EC2 shows. The trial's verdict is kept for a while as long as nothing it depends on changes, a bad one for less.
func (r validator) validate(ctx context.Context, class *model.Class, record *model.ClassRecord, asked string) {
	if problem := r.wrong(class); problem != nil {
		class.Status.Problems = append(class.Status.Problems, *problem)
		record.Inputs, record.Checked = asked+"/", 0
		return
	}
	inputs := asked + "/" + digest(depends(class.Status))
	before, good := verdictOf(record.Status), r.settings.VerdictFor
	if before != nil {
		good = r.settings.NoFor
	}
	if record.Inputs == inputs && record.Checked != 0 && r.NowUnix()-record.Checked < int64(good.Seconds()) {
		if before != nil {
			class.Status.Problems = append(class.Status.Problems, *before)
		}
		return
	}
	problem, final := r.try(ctx, *class)
	if !final && record.Inputs == inputs && record.Checked != 0 && problem != nil && problem.Unknown {
		problem = before // nothing was found out: what was found out last stays
	}
	if problem != nil {
		class.Status.Problems = append(class.Status.Problems, *problem)
	}
	switch {
	case final:
		record.Checked = r.NowUnix()
	case record.Inputs != inputs:
		record.Checked = 0 // what was found out last was about something else
	}
	record.Inputs = inputs
}

// depends is what of a status a verdict depends on.
func depends(status model.ClassStatus) any {
	var subnets, groups, images []string
	for _, s := range status.Subnets {
		subnets = append(subnets, s.ID)
	}
	for _, g := range status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	for _, i := range status.Images {
		images = append(images, i.ID)
	}
	slices.Sort(subnets)
	group := ""
	if status.PlacementGroup != nil {
		group = status.PlacementGroup.ID
	}
	return []any{subnets, groups, images, status.InstanceProfile, group}
}

func verdictOf(status model.ClassStatus) *model.ClassProblem {
	i := slices.IndexFunc(status.Problems, func(p model.ClassProblem) bool { return p.Condition == model.Validated })
	if i < 0 {
		return nil
	}
	return &status.Problems[i]
}

// wrong is what is wrong with a class without a trial; nil where nothing is.
func (r validator) wrong(class *model.Class) *model.ClassProblem {
	problem := func(reason, format string, args ...any) *model.ClassProblem {
		return &model.ClassProblem{Condition: model.Validated, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	for i := range class.Invalid {
		if class.Invalid[i].Condition == model.Validated {
			return &class.Invalid[i]
		}
	}
	if problems := offering.ClassProblems(nil, *class, r.offeringSettings()); len(problems) > 0 {
		return &problems[0]
	}
	if len(class.Unsupported) > 0 {
		return problem("Unsupported", "%s", strings.Join(class.Unsupported, "; "))
	}
	if class.Family == "AL2023" && r.reg.ServiceCIDR == "" {
		return problem("ClusterCIDRResolutionFailed", "the registration of cluster %s has no service address range, which amiFamily AL2023 needs; attach the cluster again", r.reg.Cluster)
	}
	if problems := offering.TagProblems(class.Tags); len(problems) > 0 {
		return problem("TagValidationFailed", "%s", joined(problems))
	}
	return unready(class.Status.Problems)
}

// joined returns findings as one sentence.
func joined(findings []model.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return strings.Join(out, "; ")
}

// unready is the problem of a class that cannot be tried because of others it has.
func unready(problems []model.ClassProblem) *model.ClassProblem {
	var failed, unknown []string
	for _, p := range problems {
		if p.Unknown {
			unknown = append(unknown, p.Condition)
		} else {
			failed = append(failed, p.Condition)
		}
	}
	if len(failed)+len(unknown) == 0 {
		return nil
	}
	return &model.ClassProblem{
		Condition: model.Validated, Reason: "DependenciesNotReady", Unknown: len(failed) == 0,
		Message: "waiting for " + strings.Join(append(failed, unknown...), ", "),
	}
}

// Reasons a trial gives.
const (
	reasonTemplateDenied = "CreateLaunchTemplateAuthCheckFailed"
	reasonFleetDenied    = "CreateFleetAuthCheckFailed"
	reasonRunDenied      = "RunInstancesAuthCheckFailed"
	reasonNoProfile      = "InstanceProfileNotFound"
	reasonRefused        = "LaunchRefused"    // EC2 says that what the class asks for is wrong
	reasonUntried        = "ValidationFailed" // the trial could not be made
)

// try makes the launch template of one instance of the class and asks EC2 whether it would launch it. final says that the
// answer is a verdict that may be kept; otherwise it is asked again.
func (r validator) try(ctx context.Context, class model.Class) (problem *model.ClassProblem, final bool) {
	if problem := r.expressions(ctx, class); problem != nil {
		return problem, !problem.Unknown
	}
	if r.settings.NoDryRun {
		return nil, true
	}
	say := func(reason string, unknown bool, err error) *model.ClassProblem {
		return &model.ClassProblem{Condition: model.Validated, Reason: reason, Unknown: unknown, Message: err.Error()}
	}
	launch, err := r.trial(ctx, class)
	if err != nil {
		if fault.Is(err, fault.Invalid) {
			return say(codeOr(err, reasonRefused), false, err), true
		}
		r.Problem("validate EC2NodeClass %s: %v", class.Name, err)
		return say(reasonUntried, true, err), false
	}
	if !r.granted(ctx, r.quota().take, 2+len(class.Status.Subnets)) {
		return say(model.ReasonPostponed, true, fmt.Errorf("all clusters of the region together have used up the EC2 API quota for now; the EC2NodeClass is validated later, and nodes may be launched from it")), false
	}
	r.out.Tried++
	var request []byte
	err = r.Effect(ctx, EffectTrial, func() (err error) {
		request, err = r.clients.Trials.PrepareRequest(ctx, launch)
		return err
	})
	if err != nil {
		return r.verdict(ctx, class, err, reasonTemplateDenied)
	}
	if err := r.clients.Trials.DryRunFleet(ctx, request); err != nil && !fault.Is(err, fault.NoCapacity) {
		return r.verdict(ctx, class, err, reasonFleetDenied)
	}
	if err := r.dryRuns(ctx, launch, request); err != nil {
		return r.verdict(ctx, class, err, reasonRunDenied)
	}
	return nil, true
}

// expressions is what is wrong with a class's expressions on any instance there is; nil where nothing is.
func (r validator) expressions(ctx context.Context, class model.Class) *model.ClassProblem {
	if !kubelet.HasExpressions(&class.Kubelet) {
		return nil
	}
	catalog, err := r.types(ctx)
	if err != nil {
		return &model.ClassProblem{Condition: model.Validated, Reason: reasonUntried, Unknown: true, Message: err.Error()}
	}
	if problems := offering.ClassProblems(catalog.Types, class, r.offeringSettings()); len(problems) > 0 {
		return &problems[0]
	}
	return nil
}

// dryRuns asks subnet by subnet until one would do. Otherwise the first one's error counts.
func (r validator) dryRuns(ctx context.Context, launch model.Launch, request []byte) error {
	var first error
	for _, subnet := range launch.Class.Status.Subnets {
		err := r.clients.Trials.DryRun(ctx, launch, request, subnet.ID)
		if err == nil || fault.Is(err, fault.NoCapacity) {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// verdict reads what EC2 answered a trial. Missing permissions are a verdict; what EC2 refuses for another reason is reported and
// tried again before long, since it may be about something that was only just made; what says nothing about the class
// leaves it as it was.
func (r validator) verdict(ctx context.Context, class model.Class, err error, denied string) (*model.ClassProblem, bool) {
	problem := &model.ClassProblem{Condition: model.Validated, Reason: denied, Message: err.Error()}
	switch kind := fault.KindOf(err); {
	case kind == fault.Denied:
		problem.Message += ": " + denial(err.Error())
		return problem, true
	case fault.CodeOf(err) == "UserDataSizeLimitExceeded" || strings.Contains(err.Error(), "User data is limited to"):
		problem.Reason = "UserDataSizeLimitExceeded"
		problem.Message += "; shorten spec.userData"
		return problem, true
	case strings.Contains(strings.ToLower(err.Error()), "iaminstanceprofile.name") || strings.Contains(err.Error(), "Invalid IAM Instance Profile"):
		problem.Reason = reasonNoProfile
		problem.Message += fmt.Sprintf("; instance profile %q does not exist, or was created a moment ago", class.Status.InstanceProfile)
		problem.Unknown = class.InstanceProfile == "" // we made it: EC2 will see it soon
		return problem, false
	case kind == fault.Invalid, kind == fault.NotFound:
		problem.Reason = reasonRefused
		return problem, false
	}
	r.answered(ctx, err)
	r.Problem("validate EC2NodeClass %s: %v", class.Name, err)
	problem.Reason, problem.Unknown = reasonUntried, true
	return problem, false
}

// denial says where a refusal comes from, as far as EC2's words tell. Source: IAM user guide, "Troubleshoot access denied
// error messages".
func denial(text string) string {
	switch lower := strings.ToLower(text); {
	case strings.Contains(lower, "permissions boundary"):
		return "a permissions boundary denies it; widen the boundary of the cluster's role"
	case strings.Contains(lower, "service control policy"):
		return "a service control policy of the organization denies it; ask its administrators"
	case strings.Contains(lower, "not authorized for images"):
		return "the account may not use the image; share the image with it, or select another in spec.amiSelectorTerms"
	}
	return "the policy of the cluster's role does not allow it; add the permission"
}
