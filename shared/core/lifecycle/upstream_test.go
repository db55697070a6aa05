package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// K6: an instance whose system check fails and for which EC2 has scheduled an event ends by force, whichever is reported first: its
// deadline is now.
func TestK6ASystemFailureBesideAScheduledEventEndsByForce(t *testing.T) {
	failure := model.Impairment{InstanceID: "i-old", Kind: model.ImpairedSystem, SinceUnix: now - 300, Message: "reachability"}
	event := model.Impairment{InstanceID: "i-old", Kind: model.ImpairedEvent, Code: "instance-retirement", Message: "retires"}
	for _, order := range [][]model.Impairment{{failure, event}, {event, failure}, {event, failure, event}} {
		v := healthy()
		v.Impaired = order
		if got, want := found(v), "Impaired default-old StatusCheckFailed 0 true 0"; got != want {
			t.Errorf("%v: got %q, want %q", order, got, want)
		}
	}
}

// K11: a NodeClaim of another controller's NodeClass, which may bear a finalizer of the same name, is released by nobody but that
// controller: neither while it has no instance, nor when it shows one that has ended.
func TestK11ANodeClaimOfAnotherControllerKeepsItsFinalizer(t *testing.T) {
	v := healthy()
	before := found(v)
	v.Live.Objects = append(v.Live.Objects,
		model.ClaimObject{Claim: model.Claim{Name: "theirs", ObjectUID: "o-theirs"}, DeletedUnix: now, Finalizer: true, ClassKind: "NodeClass.eks.amazonaws.com"},
		model.ClaimObject{Claim: model.Claim{Name: "theirs-2", ObjectUID: "o-theirs-2", ProviderID: "aws:///a/i-theirs"}, DeletedUnix: now, Finalizer: true, ClassKind: "NodeClass.eks.amazonaws.com"})
	v.Live.Nodes = append(v.Live.Nodes, model.Node{Name: "theirs", UID: "n-theirs", ProviderID: "aws:///a/i-theirs", DeletedUnix: now, Finalizer: true})
	if got := found(v); got != before {
		t.Errorf("got %q, want %q", got, before)
	}
	v.Live.Objects[len(v.Live.Objects)-2].ClassKind = "" // one of ours in that place is released
	if !slices.ContainsFunc(lifecycle.Diagnose(v, lifecycle.Settings{}), func(f lifecycle.Finding) bool { return f.Kind == lifecycle.OrphanedNodeClaim && f.Subject == "theirs" }) {
		t.Error("the test shows nothing")
	}
}
