package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// deletion finishes the deletion of classes.
type deletion struct{ *session }

// terminate finishes the deletion of a class once nothing uses it: what was made for it is deleted, then its record, and
// at last the finalizer is taken off. Each step may be repeated.
func (r deletion) terminate(ctx context.Context, object model.ClassObject) {
	class := object.Class
	if !object.Finalized { // nothing of ours keeps it
		r.drop(ctx, class.Name)
		return
	}
	definitions, err := r.clients.Cluster.Definitions(ctx)
	if err != nil {
		r.Problem("read the CustomResourceDefinitions, without which the deletion of EC2NodeClass %s is not carried out: %v", class.Name, err)
		return
	}
	if !definitions.Classes.Established { // it goes with its definition, and its instances need what was made for it
		r.letGo(ctx, class, definitions)
		return
	}
	users, err := r.usersOf(ctx, class.Name)
	if err != nil {
		r.Problem("list what uses EC2NodeClass %s, which is being deleted: %v", class.Name, err)
		return
	}
	if len(users) > 0 {
		r.wait(class, users)
		return
	}
	if r.NowUnix()-class.DeletedUnix < int64(r.settings.EndAfter.Seconds()) {
		return
	}
	if err := r.tidy(ctx, class); err != nil {
		r.Problem("delete the resources created for EC2NodeClass %s: %v", class.Name, err)
		return
	}
	if !r.drop(ctx, class.Name) {
		return
	}
	if r.unhold(ctx, class) {
		r.out.Ended = append(r.out.Ended, class.Name)
	}
}

// finish sees to the classes that are being deleted and to no other: the definition of EC2NodeClasses goes only once
// nothing holds one of them, also where that of NodePools is gone already.
func (r deletion) finish(ctx context.Context) {
	for _, object := range r.config.Classes {
		if object.Class.DeletedUnix != 0 && object.Finalized {
			r.guarded(object.Class.Name, func() { r.terminate(ctx, object) })
		}
	}
}

// unhold takes the finalizer off a class, and reports whether it is off.
func (r deletion) unhold(ctx context.Context, class model.Class) bool {
	mark := model.ClassPatch{Name: class.Name, UID: class.UID, Finalized: false}
	err := r.Effect(ctx, EffectPatchClass, func() error { return r.clients.Cluster.PatchClass(ctx, mark) })
	if err != nil && !fault.Is(err, fault.NotFound) {
		r.Problem("remove the finalizer of EC2NodeClass %s: %v", class.Name, err)
		return false
	}
	return true
}

// letGo takes the finalizer off a class whose definition is going: nothing that was made for it is deleted.
func (r deletion) letGo(ctx context.Context, class model.Class, definitions model.Definitions) {
	r.Problem("EC2NodeClass %s is deleted with its CustomResourceDefinition (%s): none of its instances is terminated; apply the definition and the EC2NodeClass again", class.Name, definitions.Missing())
	if r.unhold(ctx, class) {
		r.out.Vanished = append(r.out.Vanished, class.Name)
	}
}

// usersOf names the claims of a class, those of the ledger and those the API server shows: a ledger that was lost is no
// evidence that nothing runs.
func (r deletion) usersOf(ctx context.Context, class string) ([]string, error) {
	users := slices.Clone(r.users[class])
	if len(users) > 0 {
		return users, nil
	}
	if n := r.ledger.Unread.Claims(); n > 0 {
		return nil, fault.New(fault.Internal, "UnreadClaims", "%d claims of the ledger cannot be read, and any of them may use it", n)
	}
	live, err := r.clients.Cluster.ReadLive(ctx)
	if err != nil {
		return nil, err
	}
	for i := range live.Objects {
		if claim := &live.Objects[i].Claim; claim.Class == class {
			users = append(users, claim.Name)
		}
	}
	return users, nil
}

func (r deletion) wait(class model.Class, users []string) {
	const most = 5
	slices.Sort(users)
	named := work.Several(users, most, ", ")
	message := fmt.Sprintf("%d NodeClaims still use this EC2NodeClass: %s; it is deleted once they are (kubectl delete nodeclaim, or delete their NodePool)", len(users), named)
	r.report.Classes = append(r.report.Classes, model.ClassReport{Class: class.Name, UID: class.UID, Waiting: message})
	r.report.Events = append(r.report.Events, model.Event{
		Kind: "EC2NodeClass", Name: class.Name, UID: class.UID, Reason: "WaitingOnNodeClaimTermination", Message: message,
	})
}

// tidy deletes the class's instance profiles and launch templates.
func (r deletion) tidy(ctx context.Context, class model.Class) error {
	if !r.settings.IsolatedVPC && (class.Role != "" || len(r.records[class.Name].Profiles) > 0) {
		found, err := r.clients.Profiles.Profiles(ctx, profilePath(r.reg)+class.UID+"/")
		if err != nil {
			return err
		}
		for _, profile := range found {
			if err := r.Effect(ctx, EffectTidy, func() error { return r.clients.Profiles.DeleteProfile(ctx, profile) }); err != nil {
				return err
			}
			r.out.Tidied++
		}
	}
	return r.Effect(ctx, EffectTidy, func() error { return r.clients.InstanceTypes.DeleteTemplates(ctx, r.reg.Cluster, class.Name) })
}
