package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// M91: an instance has as long to join as its NodePool says. Where NodePools cannot be read it has the most that one
// may say.
func TestM91JoinWithinOfANodePool(t *testing.T) {
	for name, c := range map[string]struct {
		age    int64
		change func(v *lifecycle.View)
		ends   bool
	}{
		"by default":                {900, nil, true},
		"longer, still waited for":  {2399, waits("default", 2400, 0), false},
		"longer, and over":          {2400, waits("default", 2400, 0), true},
		"shorter":                   {300, waits("default", 300, 0), true},
		"of another NodePool":       {900, waits("gpu", 2400, 0), true},
		"unknown, within the most":  {7199, unreadPools, false},
		"unknown, and over it":      {7200, unreadPools, true},
		"unknown, of no NodePool":   {900, standalone, true},
		"NodeClaims are undefined":  {900, undefined, true},
		"undefined, a longer time":  {900, undefinedButLonger, false},
		"a time of repair says no.": {900, waits("default", 0, 7200), true},
	} {
		view := healthy()
		view.Instances[1].LaunchedUnix = now - c.age
		if c.change != nil {
			c.change(&view)
		}
		var why []string
		for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
			if f.Kind == lifecycle.NeverJoined {
				why = append(why, f.Why())
			}
		}
		if (len(why) == 1) != c.ends {
			t.Errorf("%s: %q, want an end: %v", name, why, c.ends)
		}
		if c.ends && c.age != 900 && !strings.Contains(why[0], "joined within ") {
			t.Errorf("%s: %q does not say how long it had", name, why[0])
		}
	}
}

func waits(pool string, join, repair int64) func(*lifecycle.View) {
	return func(v *lifecycle.View) {
		v.Live.Waits = map[string]model.PoolWaits{pool: {JoinSeconds: join, RepairSeconds: repair}}
	}
}

func standalone(v *lifecycle.View) {
	unreadPools(v)
	v.Records.Claims[1].Pool = ""
}

func undefined(v *lifecycle.View) { v.Live.Undefined, v.Live.Objects = true, nil }

func undefinedButLonger(v *lifecycle.View) {
	undefined(v)
	waits("default", 2400, 0)(v)
}

func unreadPools(v *lifecycle.View) { v.Live.PoolsUnread = "nodepools is forbidden" }

// M91: a node is repaired after as long as its NodePool says, or never. Where NodePools cannot be read it waits, and an
// event says so.
func TestM91RepairAfterOfANodePool(t *testing.T) {
	for name, c := range map[string]struct {
		since  int64
		change func(v *lifecycle.View)
		want   string
	}{
		"by default":         {1800, func(*lifecycle.View) {}, "Unhealthy"},
		"sooner":             {300, waits("default", 0, 300), "Unhealthy"},
		"later, and not yet": {7199, waits("default", 0, 7200), ""},
		"later, and due":     {7200, waits("default", 0, 7200), "Unhealthy"},
		"never":              {80_000, waits("default", 0, -1), ""},
		"of another pool":    {300, waits("other", 0, 300), ""},
		"unknown":            {1800, unreadPools, "Held"},
	} {
		view := sick(5, 1, "default")
		view.Live.Nodes[0].Conditions[0].SinceUnix = now - c.since
		view.Live.Nodes[0].CreatedUnix = now - 86_400
		c.change(&view)
		found := lifecycle.Diagnose(view, lifecycle.Settings{})
		got := ""
		for _, f := range found {
			got += string(f.Kind)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		const unknown = "repair is postponed: for how long the NodePool bears it is unknown: nodepools is forbidden"
		if got == "Held" && !strings.Contains(found[0].Why(), unknown) {
			t.Errorf("%s: %q", name, found[0].Why())
		}
	}
	view := sick(5, 1, "default") // the region's own time does not count where the NodePool says Never
	waits("default", 0, -1)(&view)
	if got := lifecycle.Diagnose(view, lifecycle.Settings{RepairAfter: 60}); len(got) != 0 {
		t.Errorf("never, though the region repairs after a minute: %+v", got)
	}
}
