package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

type view = lifecycle.DriftView

func asks(list ...model.Requirement) func(*view) {
	return func(v *view) { v.Pool.Template.Requirements = list }
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func is(key string, operator model.Operator, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: operator, Values: values}
}

// labeled gives the claim the labels of an instance that was launched for a pool with custom labels.
func labeled(v *view) {
	v.Claim.Zone, v.Claim.Pool, v.Claim.Class = "us-west-2a", "pool", "default"
	v.Claim.Labels = map[string]string{
		model.LabelInstanceType: "m5.large", model.LabelZone: "us-west-2a", model.LabelCapacityType: model.Reserved, model.LabelArch: "amd64",
		"karpenter.k8s.aws/instance-cpu": "2", "team": "a",
	}
}

// F132: whatever is hashed of a pool's template drifts its claims, and comes before every other reason.
func TestF132DriftByTemplateChange(t *testing.T) {
	evaluated(t, driftCases{
		"the template changed": {func(v *view) { v.Pool.Hash = "12" }, "NodePoolDrifted"},
		"and requirements too": {func(v *view) {
			labeled(v)
			asks(in(model.LabelArch, "arm64"))(v)
			v.Pool.Hash = "12"
		}, "NodePoolDrifted"},
		"the class is not resolved": {func(v *view) { v.Pool.Hash, v.Class.Status.ObservedGeneration = "12", 1 }, "NodePoolDrifted"},
		"one annotation is missing": {func(v *view) {
			v.Pool.Hash = "12"
			delete(v.Claim.Annotations, model.AnnotationPoolHashVersion)
		}, ""},
	})
}

// F133: narrowing requirements drifts the claims that do not meet them, and no other.
func TestF133DriftByRequirements(t *testing.T) {
	const cpu, gpu = "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-gpu-count"
	with := func(list ...model.Requirement) func(*view) {
		return func(v *view) {
			labeled(v)
			asks(list...)(v)
		}
	}
	cases := driftCases{
		"met":                                {with(in(model.LabelArch, "amd64"), in("team", "a", "b"), is(cpu, model.Gt, "1")), ""},
		"another architecture":               {with(in(model.LabelArch, "arm64")), "RequirementsDrifted"},
		"another zone":                       {with(in(model.LabelZone, "us-west-2b")), "RequirementsDrifted"},
		"by the zone's old name":             {with(in("failure-domain.beta.kubernetes.io/zone", "us-west-2b")), "RequirementsDrifted"},
		"met by the zone's old name":         {with(in("failure-domain.beta.kubernetes.io/zone", "us-west-2a")), ""},
		"another way of buying":              {with(in(model.LabelCapacityType, model.Spot)), "RequirementsDrifted"},
		"out of bounds":                      {with(is(cpu, model.Gt, "2")), "RequirementsDrifted"},
		"forbidden value":                    {with(is("team", model.NotIn, "a")), "RequirementsDrifted"},
		"a custom key that is not there":     {with(in("tier", "front")), "RequirementsDrifted"},
		"any value of one that is not there": {with(is("tier", model.Exists)), "RequirementsDrifted"},
		"a value other than one of none":     {with(is("tier", model.NotIn, "front")), ""},
		"absent as asked":                    {with(is("tier", model.DoesNotExist)), ""},
		"a label the type does not have":     {with(is(gpu, model.Exists)), "RequirementsDrifted"},
		"minValues alone":                    {with(model.Requirement{Key: model.LabelArch, Operator: model.Exists, MinValues: 50}), ""},
		"a pool whose requirements are none": {with(is(cpu, model.Gt, "many")), ""},
		"the class is not resolved": {func(v *view) {
			with(in(model.LabelArch, "arm64"))(v)
			v.Class.Status.ObservedGeneration = 1
		}, "RequirementsDrifted"},
		"before the class": {func(v *view) {
			with(in(model.LabelArch, "arm64"))(v)
			v.Class.Hash = "78"
		}, "RequirementsDrifted"},
		"no label, but the type has it": {func(v *view) {
			with(in(model.LabelArch, "arm64"))(v)
			delete(v.Claim.Labels, model.LabelArch)
		}, "RequirementsDrifted"},
		"no label, but the claim says": {func(v *view) {
			with(in(model.LabelZone, "us-west-2a"))(v)
			delete(v.Claim.Labels, model.LabelZone)
		}, ""},
		"a partition that is not known yet": {func(v *view) {
			with(in(model.LabelPartition, "1"))(v)
			v.Claim.Labels[model.LabelPartition] = ""
		}, ""},
	}
	evaluated(t, cases)
	drift, _ := lifecycle.Drifted(like(with(in(model.LabelArch, "arm64"))))
	for _, want := range []string{"NodePool pool", "kubernetes.io/arch In [arm64]", `"amd64"`} {
		if !strings.Contains(drift.Message, want) {
			t.Errorf("%q does not say %s", drift.Message, want)
		}
	}
	unknown := like(with(in(model.LabelArch, "arm64")))
	delete(unknown.Claim.Labels, model.LabelArch)
	unknown.Type = nil
	if drift, _ := lifecycle.Drifted(unknown); drift.Reason != "" {
		t.Errorf("a label nobody knows made a drift: %+v", drift)
	}
}

// F134: a type that nobody could launch any more as it was, after an hour, and another image.
func TestF134DriftByMissingType(t *testing.T) {
	sold := func(age int64, offerings []model.Offering, change func(*view)) func(*view) {
		return func(v *view) {
			labeled(v)
			v.Claim.CapacityType, v.Claim.Reservation, v.Instance.Reservation = model.OnDemand, "", ""
			v.Claim.CreatedUnix, v.NowUnix, v.Sold = 1_000, 1_000+age, true
			v.Type.Offerings = offerings
			if change != nil {
				change(v)
			}
		}
	}
	here := []model.Offering{{Zone: "us-west-2a", CapacityType: model.OnDemand, Available: false}, {Zone: "us-west-2a", CapacityType: model.Spot}}
	gone := func(v *view) { v.Type = nil }
	evaluated(t, driftCases{
		"sold, though nothing is left":      {sold(7200, here, nil), ""},
		"not listed":                        {sold(3600, here, gone), "InstanceTypeNotFound"},
		"not listed, and a young machine":   {sold(3599, here, gone), "?"},
		"no offer":                          {sold(7200, nil, nil), "InstanceTypeNotFound"},
		"no offer, and a young machine":     {sold(3599, nil, nil), ""},
		"not in the zone":                   {sold(7200, []model.Offering{{Zone: "us-west-2b", CapacityType: model.OnDemand}}, nil), "InstanceTypeNotFound"},
		"not that way":                      {sold(7200, here[1:], nil), "InstanceTypeNotFound"},
		"the catalogue is not known":        {sold(7200, nil, func(v *view) { v.Sold = false }), ""},
		"unlisted in a catalogue not known": {sold(7200, nil, func(v *view) { v.Sold, v.Type = false, nil }), "?"},
		"the class is not resolved":         {sold(7200, nil, func(v *view) { v.Class.Status.ObservedGeneration = 1 }), "?"},
		"before the class's hash":           {sold(7200, nil, func(v *view) { v.Class.Hash = "78" }), "InstanceTypeNotFound"},
		"nobody knows how old it is":        {sold(7200, nil, func(v *view) { v.Claim.CreatedUnix = 0 }), ""},
		"a reserved one is sold on-demand": {sold(7200, here, func(v *view) {
			v.Claim.CapacityType = model.Reserved
			v.Claim.Labels[model.LabelReservationID] = "cr-gone"
		}), ""},
		"a reserved one is sold reserved": {sold(7200, []model.Offering{{Zone: "us-west-2a", CapacityType: model.Reserved, ReservationID: "cr-other"}}, func(v *view) {
			v.Claim.CapacityType = model.Reserved
		}), ""},
		"a reserved one is sold as spot": {sold(7200, here[1:], func(v *view) { v.Claim.CapacityType = model.Reserved }), "InstanceTypeNotFound"},
		"another image":                  {sold(7200, here, func(v *view) { v.Class.Status.Images[1].ID = "ami-new" }), "AMIDrift"},
	})
}

// F135: what says how nodes behave or how many there are drifts none of them.
func TestF135BehavioralFieldsDoNotDrift(t *testing.T) {
	never, replicas := int64(5), int64(3)
	evaluated(t, driftCases{
		"weight":     {func(v *view) { v.Pool.Weight = 50 }, ""},
		"limits":     {func(v *view) { v.Pool.Limits = model.Resources{model.CPU: 1} }, ""},
		"replicas":   {func(v *view) { v.Pool.Replicas = &replicas }, ""},
		"generation": {func(v *view) { v.Pool.Generation = 99 }, ""},
		"disruption": {func(v *view) {
			v.Pool.Disruption = model.Disruption{Policy: "WhenEmpty", ConsolidateAfterSeconds: &never, Budgets: []model.Budget{{Nodes: "0"}}}
		}, ""},
		"annotations of the pool": {func(v *view) { v.Pool.Annotations = map[string]string{model.AnnotationGentleExpiry: "true"} }, ""},
	})
}

// S31, R45: an upgrade changes the rules by which both hashes are made, and nobody edits anything: of a thousand claims of the older
// build none drifts, at the first check or later, and each is distinguished from an edit that comes after.
func TestS31_R45_HashRulesChangedOnUpgradeIsNoDrift(t *testing.T) {
	for range 1000 {
		v := like(func(v *view) {
			v.Claim.Annotations[model.AnnotationPoolHash], v.Claim.Annotations[model.AnnotationPoolHashVersion] = "1", "joiner-v0"
			v.Claim.Annotations[model.AnnotationClassHash], v.Claim.Annotations[model.AnnotationClassHashVersion] = "2", "joiner-v0"
		})
		for check := range 2 {
			if d, err := lifecycle.Drifted(v); err != nil || d.Reason != "" {
				t.Fatalf("look %d: %+v %v", check, d, err)
			}
			v.Claim.Annotations, _ = lifecycle.Rehashed(v.Claim, v.Pool, v.Class, v.CA)
		}
		v.Pool.Hash = "edited"
		if d, _ := lifecycle.Drifted(v); d.Reason != lifecycle.PoolDrifted {
			t.Fatalf("an edit after the upgrade: %+v", d)
		}
	}
}

// S31: a claim whose instance drifted by requirements goes through a change of rules; when the requirements are widened again it is as
// any other, whatever the rules were.
func TestS31RequirementsAreTakenBackAfterAChangeOfRules(t *testing.T) {
	v := like(func(v *view) {
		labeled(v)
		asks(in(model.LabelArch, "arm64"))(v)
		v.Claim.Drift = lifecycle.RequirementsDrifted
		v.Claim.Annotations[model.AnnotationPoolHash], v.Claim.Annotations[model.AnnotationPoolHashVersion] = "1", "joiner-v0"
	})
	v.Claim.Annotations, _ = lifecycle.Rehashed(v.Claim, v.Pool, v.Class, v.CA)
	if d, _ := lifecycle.Drifted(v); d.Reason != lifecycle.RequirementsDrifted {
		t.Fatalf("%+v", d)
	}
	v.Pool.Template.Requirements = nil
	if d, err := lifecycle.Drifted(v); err != nil || d.Reason != "" {
		t.Errorf("%+v %v", d, err)
	}
}
