package pack

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// smallIn makes a zone one where types of so many milli-CPU and more are unavailable, or not sold at all.
func (w *world) smallIn(zone string, cpuMilli int64, sold bool) *world {
	for class, types := range w.in.Catalogs {
		for i := range types {
			if types[i].Capacity[model.CPU] < cpuMilli {
				continue
			}
			var offerings []model.Offering
			for _, o := range types[i].Offerings {
				if o.Zone == zone {
					if !sold {
						continue
					}
					o.Available = false
				}
				offerings = append(offerings, o)
			}
			types[i].Offerings = offerings
		}
		w.in.Catalogs[class] = types
	}
	return w
}

// A pod that could have a node anywhere but in the one domain it is kept to learns the domain.
func TestReasonsNameTheDomainAPodIsKeptTo(t *testing.T) {
	for _, c := range []struct {
		name string
		sold bool
		code string
	}{
		{"a volume, too small", false, ResourcesTooLarge},
		{"a volume, sold out", true, NoOffering},
		{"a pod, too small", false, PodAffinity},
		{"a pod, sold out", true, PodAffinity},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).smallIn("b", 16_000, c.sold)
			want := "its volumes restrict it to topology.kubernetes.io/zone In [b]: "
			if c.code == PodAffinity {
				w.zoned(1000, "b").running("cache", "node-b", appPod("cache"))
				w.pods("db", 1, asPod(appPod("db"), cpu(20_000), nearApp(model.LabelZone, "cache")))
				want = " run only in topology.kubernetes.io/zone b, where no other node can hold it"
			} else {
				w.pods("db", 1, asPod(appPod("db"), cpu(20_000))).withClaim("db", func(_ int, v *model.Volume) { boundIn("b", v) })
			}
			plan := w.sound(t)
			refusedWith(t, plan, "db-00000", c.code)
			if len(plan.Unschedulable) != 1 || !strings.Contains(plan.Unschedulable[0].Reasons[0].Message, want) {
				t.Errorf("got %+v, want %q", plan.Unschedulable, want)
			}
		})
	}
}

// Where no domain would do, the domain is not what is wrong.
func TestReasonsDoNotBlameTheVolumeOfAPodThatIsTooLargeAnywhere(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 1, asPod(appPod("db"), cpu(200_000)))
	w.withClaim("db", func(_ int, v *model.Volume) { boundIn("b", v) })
	plan := w.sound(t)
	refusedWith(t, plan, "db-00000", ResourcesTooLarge)
	if len(plan.Unschedulable) != 1 || strings.Contains(plan.Unschedulable[0].Reasons[0].Message, "volumes") {
		t.Errorf("got %+v", plan.Unschedulable)
	}
}
