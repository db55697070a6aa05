package lifecycle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// like is a claim that is just what would be launched now, changed by change.
func like(change func(*lifecycle.DriftView)) lifecycle.DriftView {
	class := model.Class{Name: "default", Generation: 2, Hash: "77", Status: model.ClassStatus{
		ObservedGeneration: 2,
		Images: []model.Image{
			{ID: "ami-arm", Requirements: []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{"arm64"}}}},
			{ID: "ami-x86", Requirements: []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}}}},
		},
		SecurityGroups: []model.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}},
		Subnets:        []model.Subnet{{ID: "subnet-b"}, {ID: "subnet-a"}},
		Reservations:   []model.Reservation{{ID: "cr-1"}},
		PlacementGroup: &model.PlacementGroup{ID: "pg-1"},
	}}
	view := lifecycle.DriftView{
		Claim: model.Claim{
			Name: "a", InstanceID: "i-1", ImageID: "ami-x86", InstanceType: "m5.large", CapacityType: model.Reserved, Reservation: "cr-1",
			Annotations: map[string]string{
				model.AnnotationPoolHash: "11", model.AnnotationPoolHashVersion: model.PoolHashVersion,
				model.AnnotationClassHash: class.HashFor([]byte("ca")), model.AnnotationClassHashVersion: model.ClassHashVersion,
			},
		},
		Pool: &model.Pool{Name: "pool", Hash: "11"}, Class: &class, CA: []byte("ca"),
		Type: &model.InstanceType{Name: "m5.large", Labels: map[string][]string{model.LabelArch: {"amd64"}}},
		Instance: &model.Instance{
			ID: "i-1", State: "running", SecurityGroups: []string{"sg-1", "sg-2"}, SubnetID: "subnet-a", Reservation: "cr-1", PlacementGroup: "pg-1",
		},
	}
	if change != nil {
		change(&view)
	}
	return view
}

// evaluated expects a drift that names what is different; "?" is an error, that is no conclusion.
func evaluated(t *testing.T, cases map[string]struct {
	change func(*lifecycle.DriftView)
	want   string
}) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			drift, err := lifecycle.Drifted(like(c.change))
			got := drift.Reason
			if err != nil {
				if got != "" {
					t.Errorf("an error and %q", got)
				}
				got = "?"
			}
			if got != c.want || (got != "" && got != "?") != (drift.Message != "") {
				t.Errorf("%q (%s, %v), want %q", got, drift.Message, err, c.want)
			}
		})
	}
}

type driftCases = map[string]struct {
	change func(*lifecycle.DriftView)
	want   string
}

func TestWhatIsAsItWouldBeLaunchedHasNotDrifted(t *testing.T) {
	evaluated(t, driftCases{
		"nothing":             {nil, ""},
		"order of groups":     {func(v *lifecycle.DriftView) { v.Instance.SecurityGroups = []string{"sg-2", "sg-1"} }, ""},
		"no pool":             {func(v *lifecycle.DriftView) { v.Pool, v.Claim.ImageID = nil, "ami-old" }, ""},
		"no class":            {func(v *lifecycle.DriftView) { v.Class, v.Claim.ImageID = nil, "ami-old" }, ""},
		"class being deleted": {func(v *lifecycle.DriftView) { v.Class.DeletedUnix, v.Claim.ImageID = 1, "ami-old" }, ""},
	})
}

// S31, NC-26, NC-32: hashes are compared where both are of today's rules.
func TestNC32HashesDrift(t *testing.T) {
	note := func(key, value string) func(*lifecycle.DriftView) {
		return func(v *lifecycle.DriftView) { v.Claim.Annotations[key] = value }
	}
	evaluated(t, driftCases{
		"the class changed":                    {func(v *lifecycle.DriftView) { v.Class.Hash = "78" }, "NodeClassDrift"},
		"the certificate authority changed":    {func(v *lifecycle.DriftView) { v.CA = []byte("rotated") }, "NodeClassDrift"},
		"the pool's template changed":          {func(v *lifecycle.DriftView) { v.Pool.Hash = "12" }, "NodePoolDrifted"},
		"both: the pool is told":               {func(v *lifecycle.DriftView) { v.Pool.Hash, v.Class.Hash = "12", "78" }, "NodePoolDrifted"},
		"class hash of older rules":            {func(v *lifecycle.DriftView) { note(model.AnnotationClassHashVersion, "v5")(v); v.Class.Hash = "78" }, ""},
		"pool hash of older rules":             {func(v *lifecycle.DriftView) { note(model.AnnotationPoolHashVersion, "v2")(v); v.Pool.Hash = "12" }, ""},
		"claim without a hash":                 {func(v *lifecycle.DriftView) { v.Claim.Annotations = nil; v.Class.Hash = "78" }, ""},
		"class whose hash could not be worked": {func(v *lifecycle.DriftView) { v.Class.Hash = "" }, ""},
	})
}

func TestNC28AMIDriftIsAboutTheTypesOwnImage(t *testing.T) {
	evaluated(t, driftCases{
		"another image for the type": {func(v *lifecycle.DriftView) { v.Class.Status.Images[1].ID = "ami-new" }, "AMIDrift"},
		"another image for others":   {func(v *lifecycle.DriftView) { v.Class.Status.Images[0].ID = "ami-new" }, ""},
		"a newer one for the type": {func(v *lifecycle.DriftView) {
			v.Class.Status.Images = append([]model.Image{{ID: "ami-new"}}, v.Class.Status.Images...)
		}, "AMIDrift"},
		"the claim's image is not known": {func(v *lifecycle.DriftView) { v.Claim.ImageID = "" }, "?"},
		"the class has no image":         {func(v *lifecycle.DriftView) { v.Class.Status.Images = nil }, "?"},
		"no image fits":                  {func(v *lifecycle.DriftView) { v.Class.Status.Images = v.Class.Status.Images[:1] }, "AMIDrift"},
		"the type is not on offer":       {func(v *lifecycle.DriftView) { v.Type = nil }, "?"},
		"not resolved yet":               {func(v *lifecycle.DriftView) { v.Class.Status.ObservedGeneration = 1 }, "?"},
	})
}

func TestNC29SecurityGroupsAndSubnetDrift(t *testing.T) {
	evaluated(t, driftCases{
		"an extra group":           {func(v *lifecycle.DriftView) { v.Instance.SecurityGroups = []string{"sg-1", "sg-2", "sg-3"} }, "SecurityGroupDrift"},
		"a missing group":          {func(v *lifecycle.DriftView) { v.Instance.SecurityGroups = []string{"sg-1"} }, "SecurityGroupDrift"},
		"a subnet not selected":    {func(v *lifecycle.DriftView) { v.Instance.SubnetID = "subnet-c" }, "SubnetDrift"},
		"groups not known":         {func(v *lifecycle.DriftView) { v.Instance.SecurityGroups = nil }, "?"},
		"no group resolved":        {func(v *lifecycle.DriftView) { v.Class.Status.SecurityGroups = nil }, "?"},
		"no subnet resolved":       {func(v *lifecycle.DriftView) { v.Class.Status.Subnets = nil }, "?"},
		"EC2 does not show it":     {func(v *lifecycle.DriftView) { v.Instance = nil }, "?"},
		"the image is told before": {func(v *lifecycle.DriftView) { v.Instance, v.Claim.ImageID = nil, "ami-old" }, "AMIDrift"},
	})
}

func TestNC31CapacityReservationDrift(t *testing.T) {
	evaluated(t, driftCases{
		"a reservation not selected any more": {func(v *lifecycle.DriftView) { v.Class.Status.Reservations = nil }, "CapacityReservationDrift"},
		"it fell back to on-demand":           {func(v *lifecycle.DriftView) { v.Class.Status.Reservations, v.Instance.Reservation = nil, "" }, ""},
		"an on-demand machine that EC2 put into an open one": {func(v *lifecycle.DriftView) {
			v.Claim.CapacityType, v.Class.Status.Reservations = model.OnDemand, nil
		}, ""},
		"reservations could not be asked about": {func(v *lifecycle.DriftView) {
			v.Class.Status.Reservations = nil
			v.Class.Status.Problems = []model.ClassProblem{{Condition: "CapacityReservationsReady", Unknown: true}}
		}, "?"},
	})
}

func TestNC32PlacementGroupDrift(t *testing.T) {
	evaluated(t, driftCases{
		"removed": {func(v *lifecycle.DriftView) { v.Class.Status.PlacementGroup = nil }, "PlacementGroupDrift"},
		"added":   {func(v *lifecycle.DriftView) { v.Instance.PlacementGroup = "" }, "PlacementGroupDrift"},
		"changed": {func(v *lifecycle.DriftView) { v.Class.Status.PlacementGroup.ID = "pg-2" }, "PlacementGroupDrift"},
		"known by the label alone": {func(v *lifecycle.DriftView) {
			v.Instance.PlacementGroup, v.Claim.Labels = "", map[string]string{model.LabelPlacementGroup: "pg-1"}
		}, ""},
		// §12.19: a group that was not found is a problem of the class and no drift of its instances.
		"not found": {func(v *lifecycle.DriftView) {
			v.Class.Status.PlacementGroup = nil
			v.Class.Status.Problems = []model.ClassProblem{{Condition: "PlacementGroupReady"}}
		}, "?"},
	})
}

// S31: hashes made by rules of another version are brought up without an instance drifting, and one that had drifted stays so.
func TestNC27HashVersionMigration(t *testing.T) {
	old := like(func(v *lifecycle.DriftView) {
		v.Claim.Annotations = map[string]string{
			model.AnnotationPoolHash: "1", model.AnnotationPoolHashVersion: "v1", model.AnnotationClassHash: "2", model.AnnotationClassHashVersion: "v1", "other": "x",
		}
	})
	was := maps.Clone(old.Claim.Annotations)
	next, changed := lifecycle.Rehashed(old.Claim, old.Pool, old.Class, old.CA)
	if !changed || next[model.AnnotationPoolHash] != "11" || next[model.AnnotationPoolHashVersion] != model.PoolHashVersion ||
		next[model.AnnotationClassHash] != old.Class.HashFor(old.CA) || next[model.AnnotationClassHashVersion] != model.ClassHashVersion || next["other"] != "x" {
		t.Errorf("%v", next)
	}
	if !maps.Equal(old.Claim.Annotations, was) {
		t.Error("the claim's own annotations were written to")
	}
	old.Claim.Annotations = next
	if drift, err := lifecycle.Drifted(old); drift.Reason != "" || err != nil {
		t.Errorf("after the migration: %+v %v", drift, err)
	}
	if _, again := lifecycle.Rehashed(old.Claim, old.Pool, old.Class, old.CA); again {
		t.Error("migrated twice")
	}
	old.Claim.Annotations, old.Claim.Drift = was, "NodeClassDrift"
	next, changed = lifecycle.Rehashed(old.Claim, old.Pool, old.Class, old.CA)
	if !changed || next[model.AnnotationClassHash] != "2" || next[model.AnnotationClassHashVersion] != model.ClassHashVersion {
		t.Errorf("of a drifted claim: %v", next)
	}
	old.Claim.Annotations = next
	if drift, _ := lifecycle.Drifted(old); drift.Reason == "" {
		t.Error("a drifted claim is none any more")
	}
	if _, changed := lifecycle.Rehashed(old.Claim, nil, nil, nil); changed {
		t.Error("changed without pool and class")
	}
}

// S31, R45, F136: a cluster changes hands, or a build its rules. Nothing drifts by that, and what had drifted stays so, for
// the reason it had.
func TestF136_S31_R45_HashesOfKarpenterAreNoDrift(t *testing.T) {
	for _, test := range []struct{ reason, after string }{
		{"", ""}, {lifecycle.PoolDrifted, lifecycle.PoolDrifted}, {lifecycle.ClassDrifted, lifecycle.ClassDrifted},
		// Nothing of these is in the view, so a look at the instance finds them gone.
		{lifecycle.ImageDrifted, ""}, {lifecycle.SecurityGroupsDrifted, ""}, {lifecycle.SubnetDrifted, ""}, {lifecycle.PlacementGroupsDrifted, ""},
		// Looked for after the pool's hash, which was equal, and before the class's, which may have been another.
		{lifecycle.RequirementsDrifted, lifecycle.ClassDrifted}, {lifecycle.TypeDrifted, lifecycle.ClassDrifted}, {"SomethingElse", lifecycle.PoolDrifted},
	} {
		view := like(func(v *lifecycle.DriftView) {
			v.Claim.Drift = test.reason
			v.Claim.Annotations = map[string]string{
				model.AnnotationPoolHash: "16553871846239834014", model.AnnotationPoolHashVersion: "v3",
				model.AnnotationClassHash: "3787823467582339877", model.AnnotationClassHashVersion: "v6",
			}
		})
		if drift, err := lifecycle.Drifted(view); drift.Reason != "" || err != nil {
			t.Errorf("%q: hashes of Karpenter's rules were compared with ours: %+v %v", test.reason, drift, err)
		}
		next, changed := lifecycle.Rehashed(view.Claim, view.Pool, view.Class, view.CA)
		if !changed || next[model.AnnotationPoolHashVersion] != model.PoolHashVersion || next[model.AnnotationClassHashVersion] != model.ClassHashVersion {
			t.Errorf("%q: %v", test.reason, next)
		}
		view.Claim.Annotations = next
		if drift, err := lifecycle.Drifted(view); drift.Reason != test.after || err != nil {
			t.Errorf("%q: afterwards %+v %v, want %q", test.reason, drift, err, test.after)
		}
	}
	view := like(func(v *lifecycle.DriftView) {
		v.Claim.Drift, v.Claim.Annotations[model.AnnotationPoolHashVersion] = lifecycle.ImageDrifted, "v3"
		v.Claim.ImageID = "ami-old"
	})
	view.Claim.Annotations, _ = lifecycle.Rehashed(view.Claim, view.Pool, view.Class, view.CA)
	if drift, err := lifecycle.Drifted(view); drift.Reason != lifecycle.ImageDrifted || err != nil {
		t.Errorf("an image that still differs: %+v %v", drift, err)
	}
}

func TestCT05FellBack(t *testing.T) {
	view := like(func(v *lifecycle.DriftView) {
		v.Claim.Labels = map[string]string{
			model.LabelReservationID: "cr-1", model.LabelReservationType: "default", model.LabelInterruptible: "false", model.LabelCapacityType: model.Reserved, "team": "a",
		}
	})
	if _, fell := lifecycle.FellBackToOnDemand(view.Claim, *view.Instance); fell {
		t.Error("it is in its reservation")
	}
	view.Instance.Reservation = ""
	got, fell := lifecycle.FellBackToOnDemand(view.Claim, *view.Instance)
	if !fell || got.CapacityType != model.OnDemand || got.Reservation != "" || len(got.Labels) != 2 || got.Labels[model.LabelCapacityType] != model.OnDemand {
		t.Errorf("%v %+v", fell, got)
	}
	if len(view.Claim.Labels) != 5 {
		t.Error("the claim's own labels were written to")
	}
	if _, again := lifecycle.FellBackToOnDemand(got, *view.Instance); again {
		t.Error("an on-demand claim never becomes anything else")
	}
	view.Instance.State = "shutting-down"
	if _, fell := lifecycle.FellBackToOnDemand(view.Claim, *view.Instance); fell {
		t.Error("an instance that ends has left its reservation")
	}
}

func TestDriftMessagesNameBothSides(t *testing.T) {
	drift, _ := lifecycle.Drifted(like(func(v *lifecycle.DriftView) { v.Instance.SecurityGroups = []string{"sg-9"} }))
	for _, word := range []string{"sg-9", "sg-1, sg-2", "EC2NodeClass default"} {
		if !strings.Contains(drift.Message, word) {
			t.Errorf("%q does not say %q", drift.Message, word)
		}
	}
}
