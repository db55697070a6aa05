package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	old    = 0 // Initialized, a day old
	young  = 1 // Launched, a minute old
	joined = 2 // Registered, two minutes old
)

// found returns the findings, each as kind, subject, code, wait, whether the removal limit counts it, and deadline from now (- = none).
func found(v lifecycle.View) string {
	var out []string
	for _, f := range lifecycle.Diagnose(v, lifecycle.Settings{}) {
		deadline := "-"
		if f.DeadlineUnix != 0 {
			deadline = fmt.Sprint(f.DeadlineUnix - now)
		}
		out = append(out, fmt.Sprintf("%s %s %s %d %v %s", f.Kind, f.Subject, f.Code, f.Wait, f.Removes, deadline))
	}
	return strings.Join(out, ", ")
}

func seconds(n int64) *int64 { return &n }

// Each case has one claim that must end, and says as what it is found.
func TestWhatEndsAClaim(t *testing.T) {
	claim := func(v *lifecycle.View, i int) *model.Claim { return &v.Records.Claims[i] }
	drains := func(v *lifecycle.View, deadline int64) {
		claim(v, old).State, claim(v, old).Drain = model.Draining, &model.Drain{SinceUnix: now - 60, DeadlineUnix: deadline}
	}
	impaired := func(id, kind string, since int64) []model.Impairment {
		return []model.Impairment{{InstanceID: "i-" + id, Kind: kind, SinceUnix: since, Code: "instance-retirement", Message: "reachability"}}
	}
	bad := func(v *lifecycle.View, kind, status string, since int64) {
		v.Live.Nodes[0].Conditions = []model.NodeCondition{{Type: kind, Status: status, SinceUnix: since}}
	}
	for name, c := range map[string]struct {
		change func(v *lifecycle.View)
		want   string
	}{
		"spot, by polling":           {func(v *lifecycle.View) { v.Interrupted = takenBack("i-old") }, "Interrupted default-old SpotInterrupted 0 false 85"},
		"spot, before it joined":     {func(v *lifecycle.View) { v.Interrupted = takenBack("i-young") }, "Interrupted default-young SpotInterrupted 0 false 85"},
		"spot, said a minute ago":    {func(v *lifecycle.View) { v.Interrupted = takenBackSince("i-old", now-60) }, "Interrupted default-old SpotInterrupted 0 false 55"},
		"spot, said just now":        {func(v *lifecycle.View) { v.Interrupted = takenBackSince("i-old", now) }, "Interrupted default-old SpotInterrupted 0 false 115"},
		"spot, said two minutes ago": {func(v *lifecycle.View) { v.Interrupted = takenBackSince("i-old", now-115) }, "Interrupted default-old SpotInterrupted 0 false 85"},
		"spot, said by a fast clock": {func(v *lifecycle.View) { v.Interrupted = takenBackSince("i-old", now+1) }, "Interrupted default-old SpotInterrupted 0 false 85"},
		"spot, of nobody's":          {func(v *lifecycle.View) { v.Interrupted = append(takenBack("i-else"), takenBack("")...) }, ""},
		"stopping":                   {func(v *lifecycle.View) { v.Instances[old].State = "stopping" }, "Stopping default-old InstanceStopping 0 false -"},
		"stopped":                    {func(v *lifecycle.View) { v.Instances[old].State = "stopped" }, "Stopping default-old InstanceStopping 0 false 0"},
		"shutting down":              {func(v *lifecycle.View) { v.Instances[old].State = "shutting-down" }, "Stopping default-old InstanceStopping 0 false -"},
		"object deleted":             {func(v *lifecycle.View) { v.Live.Objects[old].DeletedUnix = now }, "ObjectDeleted default-old NodeClaimDeleted 0 false -"},
		"object deleted, with grace": {func(v *lifecycle.View) {
			v.Live.Objects[old].DeletedUnix = now
			claim(v, old).GraceSeconds = seconds(600)
		}, "ObjectDeleted default-old NodeClaimDeleted 0 false 600"},
		"object deleted, its annotation": {func(v *lifecycle.View) {
			v.Live.Objects[old].DeletedUnix, v.Live.Objects[old].DeadlineUnix = now, now+90
			claim(v, old).GraceSeconds = seconds(600)
		}, "ObjectDeleted default-old NodeClaimDeleted 0 false 90"},
		"node deleted before its claim was adopted": {func(v *lifecycle.View) {
			v.Live.Nodes[0].DeletedUnix = now
			c := &v.Records.Claims[old]
			c.State, c.NodeName, c.NodeUID, c.RegisteredUnix, c.InitializedUnix = model.Launched, "", "", 0, 0
		}, "NodeDeleted default-old NodeDeleted 0 false -"},
		"node deleted": {func(v *lifecycle.View) { v.Live.Nodes[0].DeletedUnix = now }, "NodeDeleted default-old NodeDeleted 0 false -"},
		"a node deleted that was made anew and registered since": {func(v *lifecycle.View) { v.Live.Nodes[0].DeletedUnix = now; v.Live.Nodes[0].UID = "n-new" }, "NodeDeleted default-old NodeDeleted 0 false -"},
		"a node deleted that was made anew and not registered": {func(v *lifecycle.View) {
			n := &v.Live.Nodes[0]
			n.DeletedUnix, n.UID, n.Labels = now, "n-new", maps.Clone(n.Labels)
			delete(n.Labels, model.LabelRegistered)
		}, ""},
		"a node deleted that had our finalizer and waited for its registration": {func(v *lifecycle.View) {
			n, c := &v.Live.Nodes[0], claim(v, old)
			n.DeletedUnix, n.Finalizer, n.Labels = now, true, maps.Clone(n.Labels)
			delete(n.Labels, model.LabelRegistered)
			c.State, c.NodeName, c.NodeUID, c.RegisteredUnix, c.InitializedUnix = model.Launched, "", "", 0, 0
		}, "NodeDeleted default-old NodeDeleted 0 false -"},
		"block ends":                     {func(v *lifecycle.View) { claim(v, old).BlockEndsUnix = now + 40*60 }, "BlockEnds default-old CapacityBlockEnds 0 false 595"},
		"block ends any moment":          {func(v *lifecycle.View) { claim(v, old).BlockEndsUnix = now + 60 }, "BlockEnds default-old CapacityBlockEnds 0 false 0"},
		"block ends later":               {func(v *lifecycle.View) { claim(v, old).BlockEndsUnix = now + 40*60 + 1 }, ""},
		"instance check":                 {func(v *lifecycle.View) { v.Impaired = impaired("old", model.ImpairedInstance, now-120) }, "Impaired default-old StatusCheckFailed 0 true 0"},
		"system check":                   {func(v *lifecycle.View) { v.Impaired = impaired("joined", model.ImpairedSystem, now-500) }, "Impaired default-joined StatusCheckFailed 0 true 0"},
		"check failed for too short":     {func(v *lifecycle.View) { v.Impaired = impaired("old", model.ImpairedInstance, now-119) }, ""},
		"check failed since nobody says": {func(v *lifecycle.View) { v.Impaired = impaired("old", model.ImpairedInstance, 0) }, "Impaired default-old StatusCheckFailed 120 true 0"},
		"disks are another matter":       {func(v *lifecycle.View) { v.Impaired = impaired("old", "attached_ebs_status", now-500) }, ""},
		"scheduled event":                {func(v *lifecycle.View) { v.Impaired = impaired("old", model.ImpairedEvent, 0) }, "Impaired default-old ScheduledChange 0 false -"},
		"event and check": {func(v *lifecycle.View) {
			v.Impaired = slices.Concat(impaired("old", model.ImpairedEvent, 0), impaired("old", model.ImpairedInstance, 0), impaired("old", model.ImpairedSystem, now-300), impaired("old", model.ImpairedEvent, 0))
		}, "Impaired default-old StatusCheckFailed 0 true 0"},
		"impaired of nobody's":         {func(v *lifecycle.View) { v.Impaired = impaired("else", model.ImpairedSystem, now-500) }, ""},
		"NotReady for long":            {func(v *lifecycle.View) { bad(v, "Ready", "False", now-1800) }, "Unhealthy default-old Unhealthy 30 true 0"},
		"not NotReady for long":        {func(v *lifecycle.View) { bad(v, "Ready", "Unknown", now-1799) }, ""},
		"NotReady, says Ready alone":   {func(v *lifecycle.View) { v.Live.Nodes[0].Ready, v.Live.Nodes[0].ReadyUnix = false, now-1800 }, "Unhealthy default-old Unhealthy 30 true 0"},
		"NotReady, since nobody knows": {func(v *lifecycle.View) { v.Live.Nodes[0].Ready = false }, ""},
		"bad since before the node":    {func(v *lifecycle.View) { bad(v, "Ready", "False", 7); v.Live.Nodes[0].CreatedUnix = now - 1799 }, ""},
		"bad since before it joined":   {func(v *lifecycle.View) { bad(v, "Ready", "False", 7); claim(v, old).RegisteredUnix = now - 1799 }, ""},
		"expired":                      {func(v *lifecycle.View) { claim(v, old).ExpireSeconds = seconds(86_400) }, "Expired default-old Expired 0 false -"},
		"expires in a second":          {func(v *lifecycle.View) { claim(v, old).ExpireSeconds = seconds(86_401) }, ""},
		"expired while it launches":    {func(v *lifecycle.View) { claim(v, young).ExpireSeconds = seconds(1) }, ""},
		"expired, with grace": {func(v *lifecycle.View) {
			claim(v, old).ExpireSeconds, claim(v, old).GraceSeconds = seconds(60), seconds(30)
		}, "Expired default-old Expired 0 false 30"},
		"expired by a clock that was behind": {func(v *lifecycle.View) {
			claim(v, joined).CreatedUnix, claim(v, joined).ExpireSeconds = now-500, seconds(300) // it was launched 120 s ago
		}, ""},
		"expired, and nothing says when it was made": {func(v *lifecycle.View) {
			c := claim(v, old)
			c.CreatedUnix, c.LaunchedUnix, v.Instances[old].LaunchedUnix, c.ExpireSeconds = 0, 0, 0, seconds(1)
		}, ""},

		// A claim that is draining goes on draining; only what must be faster is found.
		"draining, object and node deleted": {func(v *lifecycle.View) {
			drains(v, 0)
			v.Live.Objects[old].DeletedUnix, v.Live.Nodes[0].DeletedUnix = now, now
			claim(v, old).GraceSeconds = seconds(600)
		}, ""},
		"draining, objects gone": {func(v *lifecycle.View) {
			drains(v, 0)
			v.Live.Nodes, v.Live.Objects = v.Live.Nodes[1:], v.Live.Objects[1:]
		}, ""},
		"draining, expired":          {func(v *lifecycle.View) { drains(v, 0); claim(v, old).ExpireSeconds = seconds(1) }, ""},
		"draining, then interrupted": {func(v *lifecycle.View) { drains(v, 0); v.Interrupted = takenBack("i-old") }, "Interrupted default-old SpotInterrupted 0 false 85"},
		"draining, in time anyway":   {func(v *lifecycle.View) { drains(v, now+60); v.Interrupted = takenBack("i-old") }, ""},
		"draining, warned already": {func(v *lifecycle.View) {
			drains(v, now+115)
			claim(v, old).FailureCode = model.EndedSpotInterrupted
			v.Interrupted = takenBack("i-old")
		}, ""},
		"draining, warned and asked to be sooner": {func(v *lifecycle.View) {
			drains(v, now+115)
			claim(v, old).FailureCode, v.Interrupted, v.Live.Objects[old].DeadlineUnix = model.EndedSpotInterrupted, takenBack("i-old"), now+60
		}, "ObjectDeleted default-old NodeClaimDeleted 0 false 60"},
		"draining, warned and stopped": {func(v *lifecycle.View) {
			drains(v, now+115)
			claim(v, old).FailureCode, v.Interrupted, v.Instances[old].State = model.EndedSpotInterrupted, takenBack("i-old"), "stopped"
		}, "Stopping default-old InstanceStopping 0 false 0"},
		"draining, check failed": {func(v *lifecycle.View) {
			drains(v, now+600)
			v.Impaired = impaired("old", model.ImpairedSystem, now-300)
		}, "Impaired default-old StatusCheckFailed 0 false 0"},
		"draining, stopped":             {func(v *lifecycle.View) { drains(v, 0); v.Instances[old].State = "stopped" }, "Stopping default-old InstanceStopping 0 false 0"},
		"draining, stopping":            {func(v *lifecycle.View) { drains(v, 0); v.Instances[old].State = "stopping" }, ""},
		"draining, event scheduled":     {func(v *lifecycle.View) { drains(v, 0); v.Impaired = impaired("old", model.ImpairedEvent, 0) }, ""},
		"draining, annotation moved":    {func(v *lifecycle.View) { drains(v, now+600); v.Live.Objects[old].DeadlineUnix = now + 60 }, "ObjectDeleted default-old NodeClaimDeleted 0 false 60"},
		"draining, annotation as it is": {func(v *lifecycle.View) { drains(v, now+600); v.Live.Objects[old].DeadlineUnix = now + 600 }, ""},
		"draining, unhealthy":           {func(v *lifecycle.View) { drains(v, 0); bad(v, "Ready", "False", now-9999) }, ""},
		"draining, ended":               {func(v *lifecycle.View) { drains(v, 0); v.Instances[old].State = "terminated" }, "Ended default-old InstanceEnded 0 false -"},
		"draining, missing": {func(v *lifecycle.View) {
			drains(v, 0)
			v.Instances, v.Live.Nodes[0].Ready = v.Instances[1:], false
		}, "Missing default-old InstanceMissing 30 false -"},
		"terminating, missing": {func(v *lifecycle.View) {
			claim(v, old).State, v.Instances, v.Live.Nodes = model.Terminating, v.Instances[1:], v.Live.Nodes[1:]
		}, "Missing default-old InstanceMissing 30 false -"},
		"terminating, shutting down": {func(v *lifecycle.View) {
			claim(v, old).State = model.Terminating
			v.Instances[old].State = "shutting-down"
		}, ""},
		"terminating, runs": {func(v *lifecycle.View) {
			claim(v, old).State, claim(v, old).FailureCode = model.Terminating, model.EndedExpired
			v.Interrupted, v.Live.Nodes[0].DeletedUnix = takenBack("i-old"), now
		}, "Retired default-old Expired 0 false -"},
		"terminating, its node Ready and EC2 silent": {func(v *lifecycle.View) { claim(v, old).State, v.Instances = model.Terminating, v.Instances[1:] }, ""},
		"not shown, and its node deleted":            {func(v *lifecycle.View) { v.Instances, v.Live.Nodes[0].DeletedUnix = v.Instances[1:], now }, "NodeDeleted default-old NodeDeleted 0 false -"},
	} {
		t.Run(name, func(t *testing.T) {
			view := healthy()
			c.change(&view)
			if got := found(view); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			for i := range view.Records.Claims { // whatever must end does so though a command has it
				view.Records.Claims[i].Command = "c1"
			}
			view.Records.Commands = []model.Command{{ID: "c1", State: model.CommandReplacing}}
			if got := found(view); got != c.want {
				t.Errorf("of an open command: found %q, want %q", got, c.want)
			}
			for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
				if why := f.Why(); why == "" || why == string(f.Kind) && f.Kind != lifecycle.Retired {
					t.Errorf("%s does not say why: %q", f.Kind, why)
				}
			}
		})
	}
}

// F108, R22: whoever deletes a NodeClaim or a Node ends the claim at the next check; also one that EC2 does not show yet.
func TestF108DeletingObjectsEndsTheClaim(t *testing.T) {
	view := healthy()
	view.Live.Objects[old].DeletedUnix, view.Live.Nodes[1].DeletedUnix = now-1, now-1
	if got := found(view); got != "ObjectDeleted default-old NodeClaimDeleted 0 false -, NodeDeleted default-joined NodeDeleted 0 false -" {
		t.Error(got)
	}
}

// V133: where a NodePool is deleted, the end of its NodeClaims names the NodePool; where NodePools are unknown, it does not.
func TestV133ADeletedNodePoolIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		pools []string
		want  string
	}{
		"deleted":   {[]string{"other"}, "NodePool default was deleted"},
		"the last":  {[]string{}, "NodePool default was deleted"},
		"there":     {[]string{"default"}, "its NodeClaim object was deleted"},
		"not known": {nil, "its NodeClaim object was deleted"},
	} {
		view := healthy()
		view.Live.Objects[old].DeletedUnix, view.Live.Pools = now-1, c.pools
		f := lifecycle.Diagnose(view, lifecycle.Settings{})
		if len(f) != 1 || f[0].Kind != lifecycle.ObjectDeleted || f[0].Why() != c.want {
			t.Errorf("%s: %+v, want %q", name, f, c.want)
		}
	}
}

func TestR22AClaimDeletedWhileItLaunchesNeedNotShow(t *testing.T) {
	view := healthy()
	view.Instances = slices.Delete(view.Instances, young, young+1)
	view.Live.Objects[young].DeletedUnix = now
	if got := found(view); got != "ObjectDeleted default-young NodeClaimDeleted 0 false -" {
		t.Error(got)
	}
}

// F118: a node that is not Ready and whose instance is missing is closed, never drained.
func TestF118AMissingInstanceIsClosedNotDrained(t *testing.T) {
	view := healthy()
	view.Instances = view.Instances[1:]
	view.Live.Nodes[0].Ready, view.Live.Nodes[0].DeletedUnix = false, now
	if got := found(view); got != "Missing default-old InstanceMissing 30 true -" {
		t.Error(got)
	}
}

// CT-05, F148, M27: instances of a capacity block are disrupted 40 minutes before it ends, and emptied before EC2 ends
// them.
func TestCT05F148CapacityBlocksAreGivenBackInTime(t *testing.T) {
	view := healthy()
	claim := &view.Records.Claims[joined]
	claim.BlockEndsUnix, claim.GraceSeconds = now+2400, seconds(7200)
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 1 || f[0].Kind != lifecycle.BlockEnds || f[0].DeadlineUnix != now+600-5 || !strings.Contains(f[0].Why(), "i-joined runs in ends at 20") {
		t.Errorf("%+v", f)
	}
}

// F106: a claim ends at its age limit, whoever owns it; static pools' too, which look no different here.
func TestF106ExpiredClaimsEnd(t *testing.T) {
	view := healthy()
	view.Records.Claims[old].ExpireSeconds = seconds(86_400)
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 1 || f[0].Kind != lifecycle.Expired || !strings.Contains(f[0].Why(), "expires after 24h0m0s (expireAfter)") {
		t.Errorf("%+v", f)
	}
	view.Records.NowUnix--
	if f := lifecycle.Diagnose(view, lifecycle.Settings{}); len(f) > 0 {
		t.Errorf("a second earlier: %+v", f)
	}
}

// aged is a view of n claims of one pool that are all older than their expireAfter, the last the oldest.
func aged(n int) lifecycle.View {
	view := lifecycle.View{Cluster: "web", Records: model.ClusterRecords{NowUnix: now}}
	for i := range n {
		id := fmt.Sprintf("%03d", i)
		made := now - 1000 - int64(i)
		view.Instances = append(view.Instances, instance(id, made))
		view.Records.Claims = append(view.Records.Claims, model.Claim{
			Name: "default-" + id, Pool: "default", Class: "default", State: model.Initialized, InstanceID: "i-" + id, ProviderID: "aws:///a/i-" + id,
			NodeName: "node-" + id, NodeUID: "n-" + id, CreatedUnix: made, LaunchedUnix: made, ExpireSeconds: seconds(900),
		})
		view.Live.Nodes = append(view.Live.Nodes, model.Node{
			Name: "node-" + id, UID: "n-" + id, ProviderID: "aws:///a/i-" + id, Ready: true,
			Labels: map[string]string{model.LabelRegistered: "true", model.LabelNodePool: "default"},
		})
	}
	return view
}

// S32: all nodes of a pool expire in the same minute: a tenth of them at a time, the oldest first; while their class is not ready,
// or EC2 refuses it, or its instances do not join, none: what runs goes on running, and an event says so.
func TestS32ExpiryOfAllAtOnce(t *testing.T) {
	view := aged(25)
	if got := found(view); got != "Expired default-023 Expired 0 false -, Expired default-024 Expired 0 false -, Held default Expired 0 false -" {
		t.Error(got)
	}
	if got := found(aged(3)); got != "Expired default-002 Expired 0 false -, Held default Expired 0 false -" {
		t.Error(got)
	}
	for name, change := range map[string]func(s *model.ClusterRecords){
		"not ready": func(s *model.ClusterRecords) {
			s.Classes = []model.ClassRecord{{Name: "other"}, {Name: "default", Status: model.ClassStatus{Problems: []model.ClassProblem{{Condition: "AMIsReady", Message: "no image"}}}}}
		},
		"refused": func(s *model.ClusterRecords) {
			s.Notes.Refusals = []model.ClassRefusal{{Class: "default", Reason: "Unauthorized", Message: "no permission", UntilUnix: now + 1}}
		},
		"does not join": func(s *model.ClusterRecords) {
			s.Notes.ClassSuspensions = []model.ClassSuspension{{Class: "default", UntilUnix: now + 1}}
		},
	} {
		view := aged(25)
		change(&view.Records)
		f := lifecycle.Diagnose(view, lifecycle.Settings{})
		if len(f) != 1 || f[0].Kind != lifecycle.Deferred || !strings.Contains(f[0].Why(), "so no replacement could ") || !strings.Contains(f[0].Why(), "claim default-000, and 24 more") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for name, change := range map[string]func(s *model.ClusterRecords){
		"another class is not ready": func(s *model.ClusterRecords) {
			s.Classes = []model.ClassRecord{{Name: "other", Status: model.ClassStatus{Problems: []model.ClassProblem{{}}}}, {Name: "default"}}
		},
		"refused before": func(s *model.ClusterRecords) {
			s.Notes.Refusals = []model.ClassRefusal{{Class: "default", UntilUnix: now}, {Class: "other", UntilUnix: now + 9}}
			s.Notes.ClassSuspensions = []model.ClassSuspension{{Class: "default", UntilUnix: now}, {Class: "other", UntilUnix: now + 9}}
		},
	} {
		view := aged(1)
		change(&view.Records)
		if got := found(view); got != "Expired default-000 Expired 0 false -" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// S32: nodes that are found to end for anything else in the same look are none of those that a tenth is taken of: of 20 nodes two may end
// for their age, of 19 one.
func TestS32NodesThatEndForAnythingElseAreNotCounted(t *testing.T) {
	if got := len(lifecycle.Diagnose(aged(20), lifecycle.Settings{})); got != 3 { // two, and one that says that others are put off
		t.Fatalf("%d findings of 20 nodes", got)
	}
	view := aged(20)
	view.Live.Nodes[0].DeletedUnix = now - 1
	expired := 0
	for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
		if f.Kind == lifecycle.Expired {
			expired++
		}
	}
	if expired != 1 {
		t.Errorf("%d end for their age beside one that people deleted, want one", expired)
	}
}

// A pool that wants its expiry within budgets is left to whoever keeps them; the others are not. Where nobody can tell which those
// are nothing of any pool is ended for its age, an event says so, and what else must end does.
func TestF106ExpiryWithinBudgetsIsNotDiagnosed(t *testing.T) {
	view := aged(3)
	view.Live.Gentle = []string{"default", "other"}
	if got := found(view); got != "" {
		t.Error(got)
	}
	view.Live.Gentle = []string{"other"}
	if got := found(view); got != "Expired default-002 Expired 0 false -, Held default Expired 0 false -" {
		t.Error(got)
	}
	view.Live.Gentle, view.Live.PoolsUnread = nil, "nodepools is forbidden"
	view.Interrupted = takenBack("i-001")
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 2 || f[0].Kind != lifecycle.Interrupted || f[1].Kind != lifecycle.Deferred || !strings.Contains(f[1].Why(), "is unknown: nodepools is forbidden (claim default-000, and one more)") {
		t.Errorf("%+v", f)
	}
	view = aged(1) // one that people made by hand is of no pool
	view.Records.Claims[0].Pool, view.Live.PoolsUnread = "", "nodepools is forbidden"
	if got := found(view); got != "Expired default-000 Expired 0 false -" {
		t.Error(got)
	}
}

// What a command has moves on as everything does: from the states its claims may be in to the end.
func TestClaimsOfCommandsMayEnd(t *testing.T) {
	for _, state := range []model.ClaimState{model.Registered, model.Initialized} {
		if next, moves := lifecycle.Next(state, lifecycle.EndRequested); !moves || next != model.Draining {
			t.Errorf("%s becomes %s", state, next)
		}
	}
}

// R30: while a node is being given up for its age no other of a small pool is; one that cannot be drained stops the others for
// half an hour only, and is itself not found again.
func TestR30OneExpiringNodeAtATime(t *testing.T) {
	view := aged(5)
	drain := func(i int, code string, since int64) {
		c := &view.Records.Claims[i]
		c.State, c.FailureCode, c.Drain = model.Draining, code, &model.Drain{SinceUnix: since}
	}
	drain(4, model.EndedExpired, now-1799)
	if got := found(view); got != "Held default Expired 0 false -" {
		t.Error(got)
	}
	drain(4, model.EndedExpired, now-1800)
	if got := found(view); got != "Expired default-003 Expired 0 false -, Held default Expired 0 false -" {
		t.Error(got)
	}
	drain(4, model.EndedSpotInterrupted, now-10)
	if got := found(view); got != "Expired default-003 Expired 0 false -, Held default Expired 0 false -" {
		t.Error(got)
	}
}

// sick is a pool of n nodes, of which bad are unhealthy.
func sick(n, bad int, pool string) lifecycle.View {
	view := aged(n)
	for i := range n {
		view.Records.Claims[i].ExpireSeconds = nil
		view.Live.Nodes[i].Labels[model.LabelNodePool] = pool
		if i < bad {
			view.Live.Nodes[i].Conditions = []model.NodeCondition{{Type: "Ready", Status: "Unknown", SinceUnix: now - 1800}}
		}
	}
	return view
}

// CT-08, F146: at most a fifth of a pool's nodes, rounded up, may be unhealthy for any of them to be repaired.
func TestCT08RepairGuard(t *testing.T) {
	for _, c := range []struct {
		nodes, bad, want int
	}{{1, 1, 1}, {5, 1, 1}, {5, 2, 0}, {6, 2, 2}, {10, 2, 2}, {10, 3, 0}, {11, 3, 3}, {100, 20, 20}, {100, 21, 0}} {
		view := sick(c.nodes, c.bad, "default")
		repaired, held := 0, 0
		for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
			switch f.Kind {
			case lifecycle.Unhealthy:
				repaired++
			case lifecycle.Deferred:
				held++
			default:
				t.Errorf("%+v", f)
			}
		}
		if repaired != c.want || (held == 1) != (c.want == 0) {
			t.Errorf("%d of %d unhealthy: %d repaired, %d held", c.bad, c.nodes, repaired, held)
		}
	}
	// Those that are bad for a moment only count among the unhealthy.
	view := sick(5, 1, "default")
	view.Live.Nodes[4].Conditions = []model.NodeCondition{{Type: "KernelReady", Status: "False", SinceUnix: now - 1}}
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 1 || f[0].Kind != lifecycle.Deferred || f[0].Subject != "default" || !strings.Contains(f[0].Why(), "2 of 5 nodes are unhealthy; while there are more than 1, none is repaired") {
		t.Errorf("%+v", f)
	}
	// Another pool's trouble is its own; nodes without a pool are evaluated by the whole cluster.
	view = sick(5, 1, "default")
	for i := range 5 {
		view.Live.Nodes = append(view.Live.Nodes, model.Node{Name: fmt.Sprint("x", i), Labels: map[string]string{model.LabelNodePool: "x"}, Conditions: []model.NodeCondition{{Type: "Ready", Status: "False", SinceUnix: now - 9}}})
	}
	if got := found(view); got != "Unhealthy default-000 Unhealthy 30 true 0" {
		t.Error(got)
	}
	for i := range 5 {
		delete(view.Live.Nodes[i].Labels, model.LabelNodePool)
	}
	if got := found(view); got != "Held  Unhealthy 0 false -" {
		t.Error(got)
	}
}

// M79: people choose how many of a pool's nodes may be unhealthy for any of them to be repaired.
func TestM79RepairUpToAShareOfPeoplesChoice(t *testing.T) {
	for _, c := range []struct {
		percent   int64
		bad, want int
	}{{0, 2, 2}, {0, 3, 0}, {50, 5, 5}, {50, 6, 0}, {100, 10, 10}, {1, 1, 1}, {1, 2, 0}} {
		repaired := 0
		for _, f := range lifecycle.Diagnose(sick(10, c.bad, "default"), lifecycle.Settings{RepairPercent: c.percent}) {
			if f.Kind == lifecycle.Unhealthy {
				repaired++
			}
		}
		if repaired != c.want {
			t.Errorf("%d of 10 unhealthy, at most %d%%: %d repaired, want %d", c.bad, c.percent, repaired, c.want)
		}
	}
}

// CT-08, M104: one time for all of them, where people say so.
func TestCT08RepairAfterATimeOfPeoplesChoice(t *testing.T) {
	for condition, since := range map[string]int64{"Ready": 120, "AcceleratedHardwareReady": 120, "KernelReady": 119} {
		view := sick(5, 0, "default")
		view.Live.Nodes[0].Conditions = []model.NodeCondition{{Type: condition, Status: "False", SinceUnix: now - since}}
		repaired := slices.ContainsFunc(lifecycle.Diagnose(view, lifecycle.Settings{RepairAfter: 120}), func(f lifecycle.Finding) bool { return f.Kind == lifecycle.Unhealthy })
		if repaired != (since >= 120) {
			t.Errorf("%s bad for %d s: repaired %v", condition, since, repaired)
		}
		if got := lifecycle.Diagnose(view, lifecycle.Settings{}); len(got) != 0 {
			t.Errorf("%s bad for %d s, by default: %+v", condition, since, got)
		}
	}
}

// CT-08: the conditions and how long each is tolerated.
func TestCT08RepairPolicies(t *testing.T) {
	for condition, tolerated := range map[string]int64{
		"Ready/False": 1800, "Ready/Unknown": 1800, "AcceleratedHardwareReady/False": 600, "StorageReady/False": 1800, "NetworkingReady/False": 1800,
		"KernelReady/False": 1800, "ContainerRuntimeReady/False": 1800, "Ready/True": 0, "AcceleratedHardwareReady/Unknown": 0, "DiskPressure/False": 0,
	} {
		kind, status, _ := strings.Cut(condition, "/")
		view := healthy()
		view.Live.Nodes[0].Conditions = []model.NodeCondition{{Type: kind, Status: status, SinceUnix: now - tolerated}}
		want := "Unhealthy default-old Unhealthy 30 true 0"
		if tolerated == 0 {
			want, view.Live.Nodes[0].Conditions[0].SinceUnix = "", now-99_999
		}
		if got := found(view); got != want {
			t.Errorf("%s: %q", condition, got)
		}
		if view.Live.Nodes[0].Conditions[0].SinceUnix++; tolerated > 0 && found(view) != "" {
			t.Errorf("%s, a second earlier: %q", condition, found(view))
		}
	}
}

// F146: the condition that is due first decides, and a node is repaired by force at once: its deadline is now.
func TestF146TheFirstConditionThatIsDueDecides(t *testing.T) {
	view := healthy()
	view.Records.Claims[old].GraceSeconds = seconds(3600)
	view.Live.Nodes[0].Conditions = []model.NodeCondition{
		{Type: "AcceleratedHardwareReady", Status: "False", SinceUnix: now - 601}, {Type: "Ready", Status: "False", SinceUnix: now - 1700}, {Type: "StorageReady", Status: "False"},
	}
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 1 || f[0].DeadlineUnix != now || !strings.Contains(f[0].Why(), "condition AcceleratedHardwareReady of node node-old has been False since") {
		t.Errorf("%+v", f)
	}
}

// R32: an unreachable node is ended within the time that is tolerated, not coaxed for hours.
func TestR32AnUnreachableNodeIsFound(t *testing.T) {
	view := healthy()
	view.Live.Nodes[0].Ready, view.Live.Nodes[0].ReadyUnix = false, now-1801
	view.Live.Nodes[0].Conditions = []model.NodeCondition{{Type: "Ready", Status: "Unknown", SinceUnix: now - 1801}}
	if got := found(view); got != "Unhealthy default-old Unhealthy 30 true 0" {
		t.Error(got)
	}
}

// R62: an instance whose status checks fail is ended, by now, and does not have its pods asked.
func TestR62AnImpairedInstanceIsEndedNotCoaxed(t *testing.T) {
	view := healthy()
	view.Records.Claims[old].GraceSeconds = seconds(3600)
	view.Impaired = []model.Impairment{{InstanceID: "i-old", Kind: model.ImpairedSystem, SinceUnix: now - 120, Message: "loss of power"}}
	f := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(f) != 1 || f[0].DeadlineUnix != now || f[0].Code != model.EndedStatusFailed || f[0].Why() != "EC2's check system_status fails: loss of power" {
		t.Errorf("%+v", f)
	}
}

// S5, R20: what has no id matches nothing, whatever is asked of it.
func TestS5BlankIdsMatchNothing(t *testing.T) {
	view := healthy()
	view.Records.Claims = append(view.Records.Claims, model.Claim{Name: "blank", State: model.Registered, ExpireSeconds: seconds(1), BlockEndsUnix: 1})
	view.Live.Nodes = append(view.Live.Nodes, model.Node{Name: "blank", DeletedUnix: now, Conditions: []model.NodeCondition{{Type: "Ready", Status: "False", SinceUnix: 1}}})
	view.Interrupted, view.Impaired = takenBack(""), []model.Impairment{{Kind: model.ImpairedSystem, SinceUnix: 1}}
	if got := found(view); got != "" {
		t.Error(got)
	}
}

// Whatever order the lists are in, what is found and what is said of it are the same.
func TestEndsDoNotDependOnOrder(t *testing.T) {
	view := sick(12, 4, "default")
	for i := range 12 {
		view.Records.Claims[i].ExpireSeconds = seconds(10)
	}
	text := func() (out string) {
		for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
			out += fmt.Sprintf("%s %s %s\n", f.Kind, f.Subject, f.Why())
		}
		return out
	}
	want := text()
	slices.Reverse(view.Records.Claims)
	slices.Reverse(view.Live.Nodes)
	slices.Reverse(view.Instances)
	if got := text(); got != want {
		t.Errorf("%s\nthen\n%s", want, got)
	}
}

// takenBack is a spot instance that EC2 takes back, without saying since when.
func takenBack(id string) []model.SpotInterruption { return takenBackSince(id, 0) }

func takenBackSince(id string, sinceUnix int64) []model.SpotInterruption {
	return []model.SpotInterruption{{InstanceID: id, SinceUnix: sinceUnix}}
}
