package sim_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// report returns what a run came to.
func report(r sim.Result) string {
	var b strings.Builder
	r.Report(&b)
	return b.String()
}

// isSmaller reports whether less goes wrong in a run, fewer want something in it, and it ends sooner. It may break later than the first one,
// because less goes wrong before that: its steps say nothing of its size.
func isSmaller(is, was *sim.Config) bool {
	return len(is.Plan) < len(was.Plan) && len(is.Only) <= 4 && len(is.Scenario.Workloads) < len(was.Scenario.Workloads) && is.Scenario.Length < was.Scenario.Length
}

// Equal seeds make equal runs, to the last byte: 1,000 of 1,000 in the long form.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	seeds := []uint64{0, 1, 2, 3, 9100297} // the last one has a hostile cluster that changes the capacity of its nodes
	if long() {
		for seed := uint64(4); seed < 1000; seed++ {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range seeds {
		a, b := sim.Run(sim.Draw(seed)), sim.Run(sim.Draw(seed))
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Errorf("seed %d: %d steps %s, and then %d steps %s", seed, a.Steps, a.Hash, b.Steps, b.Hash)
		}
	}
	if a, b := sim.Run(sim.Draw(1)), sim.Run(sim.Draw(2)); a.Hash == b.Hash {
		t.Error("two seeds make the same run: the digest sees nothing")
	}
}

// The rules hold in the first seeds; make sim runs many more.
func TestRulesHold(t *testing.T) {
	t.Parallel()
	runs := uint64(30)
	if long() {
		runs = 1000
	}
	stats, failed := sim.Campaign{First: 1, Runs: runs, Cores: runtime.GOMAXPROCS(0), Stop: 5, Now: time.Now}.Run()
	for _, r := range failed {
		t.Error(report(r))
	}
	t.Log(stats.String())
	var crashes, lost int64
	for what, n := range stats.Faults {
		if strings.HasPrefix(what, "dies") {
			crashes += n
		}
		if strings.HasPrefix(what, "loses reply") {
			lost += n
		}
	}
	if stats.Launches < 50 || crashes < 20 || lost < 20 {
		t.Error("too little happens in these runs to show anything")
	}
}

// Seeds that broke a rule once do not break one again.
func TestSeedsThatWereFound(t *testing.T) {
	t.Parallel()
	seeds, err := sim.Seeds()
	if err != nil || len(seeds) == 0 {
		t.Fatalf("%d seeds: %v", len(seeds), err)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed.Number), func(t *testing.T) {
			if r := sim.Run(seed.Config()); len(r.Violations) > 0 {
				t.Errorf("%s\n%s", seed.Cause, report(r))
			}
		})
	}
}

// rule is a checker of one made-up rule.
type rule struct {
	broken func(world.Entry) bool
}

func (r rule) Check(entries []world.Entry) []audit.Violation {
	for _, e := range entries {
		if r.broken(e) {
			return []audit.Violation{{Rule: "made up", Seq: e.Seq, At: e.At, Text: "it happened"}}
		}
	}
	return nil
}

func (rule) Quiet(time.Time) []audit.Violation { return nil }

// A run that breaks a rule is reported with what it takes to make it again, and a smaller one that breaks it is found.
func TestFailureIsMadeSmaller(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) sim.Config {
		c := sim.Draw(seed)
		crashed := false
		c.Checkers = func() []audit.Checker {
			crashed = false
			return []audit.Checker{rule{func(e world.Entry) bool {
				if injected, ok := e.Fact.(world.FaultInjected); ok && strings.HasPrefix(injected.What, "dies after ledger.") {
					crashed = true
				}
				_, started := e.Fact.(world.InstanceStarted)
				return crashed && started
			}}}
		}
		return c
	}
	_, failed := sim.Campaign{First: 1, Runs: 200, Cores: 1, Draw: draw, Stop: 3, Now: time.Now}.Run()
	if len(failed) == 0 {
		t.Fatal("no run is killed after it wrote to the ledger and goes on to launch")
	}
	if failed[0].Hash == "" || failed[0].Hash != sim.Run(failed[0].Config).Hash {
		t.Errorf("the run that failed has the digest %q, and again another", failed[0].Hash)
	}
	text := report(failed[0])
	for _, want := range []string{fmt.Sprintf("seed %d", failed[0].Config.Seed), "fault: crash", "BROKEN made up", "ledger"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	// Of a made-up rule the smallest run may be as large as the first: of some few one is not.
	var smaller sim.Result
	for i := range failed {
		smaller = sim.Shrink(failed[i], 120)
		if len(smaller.Violations) == 0 || smaller.Violations[0].Rule != "made up" {
			t.Fatalf("the smaller run is another: %v", smaller.Violations)
		}
		if isSmaller(&smaller.Config, &failed[i].Config) {
			break
		}
		if i == len(failed)-1 {
			t.Errorf("none became small, nor did the last:\n%s", report(smaller))
		}
	}
	if again := sim.Run(smaller.Config); again.Hash != smaller.Hash {
		t.Error("the smaller run cannot be made again")
	}
}

// BenchmarkTestCluster is an hour of 50 nodes and 500 pods that come and go, with every rule held.
func BenchmarkTestCluster(b *testing.B) {
	hours := 0.0
	for i := range b.N {
		r := sim.Run(sim.TestCluster(uint64(i), 25, time.Hour))
		if len(r.Violations) > 0 {
			b.Fatal(report(r))
		}
		hours += r.Stats.Simulated.Hours()
	}
	b.ReportMetric(hours/b.Elapsed().Seconds(), "hours/s")
}

// broken is an auditor with a fault.
type broken struct{}

func (broken) Check([]world.Entry) []audit.Violation { panic("a fault of the auditor") }
func (broken) Quiet(time.Time) []audit.Violation     { return nil }

// An auditor that panics is a violation of its run and does not end the campaign.
func TestAFaultOfAnAuditorIsReportedWithItsSeed(t *testing.T) {
	config := sim.Draw(3)
	config.Checkers = func() []audit.Checker { return []audit.Checker{broken{}} }
	result := sim.Run(config)
	if len(result.Violations) == 0 || result.Violations[0].Rule != "panic" || !strings.Contains(result.Violations[0].Text, "a fault of the auditor") {
		t.Errorf("violations: %+v", result.Violations)
	}
}
