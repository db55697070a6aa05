package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// resolver brings classes up to date.
type resolver struct {
	*session
	resolved []model.Class // looked up in this pass
}

// all brings the classes of the cluster up to date, one after another; what fails stops no other. It returns those that were looked up.
func (r *resolver) all(ctx context.Context) []model.Class {
	r.out.Classes = len(r.config.Classes)
	for i := range r.config.Classes {
		if r.Left() < r.settings.StopBefore {
			r.Problem("%d EC2NodeClasses wait because time ran out; the next scheduled run continues", len(r.config.Classes)-i)
			break
		}
		r.guarded(r.config.Classes[i].Class.Name, func() { r.class(ctx, r.config.Classes[i]) })
	}
	return r.resolved
}

// class brings one class up to date where that is due.
func (r *resolver) class(ctx context.Context, object model.ClassObject) {
	class := object.Class
	if class.DeletedUnix != 0 {
		deletion{r.session}.terminate(ctx, object)
		return
	}
	record := r.records[class.Name]
	if record.UID != class.UID { // the first of this object; what was there was another's
		record = model.ClassRecord{Name: class.Name, UID: class.UID, Version: record.Version}
	}
	asked := digest(unresolved(class), strangers(object.Annotations))
	if !r.due(class, record, asked) {
		r.notReady(class, record.Status)
		r.correct(class, record.Status)
		return
	}
	if !r.patchClass(ctx, object) {
		return
	}
	was := record.Status
	status, ok := r.examine(ctx, class, &record)
	if !ok {
		return
	}
	r.out.Resolved++
	class.Status = status
	validator{r.session}.validate(ctx, &class, &record, asked)
	record.Status = class.Status
	r.keep(ctx, record)
	r.resolved = append(r.resolved, class)
	r.notReady(class, class.Status)
	r.reportClass(class, class.Status)
	if ready(class.Status) && (!ready(was) || was.ObservedGeneration != class.Generation) { // pods may be waiting for it
		key := fmt.Sprintf("ready/%.12s/%d", class.UID, record.Version)
		text := fmt.Sprintf("send a hint that EC2NodeClass %s is ready; the next scheduled run finds it", class.Name)
		r.Try(ctx, EffectHint, text, func() error { return r.flow.ReportReady(ctx, r.reg.Cluster, key) })
	}
}

// correct reports a class that is not due, and whose object says that it is ready where it is not, or the other way about: who provisions
// says on the object that EC2 refused it, and not that this is over.
func (r *resolver) correct(class model.Class, known model.ClassStatus) {
	said, is := class.Status, offering.Refused(known, r.refusal(class))
	if stopped(said) != stopped(is) {
		r.reportClass(class, known)
	}
}

// due reports whether a class must be looked up: it was never, it or its annotations have changed, it is not ready, or what
// is known of it has become too old for what it is used for. An idle cluster's classes are left alone for an hour: whoever
// launches for the first time after that looks them up by itself.
func (r *resolver) due(class model.Class, record model.ClassRecord, asked string) bool {
	status, age := record.Status, r.NowUnix()-record.Status.ResolvedUnix
	older := func(d time.Duration) bool { return age >= int64(d.Seconds()) }
	before, _, _ := strings.Cut(record.Inputs, "/")
	switch {
	case record.Version == 0, status.ResolvedUnix == 0, status.ObservedGeneration != class.Generation, before != asked, age < 0:
		return true
	case r.request.Config:
		return older(r.settings.RepeatAfter)
	case len(status.Problems) > 0:
		return older(r.settings.RetryAfter)
	case len(r.users[class.Name]) > 0:
		return older(r.settings.BusyEvery)
	}
	return older(r.settings.IdleEvery)
}

// unresolved is a class without what was found out about it.
func unresolved(class model.Class) model.Class {
	class.Status, class.Annotations = model.ClassStatus{}, nil
	return class
}

// strangers are annotations without the hashes we write ourselves.
func strangers(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, model.AnnotationClassHash)
	delete(out, model.AnnotationClassHashVersion)
	return out
}

// patchClass puts finalizer and hashes on the object before anything is made for it, so that its end finds what was. It reports
// whether the object is still there.
func (r *resolver) patchClass(ctx context.Context, object model.ClassObject) bool {
	class := object.Class
	mark := model.ClassPatch{Name: class.Name, UID: class.UID, Finalized: true, Annotations: map[string]string{}}
	if hash := class.HashFor(r.reg.CA); hash != "" {
		mark.Annotations[model.AnnotationClassHash], mark.Annotations[model.AnnotationClassHashVersion] = hash, model.ClassHashVersion
	}
	same := object.Finalized
	for key, value := range mark.Annotations {
		same = same && object.Annotations[key] == value
	}
	return same || r.Try(ctx, EffectPatchClass, "add the finalizer of EC2NodeClass "+class.Name, func() error {
		return r.clients.Cluster.PatchClass(ctx, mark)
	})
}

// callsPerClass is how many calls of EC2's API looking up a class takes at least: subnets, security groups and images.
const callsPerClass = 3

// examine looks up what the class means now. What cannot be found out stays as it was for the same generation, and is
// Unknown where nothing was known. False where nothing could be asked at all.
func (r *resolver) examine(ctx context.Context, class model.Class, record *model.ClassRecord) (model.ClassStatus, bool) {
	calls := callsPerClass + len(class.Reservations)
	if class.PlacementGroup != nil {
		calls++
	}
	if !r.granted(ctx, r.quota().takeReads, calls) {
		r.Problem("EC2NodeClass %s waits: all clusters of the region together have used up the EC2 API quota for now", class.Name)
		return model.ClassStatus{}, false
	}
	queries, wrong := image.Queries(class, r.reg.Version)
	profile, problem := profiles{r.session}.profile(ctx, class, record)
	checked := class
	checked.InstanceProfile = profile // so that nobody else's is looked for
	if profile == "" {
		checked.InstanceProfile = "none"
	}
	status, err := r.clients.Catalog.ResolveParts(ctx, checked, queries)
	r.answered(ctx, err)
	if err != nil {
		r.Problem("resolve EC2NodeClass %s: %v", class.Name, err)
	}
	status.InstanceProfile = profile
	if problem != nil {
		status.Problems = replace(status.Problems, *problem)
	}
	if wrong != nil {
		status.Problems = replace(status.Problems, model.ClassProblem{
			Condition: model.ImagesReady, Reason: codeOr(wrong, "AMINotFound"), Message: wrong.Error(), Unknown: !fault.Is(wrong, fault.Invalid),
		})
	}
	status.Images = image.Choose(status.Images)
	status.ObservedGeneration, status.ResolvedUnix = class.Generation, r.NowUnix()
	if before := record.Status; before.ObservedGeneration == class.Generation && before.ResolvedUnix != 0 {
		stay(&status, &before)
	}
	return status, true
}

// replace puts a problem in the place of any of its condition.
func replace(problems []model.ClassProblem, problem model.ClassProblem) []model.ClassProblem {
	out := slices.DeleteFunc(slices.Clone(problems), func(p model.ClassProblem) bool { return p.Condition == problem.Condition })
	return append(out, problem)
}

// stay leaves what could not be found out now as it was before, with the problem it had, and the time it was found out.
func stay(status *model.ClassStatus, before *model.ClassStatus) {
	keep := map[string]func(){
		model.SubnetsReady:        func() { status.Subnets = before.Subnets },
		model.SecurityGroupsReady: func() { status.SecurityGroups = before.SecurityGroups },
		model.ImagesReady:         func() { status.Images = before.Images },
		model.ProfileReady:        func() { status.InstanceProfile = before.InstanceProfile },
		model.ReservationsReady:   func() { status.Reservations = before.Reservations },
		model.PlacementGroupReady: func() { status.PlacementGroup = before.PlacementGroup },
	}
	var problems []model.ClassProblem
	for _, problem := range status.Problems {
		if restore := keep[problem.Condition]; problem.Unknown && restore != nil {
			restore()
			status.ResolvedUnix = before.ResolvedUnix
			i := slices.IndexFunc(before.Problems, func(p model.ClassProblem) bool { return p.Condition == problem.Condition })
			if i < 0 {
				continue
			}
			problem = before.Problems[i]
		}
		problems = append(problems, problem)
	}
	status.Problems = problems
}
