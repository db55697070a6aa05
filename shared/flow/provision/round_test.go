package provision

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// A launch goes where a pool, a subnet and a reservation have room for all of its instances.
func TestAGroupingCountsWhatItsLaunchesTake(t *testing.T) {
	class := model.Class{Name: "default", Status: model.ClassStatus{
		Subnets:      []model.Subnet{{ID: "subnet-1", FreeAddresses: 60}},
		Reservations: []model.Reservation{{ID: "cr-1", Free: 1}, {ID: "cr-2", Free: 1}},
	}}
	g := newGrouping()
	plain := &attempt{addresses: map[string]int64{"subnet-1": 29}}
	for n := range 2 {
		if !g.lasts(plain, class) {
			t.Fatalf("no room for instance %d", n)
		}
		g.charge(plain, class)
	}
	if g.lasts(plain, class) {
		t.Error("2 addresses are left, and an instance takes 29")
	}
	reserved := &attempt{reservations: []string{"cr-1", "cr-2"}}
	g.charge(reserved, class)
	g.charge(reserved, class)
	if g.gone["cr-1"] != 1 || g.gone["cr-2"] != 1 || g.lasts(reserved, class) {
		t.Errorf("two instances in two reservations of one each: %v", g.gone)
	}
}

// Of a class or a pool that is held one instance is launched. A pool counts for no class of its name.
func TestOneInstanceOfWhatIsHeldIsLaunched(t *testing.T) {
	p := paceAt(100)
	p.ledger.Notes.ClassSuspensions = []model.ClassSuspension{{Class: "gpu", Failures: 2}}
	p.ledger.Notes.PoolSuspensions = []model.PoolSuspension{{Pool: "web", Instances: 2}}
	d := &drafter{&constraints{state: p.state, pace: p, suspensions: &suspensions{state: p.state}}}
	may := func(pool, class string, ofPool, ofClass map[string]int) bool {
		g := newGrouping()
		g.ofPool, g.ofClass = ofPool, ofClass
		return d.mayLaunch(&model.PlannedClaim{Pool: pool, Class: class}, g, nil)
	}
	tests := map[string]struct{ got, want bool }{
		"the first of the class":       {may("a", "gpu", nil, nil), true},
		"the second of the class":      {may("a", "gpu", nil, map[string]int{"gpu": 1}), false},
		"a pool named like the class":  {may("a", "gpu", map[string]int{"gpu": 1}, nil), true},
		"the first of the pool":        {may("web", "b", nil, map[string]int{"b": 9}), true},
		"the second of the pool":       {may("web", "b", map[string]int{"web": 1}, nil), false},
		"a class named like the pool":  {may("web", "web", nil, map[string]int{"web": 1}), true},
		"what is not held":             {may("a", "b", map[string]int{"a": 9}, map[string]int{"b": 9}), true},
		"more than the pace of a pool": {may("a", "b", map[string]int{"a": 300}, nil), false},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}
