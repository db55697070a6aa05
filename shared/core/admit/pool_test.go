package admit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

const atRequirements = "spec.template.spec.requirements"

func TestAPlainPoolIsOnlyToldWhatMatches(t *testing.T) {
	v := create(plain(nil), known())
	if !v.Allowed() || len(v.Warnings) != 1 {
		t.Fatalf("%+v", v)
	}
	said(t, v.Warnings, atRequirements+": 3 of the 5 instance types", "us-west-2", "from $0.0960 per hour (m5.large, on-demand, us-west-2a)")
}

func TestRefusals(t *testing.T) {
	const zone = model.LabelZone
	for name, c := range map[string]struct {
		change func(*model.Pool)
		begins string
		parts  []string
	}{
		"what validation found": {func(p *model.Pool) {
			p.Invalid = []string{`spec.limits.cpu: "x": no quantity. Remedy: Write a number.`}
		},
			`spec.limits.cpu: "x": no quantity. Remedy: Write a number.`, nil},
		"two lists without a value in common": {require(in(zone, "us-west-2a"), in(zone, "us-west-2b")),
			atRequirements + `[1]: "topology.kubernetes.io/zone In [us-west-2b]"`, []string{atRequirements + "[0], topology.kubernetes.io/zone In [us-west-2a]", "Remedy: "}},
		"an old name of the same label": {require(in(zone, "us-west-2a"), in("failure-domain.beta.kubernetes.io/zone", "us-west-2b")), atRequirements + "[1]", []string{"Remedy: "}},
		"a list and its exclusion": {require(in(zone, "us-west-2a"), model.Requirement{Key: zone, Operator: model.NotIn, Values: []string{"us-west-2a"}}),
			atRequirements + "[1]", []string{"NotIn [us-west-2a]", atRequirements + "[0]"}},
		"must be there and must not": {require(model.Requirement{Key: "team", Operator: model.Exists}, model.Requirement{Key: "team", Operator: model.DoesNotExist}),
			atRequirements + "[1]", []string{atRequirements + "[0]"}},
		"bounds that leave no number": {require(model.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Gt, Values: []string{"4"}},
			model.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Lt, Values: []string{"5"}}), atRequirements + "[1]", []string{"<= 4", ">= 5"}},
		"a bound below every number": {require(model.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Lt, Values: []string{"0"}}), atRequirements + "[0]", []string{"no label value meets this."}},
		"three that only together leave nothing": {require(in("team", "a", "b"), in("team", "b", "c"), in("team", "a", "c")),
			atRequirements + "[2]", []string{atRequirements + "[0] and " + atRequirements + "[1]"}},
		"a label that its requirement excludes": {func(p *model.Pool) {
			p.Template.Labels = map[string]string{"team": "a"}
			p.Template.Requirements = []model.Requirement{in("team", "b")}
		}, `spec.template.metadata.labels[team]: "team In [a]"`, []string{atRequirements + "[0], team In [b]"}},
		"a schedule that is none": {func(p *model.Pool) {
			p.Disruption.Budgets = []model.Budget{{Nodes: "1"}, {Nodes: "0", Schedule: "99 * * * *", DurationSeconds: 60}}
		}, `spec.disruption.budgets[1].schedule: "99 * * * *"`, []string{"Remedy: "}},
		"M92, a time zone that is none": {func(p *model.Pool) {
			p.Disruption.Budgets = []model.Budget{
				{Nodes: "0", Schedule: "@daily", DurationSeconds: 60, TimeZone: "Mars/Olympus"}}
		}, `metadata.annotations[joiner.sh/budget-time-zone]: "Mars/Olympus"`, []string{"Europe/Berlin"}},
		"M87, an ARN for the name of an alarm": {annotated(model.AnnotationStopAlarms,
			"ok, arn:aws:cloudwatch:us-west-2:123456789012:alarm:errors"),
			`metadata.annotations[joiner.sh/stop-disruption-alarms]: "arn:aws`,
			[]string{"read by name", "checkout-errors"}},
		"M87, a name that is too long": {annotated(model.AnnotationStopAlarms, strings.Repeat("a", 256)),
			"metadata.annotations[joiner.sh/stop-disruption-alarms]", []string{"at most 255"}},
		"M87, too many alarms": {annotated(model.AnnotationStopAlarms, "a,b,c,d,e,f,g,h,i,j,k"),
			"metadata.annotations[joiner.sh/stop-disruption-alarms]", []string{"names 11 alarms", "composite alarm"}},
		"a share of more than all": {func(p *model.Pool) { p.Disruption.Budgets = []model.Budget{{Nodes: "101%"}} }, `spec.disruption.budgets[0].nodes: "101%"`, []string{"Remedy: "}},
	} {
		t.Run(name, func(t *testing.T) {
			v := create(plain(c.change), known())
			if len(v.Refusals) != 1 {
				t.Errorf("%d refusals", len(v.Refusals))
			}
			said(t, v.Refusals, c.begins, c.parts...)
		})
	}
}

func TestWhatCanBeMetIsNotRefused(t *testing.T) {
	const cpu = "karpenter.k8s.aws/instance-cpu"
	for name, list := range map[string][]model.Requirement{
		"a label that may be absent":  {{Key: "team", Operator: model.NotIn, Values: []string{"a"}}, {Key: "team", Operator: model.DoesNotExist}},
		"bounds with one number left": {{Key: cpu, Operator: model.Gte, Values: []string{"4"}}, {Key: cpu, Operator: model.Lte, Values: []string{"4"}}},
		"the same twice":              {in("team", "a"), in("team", "a", "b")},
		"what nothing has":            {in(model.LabelZone, "nowhere")},
	} {
		if v := create(plain(require(list...)), known()); !v.Allowed() {
			t.Errorf("%s: %v", name, v.Refusals)
		}
	}
}

func TestWarnings(t *testing.T) {
	const fam, cat = "karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-category"
	always := func(list ...model.Requirement) func(*model.Pool) {
		return require(append([]model.Requirement{in(model.LabelArch, "amd64"), in(model.LabelCapacityType, model.OnDemand)}, list...)...)
	}
	for name, c := range map[string]struct {
		change func(*model.Pool)
		begins string
		parts  []string
	}{
		"nothing is of that name": {always(in(model.LabelInstanceType, "m5.lrge")), atRequirements + "[2]: nothing matches",
			[]string{"no instance type has node.kubernetes.io/instance-type In [m5.lrge]", "m5.4xlarge, m5.large", "Remedy: "}},
		"what was meant":                  {always(in(model.LabelInstanceType, "m5.lrge")), atRequirements + `[2].values: "m5.lrge"`, []string{"us-west-2", "Correct it: m5.large may be meant"}},
		"a zone there is none of":         {always(in(model.LabelZone, "us-west-2a", "us-west-2x", "eu-north-1c")), atRequirements + `[2].values: "us-west-2x, eu-north-1c"`, []string{"us-west-2a may be meant"}},
		"a zone the class does not reach": {always(in(model.LabelZone, "us-west-2b")), atRequirements + "[2]: nothing matches", []string{"; us-west-2a is offered"}},
		"two that exclude each other": {require(in(model.LabelArch, "arm64"), in(model.LabelCapacityType, model.Spot), in(fam, "m5")), atRequirements + "[2]: nothing matches",
			[]string{"instance-family In [m5] and kubernetes.io/arch In [arm64] exclude each other", "; c6g is offered"}},
		"capitals":             {always(in(fam, "M5")), atRequirements + `[2].values: "M5"`, []string{"m5 may be meant"}},
		"a label beside":       {func(p *model.Pool) { p.Template.Labels = map[string]string{model.LabelZone: "us-west-2z"} }, "spec.template.metadata.labels[topology.kubernetes.io/zone]: nothing matches", nil},
		"a misspelt exclusion": {always(model.Requirement{Key: model.LabelInstanceType, Operator: model.NotIn, Values: []string{"p3.2xlrge", "t3.nano"}}, in(cat, "m")), atRequirements + `[2].values: "p3.2xlrge"`, []string{"p3.2xlarge may be meant"}},
		"a misspelt key":       {always(in("node.kubernetes.io/instance-family", "m5")), atRequirements + `[2].key: "node.kubernetes.io/instance-family"`, []string{"Write " + fam}},
		"too few values":       {always(model.Requirement{Key: fam, Operator: model.In, Values: []string{"m5", "p3"}, MinValues: 3}), atRequirements + `[2].minValues: "3"`, []string{"only 2 different values"}},

		"no class":                  {func(p *model.Pool) { p.Template.ClassName = "defualt" }, `spec.template.spec.nodeClassRef.name: "defualt": there is no EC2NodeClass`, []string{"Write default if that is meant"}},
		"a class that is not ready": {func(p *model.Pool) { p.Template.ClassName = "sick" }, `spec.template.spec.nodeClassRef.name: "sick": the EC2NodeClass is not ready`, []string{"SubnetsReady: none found"}},

		"a limit on nothing":           {func(p *model.Pool) { p.Limits = model.Resources{"memry": 1 << 30} }, `spec.limits.memry: "1073741824": no instance type`, []string{"Write memory if that is meant"}},
		"a limit below a machine":      {func(p *model.Pool) { p.Limits = model.Resources{model.CPU: 1000} }, `spec.limits.cpu: "1": the smallest`, []string{"takes 2 of it: nothing can be launched"}},
		"a price below a machine":      {func(p *model.Pool) { p.Limits = model.Resources{model.Dollars: 50_000} }, `spec.limits.joiner.sh/usd-per-hour`, []string{"nothing can be launched"}},
		"more replicas than the limit": {func(p *model.Pool) { p.Replicas, p.Limits = ref(int64(5)), model.Resources{model.Nodes: 3} }, `spec.limits.nodes: "3": spec.replicas is 5`, []string{"Remedy: "}},
		"no limits":                    {func(p *model.Pool) { p.Limits = nil }, "spec.limits: there are none", []string{"usd-per-hour"}},

		"capacity types unsaid": {require(in(model.LabelArch, "amd64"), in(cat, "m")), atRequirements + ": karpenter.sh/capacity-type is not restricted", []string{"spot"}},
		"architectures unsaid":  {require(in(model.LabelCapacityType, model.Spot), in(cat, "m", "c")), atRequirements + ": kubernetes.io/arch is not restricted", []string{"arm64"}},
		"accelerators unsaid":   {always(), atRequirements + ": 2 of what matches are bare metal or have accelerators (m5.metal, p3.2xlarge)", []string{"Remedy: "}},

		"moved at once": {func(p *model.Pool) {
			p.Disruption.Policy, p.Disruption.ConsolidateAfterSeconds = "WhenEmptyOrUnderutilized", ref(int64(0))
		}, `spec.disruption.consolidateAfter: "0s"`, []string{"Balanced"}},
		"no budgets":          {func(p *model.Pool) { p.Disruption.Budgets = nil }, "spec.disruption.budgets: there are none", nil},
		"nothing given back":  {func(p *model.Pool) { p.Disruption.Budgets = []model.Budget{{Nodes: "0"}} }, `spec.disruption.budgets[0].nodes: "0": there is no voluntary disruption`, nil},
		"never too old":       {func(p *model.Pool) { p.Template.ExpireAfterSeconds = nil }, `spec.template.spec.expireAfter: "Never"`, nil},
		"too old at once":     {func(p *model.Pool) { p.Template.ExpireAfterSeconds = ref(int64(600)) }, `spec.template.spec.expireAfter: "10m0s"`, nil},
		"no time to stop":     {func(p *model.Pool) { p.Template.GraceSeconds = ref(int64(0)) }, `spec.template.spec.terminationGracePeriod: "0s"`, nil},
		"a drain without end": {func(*model.Pool) {}, "spec.template.spec.terminationGracePeriod: it is not set, and PodDisruptionBudget shop/db allows no eviction", []string{"Remedy: "}},
	} {
		t.Run(name, func(t *testing.T) {
			k := known()
			sick := readyClass("sick")
			sick.Status.Problems = []model.ClassProblem{{Condition: "SubnetsReady", Message: "none found"}}
			k.Classes = append(k.Classes, sick)
			if name == "a drain without end" {
				k.Budgets = []model.PDB{{Namespace: "shop", Name: "web", MaxUnavailable: "1"}, {Namespace: "shop", Name: "db", MaxUnavailable: "0"}}
			}
			v := create(plain(c.change), k)
			if !v.Allowed() {
				t.Errorf("refused: %v", v.Refusals)
			}
			said(t, v.Warnings, c.begins, c.parts...)
			for _, w := range v.Warnings {
				if n := utf8.RuneCountInString(w.String()); n > 256 {
					t.Errorf("%d letters, an API server may cut it off: %s", n, w)
				}
			}
		})
	}
}

func TestWhatIsSaidOnPurposeIsNotWarnedOf(t *testing.T) {
	v := create(plain(require(in(model.LabelArch, "amd64", "arm64"), in(model.LabelCapacityType, model.Spot, model.OnDemand, model.Reserved),
		in("karpenter.k8s.aws/instance-family", "p3", "m5"), in("team", "a"), model.Requirement{Key: "karpenter.k8s.aws/instance-size", Operator: model.NotIn, Values: []string{"nano"}})), known())
	if len(v.Warnings) != 1 {
		t.Errorf("%v", v.Warnings)
	}
}

func TestWhatIsNotKnownIsNotSpokenOf(t *testing.T) {
	pool := plain(func(p *model.Pool) { p.Template.ClassName = "other" })
	if v := create(pool, Facts{}); !v.Allowed() || len(v.Warnings) != 0 {
		t.Errorf("%+v", v)
	}
	k := known()
	k.Objects, k.Classes = false, nil
	v := create(plain(require(in(model.LabelArch, "amd64"), in(model.LabelCapacityType, model.Spot), in("karpenter.k8s.aws/instance-category", "m"), in(model.LabelZone, "us-west-2b"))), k)
	if len(v.Warnings) != 1 {
		t.Errorf("%v", v.Warnings)
	}
	said(t, v.Warnings, atRequirements+": 3 of the 5 instance types", "us-west-2b")
}

func TestAPoolThatAnotherHides(t *testing.T) {
	hides := func(change func(heavy, light *model.Pool)) []model.Finding {
		heavy, light := plain(func(p *model.Pool) { p.Name, p.Weight, p.Limits = "heavy", 10, nil }), plain(func(p *model.Pool) { p.Name = "light" })
		if change != nil {
			change(heavy, light)
		}
		k := known()
		k.Pools = []model.Pool{*heavy}
		return create(light, k).Warnings
	}
	said(t, hides(nil), `spec.weight: "0": the pool is never used: NodePool heavy (weight 10) takes every pod it could`, "Remedy: ")
	said(t, hides(func(_, light *model.Pool) {
		light.Template.Taints = []model.Taint{{Key: "a", Effect: model.NoSchedule}}
	}), `spec.weight: "0": the pool is never used`)
	for name, change := range map[string]func(heavy, light *model.Pool){
		"limits": func(heavy, _ *model.Pool) { heavy.Limits = model.Resources{model.CPU: 1} },
		"a taint": func(heavy, _ *model.Pool) {
			heavy.Template.Taints = []model.Taint{{Key: "a", Effect: model.NoSchedule}}
		},
		"a label":         func(heavy, _ *model.Pool) { heavy.Template.Labels = map[string]string{"team": "a"} },
		"a label of ours": func(_, light *model.Pool) { light.Template.Labels = map[string]string{"team": "a"} },
		"fewer machines": func(heavy, _ *model.Pool) {
			heavy.Template.Requirements = append(slices.Clone(heavy.Template.Requirements), in("karpenter.k8s.aws/instance-size", "large"))
		},
		"the same weight":  func(heavy, _ *model.Pool) { heavy.Weight = 0 },
		"a lighter weight": func(_, light *model.Pool) { light.Weight = 20 },
		"a fixed size":     func(heavy, _ *model.Pool) { heavy.Replicas = ref(int64(1)) },
		"being deleted":    func(heavy, _ *model.Pool) { heavy.DeletedUnix = 1 },
		"another's class":  func(heavy, _ *model.Pool) { heavy.Template.ClassName = "missing" },
		"minValues of both": func(heavy, _ *model.Pool) {
			heavy.Template.Requirements = []model.Requirement{{Key: model.LabelInstanceType, Operator: model.Exists, MinValues: 2}}
		},
	} {
		t.Run(name, func(t *testing.T) { silent(t, hides(change), "never used: NodePool") })
	}
	k := known()
	k.Pools = []model.Pool{*plain(func(p *model.Pool) { p.Name = "light" })}
	v := create(plain(func(p *model.Pool) { p.Name, p.Weight, p.Limits = "heavy", 10, nil }), k)
	said(t, v.Warnings, `spec.weight: "10": this pool takes every pod that NodePool light could`)
}

func TestAnUpdateIsEvaluatedByWhatItChanges(t *testing.T) {
	update := func(old, now *model.Pool, k Facts) model.Verdict {
		return Evaluate(model.Admission{Operation: model.OperationUpdate, Pool: now, OldPool: old}, k)
	}
	bad := in(model.LabelZone, "us-west-2a")
	wrong := plain(require(in(model.LabelZone, "us-west-2b"), bad))
	t.Run("nothing of its spec", func(t *testing.T) {
		now := plain(func(p *model.Pool) {
			*p = *wrong
			p.Generation, p.Annotations = 7, map[string]string{model.AnnotationGentleExpiry: "true"}
		})
		if v := update(wrong, now, known()); !v.Allowed() || len(v.Warnings) != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("what was wrong before is warned of", func(t *testing.T) {
		now := plain(require(in("team", "a"), in(model.LabelZone, "us-west-2b"), bad))
		v := update(wrong, now, known())
		if !v.Allowed() {
			t.Errorf("refused: %v", v.Refusals)
		}
		said(t, v.Warnings, atRequirements+"[2]", "Remedy: ")
	})
	t.Run("what is newly wrong is refused", func(t *testing.T) {
		if v := update(plain(nil), wrong, known()); v.Allowed() {
			t.Error("allowed")
		}
	})
	t.Run("on its way out nothing is refused", func(t *testing.T) {
		now := *wrong
		now.DeletedUnix = 1
		if v := update(plain(nil), &now, known()); !v.Allowed() || len(v.Warnings) != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("nodes that drift", func(t *testing.T) {
		k := known()
		k.Nodes = map[string]int{"web": 3, "other": 9}
		v := update(plain(nil), plain(func(p *model.Pool) { p.Hash, p.Template.Labels = "2", map[string]string{"a": "b"} }), k)
		said(t, v.Warnings, "spec.template: 3 nodes of the pool drift by this change", "Remedy: ")
		v = update(plain(nil), plain(func(p *model.Pool) { p.Weight = 2 }), k)
		silent(t, v.Warnings, "drift by")
	})
}

func TestDeletions(t *testing.T) {
	k := known()
	k.Nodes = map[string]int{"web": 1}
	k.Pools = []model.Pool{*plain(nil)}
	said(t, Evaluate(model.Admission{Operation: model.OperationDelete, Pool: plain(nil)}, k).Warnings, "the NodePool has 1 node: all are drained", "Remedy: ")
	class := readyClass("default")
	said(t, Evaluate(model.Admission{Operation: model.OperationDelete, Class: &class}, k).Warnings, "NodePool web uses the EC2NodeClass", "1 node")
	other := readyClass("other")
	for _, a := range []model.Admission{{Operation: model.OperationDelete, Pool: plain(func(p *model.Pool) { p.Name = "idle" })}, {Operation: model.OperationDelete, Class: &other}, {Operation: model.OperationDelete}} {
		if v := Evaluate(a, k); !v.Allowed() || len(v.Warnings) != 0 {
			t.Errorf("%+v", v)
		}
	}
}

func TestReferencesToOthersClassesAreLeftAloneUnlessTheyAreNearlyOurs(t *testing.T) {
	for ref, warned := range map[string]bool{
		"karpenter.azure.com/AKSNodeClass/default": false, "eks.amazonaws.com/NodeClass/default": false,
		"karpenter.k8s.aws/EC2NodeClas/default": true, "karpenter.aws/EC2NodeClass/default": true, "karpenter.k8s.awss/Other/x": true,
	} {
		v := Evaluate(model.Admission{Operation: model.OperationCreate, Reference: ref}, known())
		if !v.Allowed() || len(v.Warnings) > 0 != warned {
			t.Errorf("%s: %+v", ref, v)
		}
	}
}

// The same is said whatever the order of what is known, and however often.
func TestVerdictsAreTheSameEachTime(t *testing.T) {
	pool := plain(func(p *model.Pool) {
		p.Limits = model.Resources{"a": 1, "b": 1, "c": 1, "memry": 5}
		p.Template.Labels = map[string]string{model.LabelZone: "x", "kubernetes.io/os": "linx", "karpenter.k8s.aws/instance-size": "larg"}
	})
	k := known()
	for i := range 5 {
		k.Pools = append(k.Pools, *plain(func(p *model.Pool) { p.Name, p.Weight, p.Limits = fmt.Sprint("heavy-", i), 10, nil }))
	}
	want := create(pool, k)
	for range 20 {
		if got := create(pool, k); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	}
}

// M56: whoever may reach the endpoint may ask anything of it: what is asked beyond all measure takes no longer than
// its length.
func TestListsBeyondMeasureAreNotLookedAtClosely(t *testing.T) {
	var values []string
	for i := range 50_000 {
		values = append(values, fmt.Sprintf("m5.lrge%d", i))
	}
	var list []model.Requirement
	for i := range 20_000 {
		list = append(list, model.Requirement{Key: "team", Operator: model.NotIn, Values: []string{fmt.Sprint(i)}})
	}
	for name, change := range map[string]func(*model.Pool){"values": require(in(model.LabelInstanceType, values...)), "requirements": require(list...)} {
		began := time.Now()
		v := create(plain(change), known())
		timed.Within(t, name, time.Since(began), 2*time.Second)
		if !v.Allowed() {
			t.Errorf("%s: %v", name, v.Refusals)
		}
		silent(t, v.Warnings, "instance types")
	}
}

// An API server waits two seconds. 900 types in six zones, 50 pools of one class, and one that matches nothing by its last of ten
// requirements.
func BenchmarkReview(b *testing.B) {
	k := known()
	k.InstanceTypes = nil
	for i := range 900 {
		k.InstanceTypes = append(k.InstanceTypes, instance(fmt.Sprintf("m%d.size%03d", i%9, i), "amd64", int64(2+i%90), model.MicroUSD(50_000+i*1000), func(m *model.InstanceTypeInfo) {
			for _, zone := range []string{"c", "d", "e", "f"} {
				for _, o := range m.Offerings[:2] {
					o.Zone, o.ZoneID = "us-west-2"+zone, "usw2-az"+zone
					m.Offerings = append(m.Offerings, o)
				}
			}
		}))
	}
	for i := range 50 {
		k.Pools = append(k.Pools, *plain(func(p *model.Pool) { p.Name, p.Weight, p.Limits = fmt.Sprint("heavy-", i), 10, nil }))
	}
	var list []model.Requirement
	for range 10 {
		list = append(list, in(model.LabelArch, "amd64"))
	}
	for name, pool := range map[string]*model.Pool{"matches": plain(nil), "nothing": plain(require(append(list, in(model.LabelArch, "amd64", "arm64"), in(model.LabelInstanceType, "m5.lrge"))...))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if v := create(pool, k); len(v.Warnings) == 0 {
					b.Fatal("nothing is said")
				}
			}
		})
	}
}
