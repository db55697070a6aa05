package pack

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F107: a claim that somebody asks for by hand is the cheapest instance whose allocatable amounts are what it asks for,
// on which its daemons have room; it is of no pool.
func TestF107OneIsTheCheapestThatHoldsRequestsAndDaemons(t *testing.T) {
	template := model.Template{
		ClassName: "default", Labels: map[string]string{"team": "blue"}, Taints: []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}},
		Requirements: []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}}, {Key: model.LabelZone, Operator: model.In, Values: []string{"b"}}},
	}
	tolerant := func(milli int64) func(*model.PodShape) {
		return func(s *model.PodShape) {
			cpu(milli)(s)
			s.Tolerations = []model.Toleration{{Operator: "Exists"}}
		}
	}
	for name, c := range map[string]struct {
		requests model.Resources
		change   func(*world)
		want     string
	}{
		"nothing asked for":            {nil, func(*world) {}, "c5.large"},
		"memory":                       {model.Resources{model.Memory: 20 << 30}, func(*world) {}, "r5.xlarge"},
		"processors":                   {model.Resources{model.CPU: 3000}, func(*world) {}, "c5.xlarge"},
		"a daemon that fits beside it": {model.Resources{model.CPU: 3000}, func(w *world) { w.daemon("agent", tolerant(3000)) }, "c5.xlarge"},
		"a daemon that is too large":   {nil, func(w *world) { w.daemon("agent", tolerant(3000)) }, "c5.xlarge"},
		"a daemon that does not go by": {nil, func(w *world) { w.daemon("agent", cpu(3000)) }, "c5.large"},
		"a daemon of nodes with a pool": {nil, func(w *world) {
			w.daemon("agent", func(s *model.PodShape) {
				tolerant(3000)(s)
				s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelNodePool, Operator: model.Exists}}}}
			})
		}, "c5.large"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(60).pool("general", nil).pods("web", 3, nil)
			c.change(w)
			claim, reason := StandaloneClaim(w.in, template, c.requests)
			if reason != nil {
				t.Fatal(reason.Message)
			}
			if claim.InstanceTypes[0] != c.want || claim.Offering.Zone != "b" || claim.Pool != "" || len(claim.Pods) != 0 || claim.Labels["team"] != "blue" || len(claim.Taints) != 1 {
				t.Errorf("%+v, want %s", claim, c.want)
			}
			if _, pooled := claim.Labels[model.LabelNodePool]; pooled || slices.ContainsFunc(claim.Requirements, func(r model.Requirement) bool { return r.Key == model.LabelNodePool }) {
				t.Errorf("it is of a pool: %v %v", claim.Labels, claim.Requirements)
			}
		})
	}
}

// F107: where nothing can be had the reason names the claim's own fields.
func TestF107OneSaysWhyThereIsNone(t *testing.T) {
	for want, c := range map[string]struct {
		change   func(*model.Template, *world)
		requests model.Resources
		code     string
	}{
		`spec.resources.requests: none of the 60 instance types`: {func(*model.Template, *world) {}, model.Resources{model.CPU: 1 << 40}, ResourcesTooLarge},
		`EC2NodeClass "other" does not exist`:                    {func(t *model.Template, _ *world) { t.ClassName = "other" }, nil, ClassNotReady},
		`EC2NodeClass "default": no subnets`:                     {func(_ *model.Template, w *world) { w.in.ClassProblems = map[string]string{"default": "no subnets"} }, nil, ClassNotReady},
		`spec.requirements allow none of the 60 instance types`: {func(t *model.Template, _ *world) {
			t.Requirements = []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"nowhere"}}}
		}, nil, NoInstanceTypes},
		`spec.requirements: no value meets all requirements of disk, metadata.labels included`: {func(t *model.Template, _ *world) {
			t.Labels = map[string]string{"disk": "a"}
			t.Requirements = []model.Requirement{{Key: "disk", Operator: model.In, Values: []string{"b"}}}
		}, nil, PoolInvalid},
		`has capacity now`: {func(_ *model.Template, w *world) {
			types := w.in.Catalogs["default"]
			for i := range types {
				types[i].Offerings = slices.Clone(types[i].Offerings)
				for j := range types[i].Offerings {
					types[i].Offerings[j].Available = false
				}
			}
		}, nil, NoOffering},
	} {
		t.Run(want, func(t *testing.T) {
			w, template := newWorld(60), model.Template{ClassName: "default"}
			c.change(&template, w)
			claim, reason := StandaloneClaim(w.in, template, c.requests)
			if claim != nil || reason == nil || reason.Code != c.code || !strings.Contains(reason.Message, want) || reason.Remedy == "" || strings.Contains(reason.Remedy, "NodePool") {
				t.Errorf("%+v, %+v", claim, reason)
			}
		})
	}
}
