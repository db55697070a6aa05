package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// An instance profile is never changed: another role is another profile, so that instances that run keep the permissions they
// were launched with. Its name is a digest of what it is for, so that making it again after a crash makes no second one.

// profiles makes and deletes instance profiles.
type profiles struct{ *session }

// profile returns the name of the instance profile instances of a class get, made where it is not there.
func (r profiles) profile(ctx context.Context, class model.Class, record *model.ClassRecord) (string, *model.ClassProblem) {
	before := record.Status.InstanceProfile
	problem := func(reason, format string, args ...any) (string, *model.ClassProblem) {
		return "", &model.ClassProblem{Condition: model.ProfileReady, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	r.outlived(record)
	if class.InstanceProfile != "" {
		r.retireProfile(record, before, class.InstanceProfile)
		return class.InstanceProfile, nil
	}
	wanted := profileFor(r.reg, class)
	switch {
	case wanted.Role == "":
		return problem("InstanceProfileNotFound", "neither spec.role nor spec.instanceProfile is set; set one of them")
	case r.settings.IsolatedVPC:
		return problem("InstanceProfileNotFound", "spec.role %q needs IAM, which an isolated network does not reach; set spec.instanceProfile instead", class.Role)
	case before == wanted.Name && ready(record.Status) && r.NowUnix()-record.Checked < int64(r.settings.VerdictFor.Seconds()):
		return before, nil // it was there when the class was last tried
	}
	err := r.Effect(ctx, EffectProfile, func() error { return r.clients.Profiles.EnsureProfile(ctx, wanted) })
	switch {
	case fault.Is(err, fault.NotFound):
		return problem("RoleNotFound", "spec.role %q does not exist in this account; create it or correct the name", class.Role)
	case err != nil:
		r.Problem("create the instance profile of EC2NodeClass %s: %v", class.Name, err)
		name, reported := problem("InstanceProfileFailed", "the instance profile of spec.role %q could not be created: %v", class.Role, err)
		reported.Unknown = !fault.Is(err, fault.Denied) && !fault.Is(err, fault.Invalid)
		return name, reported
	}
	r.retireProfile(record, before, wanted.Name)
	return wanted.Name, nil
}

// profileFor is the instance profile of a class with a role. A role may be written with its path, which is no part of its
// name.
func profileFor(reg model.Registration, class model.Class) model.InstanceProfile {
	role := class.Role[strings.LastIndexByte(class.Role, '/')+1:]
	const longest = 128 - 1 - 24 // of a name, less the digest
	cluster := reg.Cluster
	if len(cluster) > longest {
		cluster = cluster[:longest]
	}
	return model.InstanceProfile{
		Name: cluster + "_" + digest(reg.Region, reg.Cluster, class.UID, role), Path: profilePath(reg) + class.UID + "/", Role: role,
		Tags: profileTags(reg, class),
	}
}

// profilePath is where the cluster's instance profiles are; each class has a folder of its own.
func profilePath(reg model.Registration) string {
	return "/karpenter/" + reg.Region + "/" + reg.Cluster + "/"
}

func profileTags(reg model.Registration, class model.Class) map[string]string {
	tags := map[string]string{}
	for key, value := range class.Tags {
		tags[key] = value
	}
	tags["kubernetes.io/cluster/"+reg.Cluster] = "owned"
	tags["eks:eks-cluster-name"] = reg.Cluster
	tags[model.LabelNodeClass] = class.Name
	tags[model.LabelRegion] = reg.Region
	return tags
}

// retireProfile notes that a class uses another profile than before. One that it comes back to is not left any more.
func (r profiles) retireProfile(record *model.ClassRecord, before, now string) {
	record.Profiles = slices.DeleteFunc(slices.Clone(record.Profiles), func(p model.LeftProfile) bool { return p.Name == now || p.Name == before })
	if before != "" && before != now {
		record.Profiles = append(record.Profiles, model.LeftProfile{Name: before, SinceUnix: r.NowUnix()})
		slices.SortFunc(record.Profiles, func(a, b model.LeftProfile) int { return strings.Compare(a.Name, b.Name) })
	}
}

// outlived forgets profiles that were left long ago.
func (r profiles) outlived(record *model.ClassRecord) {
	record.Profiles = slices.DeleteFunc(slices.Clone(record.Profiles), func(p model.LeftProfile) bool { return !r.protected(p) })
}

func (r profiles) protected(p model.LeftProfile) bool {
	return r.NowUnix()-p.SinceUnix < int64(r.settings.KeepProfile.Seconds())
}

// deleteUnused deletes the cluster's instance profiles that no class uses or has used a short time ago, that no claim was
// launched with, and that are not young, once all that may name them can be read. It looks only in a pass that looked up a class, and then not more often than every
// half hour.
func (r profiles) deleteUnused(ctx context.Context, resolved []model.Class) {
	if len(resolved) == 0 || r.settings.IsolatedVPC || !r.anyRole() {
		return
	}
	first := r.records[resolved[0].Name]
	for _, record := range r.records {
		if r.NowUnix()-record.Swept < int64(r.settings.ProfilesEvery.Seconds()) {
			return
		}
	}
	found, err := r.clients.Profiles.Profiles(ctx, profilePath(r.reg))
	if err != nil {
		r.Problem("list instance profiles that are left over: %v", err)
		return
	}
	used := r.usedProfiles()
	switch known, err := r.shownProfiles(ctx, used); {
	case err != nil:
		r.Problem("read the instance profiles of instances that the ledger does not know: %v", err)
		return
	case !known, r.ledger.Unread.Any(model.UnreadClaim, model.UnreadRecord): // what cannot be read may name any of them
		found = nil
	}
	for _, profile := range found {
		if used[profile.Name] || r.NowUnix()-profile.CreatedUnix < int64(r.settings.KeepProfile.Seconds()) {
			continue
		}
		if r.Try(ctx, EffectTidy, "delete instance profile "+profile.Name, func() error {
			return r.clients.Profiles.DeleteProfile(ctx, profile)
		}) {
			r.out.Tidied++
		}
	}
	first.Swept = r.NowUnix()
	r.keep(ctx, first)
}

func (r profiles) anyRole() bool {
	return slices.ContainsFunc(r.config.Classes, func(o model.ClassObject) bool { return o.Class.Role != "" }) ||
		slices.ContainsFunc(r.ledger.Classes, func(c model.ClassRecord) bool { return len(c.Profiles) > 0 })
}

// shownProfiles adds the profiles of NodeClaims that the ledger has no live claim of: of a cluster that Karpenter ran and that
// was not taken over yet, or of a ledger that was lost. Their instances run, and would lose their permissions with the profile. It
// reports false where one of them does not say which profile it has: then any may be it.
func (r profiles) shownProfiles(ctx context.Context, used map[string]bool) (bool, error) {
	recorded := map[string]bool{}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			recorded[claim.Name] = true
		}
	}
	live, err := r.clients.Cluster.ReadLive(ctx)
	if err != nil {
		return false, err
	}
	for i := range live.Objects {
		claim := &live.Objects[i].Claim
		if recorded[claim.Name] || live.Objects[i].ClassKind != "" {
			continue
		}
		profile := claim.Annotations[model.AnnotationInstanceProfile]
		if profile == "" && claim.ProviderID != "" {
			return false, nil
		}
		used[profile] = true
	}
	return true, nil
}

// usedProfiles are the names of the instance profiles that must stay.
func (r profiles) usedProfiles() map[string]bool {
	used := map[string]bool{}
	for _, object := range r.config.Classes {
		used[object.Class.Status.InstanceProfile] = true
		used[profileFor(r.reg, object.Class).Name] = true
	}
	for _, record := range r.records {
		used[record.Status.InstanceProfile] = true
		for _, left := range record.Profiles {
			if r.protected(left) {
				used[left.Name] = true
			}
		}
	}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			used[claim.Annotations[model.AnnotationInstanceProfile]] = true
		}
	}
	return used
}
