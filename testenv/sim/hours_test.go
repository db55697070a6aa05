package sim_test

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// shortMode draws ten minutes of a world in which a rule is broken by the fifth launch, where there are so many.
func shortMode(name string) sim.Mode {
	return sim.Mode{Name: name, Draw: func(seed uint64) sim.Config {
		c := sim.Draw(seed)
		c.Scenario.Length = time.Minute
		c.Checkers = func() []audit.Checker {
			launches := 0
			return []audit.Checker{rule{func(e world.Entry) bool {
				if _, started := e.Fact.(world.InstanceStarted); started {
					launches++
				}
				return launches >= 5
			}}}
		}
		return c
	}}
}

// A long campaign that was stopped goes on where it was and comes to what it would have come to at once; what breaks is kept with its
// seed, mode and rule, and stops nothing.
func TestACampaignGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopped := time.Time{}
	campaign := sim.LongCampaign{
		Commit: "abc", First: 100, Block: 4, Cores: 2, Modes: []sim.Mode{shortMode("one"), shortMode("two")}, Now: func() time.Time { return stopped }, Report: io.Discard,
	}
	play := func(file string, hours float64) sim.Progress {
		t.Helper()
		campaign.File, campaign.Hours = filepath.Join(dir, file), hours
		p, err := campaign.Run()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole := play("whole", 1.5)
	first := play("parts", 0.2)
	rest := play("parts", 1.5)
	if first.Blocks == 0 || first.Blocks >= rest.Blocks {
		t.Errorf("%d blocks are over when it was stopped, and %d at its end", first.Blocks, rest.Blocks)
	}
	if !reflect.DeepEqual(whole, rest) {
		t.Errorf("in one go:\n%+v\nin two:\n%+v", whole, rest)
	}
	modes := map[string]int{}
	for _, f := range whole.Failed {
		modes[f.Mode]++
		if f.Rule != "made up" || f.Seed < 100 || f.Seed >= 100+4*whole.Blocks {
			t.Errorf("a failure is kept as %+v", f)
		}
	}
	if modes["one"] == 0 || modes["two"] == 0 || whole.Stats.Runs != int(4*whole.Blocks) {
		t.Errorf("%d runs, failed by mode: %v", whole.Stats.Runs, modes)
	}
	var b strings.Builder
	whole.Summary(&b)
	for _, want := range []string{"commit abc, seeds 100 to ", "runs broke a rule", "made up: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, b.String())
		}
	}
	campaign.Commit = "another"
	if _, err := campaign.Run(); err == nil || !strings.Contains(err.Error(), "of commit abc") {
		t.Errorf("another commit goes on with it: %v", err)
	}
	if err := os.WriteFile(campaign.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := campaign.Run(); err == nil || !strings.Contains(err.Error(), "delete it to begin anew") {
		t.Errorf("a file that is cut off: %v", err)
	}
}

// Each commit is played with seeds of its own.
func TestACampaignsFirstSeedIsOfItsCommit(t *testing.T) {
	t.Parallel()
	one, err := sim.FirstSeed("de02a08b1c9f00000000")
	if err != nil || one != 0xde02a08b1c9f {
		t.Errorf("%x, %v", one, err)
	}
	for _, bad := range []string{"", "de02a08", "no hash of a commit"} {
		if _, err := sim.FirstSeed(bad); err == nil {
			t.Errorf("%q is taken for a commit", bad)
		}
	}
}
