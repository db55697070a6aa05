package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Report writes what a run came to, for people: its faults, what was broken, and the last that happened to do with it.
func (r *Result) Report(w io.Writer) {
	s := &r.Config.Scenario
	fmt.Fprintf(w, "seed %d: %s, %d steps, digest %s\n", r.Config.Seed, s.Length, r.Steps, r.Hash)
	fmt.Fprintf(w, "  %d pools, %d workloads, %d versions, hasty %v\n", len(s.Pools), len(s.Workloads), s.Versions, s.Hasty)
	if s.Devices != nil {
		fmt.Fprintf(w, "  drivers publish devices after %s to %s\n", s.Devices.Min, s.Devices.Max.Round(time.Second))
	}
	if others := s.Readings.Others(); len(others) > 0 {
		fmt.Fprintf(w, "  read the other way: %s\n", strings.Join(others, ", "))
	}
	for _, pool := range s.Pools {
		t := &pool.Template
		fmt.Fprintf(w, "  pool %s: weight %d, limits %v, %v, expires %s, grace %s\n", pool.Name, pool.Weight, pool.Limits, t.Requirements, secondsText(t.ExpireAfterSeconds), secondsText(t.GraceSeconds))
	}
	for i := range s.Workloads {
		load, claims := &s.Workloads[i], ""
		for _, claim := range load.Shape.DeviceClaims {
			claims += " and " + claim.Template
		}
		fmt.Fprintf(w, "  %s %s: %d pods of %v%s, then %s\n", load.Kind, load.Name, load.Replicas, load.Shape.Requests,
			claims, steps(load.Steps))
	}
	if ends := s.Ends; ends.SpotLife+ends.People > 0 || len(ends.Budgets) > 0 {
		fmt.Fprintf(w, "  spot machines live %s, people remove one each %s, volumes detach in %s to %s, %d daemons\n",
			ends.SpotLife.Round(time.Second), ends.People.Round(time.Second), ends.Detach.Min, ends.Detach.Max.Round(time.Second), len(ends.Daemons))
		for _, budget := range ends.Budgets {
			fmt.Fprintf(w, "  budget %s: at least %q, at most gone %q\n", budget.Name, budget.MinAvailable, budget.MaxUnavailable)
		}
	}
	for _, source := range r.Config.Plan {
		fmt.Fprintf(w, "  fault: %s\n", source)
	}
	for _, x := range r.Config.Exact {
		fmt.Fprintf(w, "  fault: %s\n", x)
	}
	if only := r.Config.Only; only != nil {
		fmt.Fprintf(w, "  of these only: %s\n", strings.Join(slices.Sorted(maps.Keys(only)), ", "))
	}
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  BROKEN %s\n", v)
	}
	for _, text := range r.Trace {
		fmt.Fprintf(w, "    %s\n", text)
	}
}

func secondsText(seconds *int64) string {
	if seconds == nil {
		return "never"
	}
	return (time.Duration(*seconds) * time.Second).String()
}

func steps(list []world.Step) string {
	var out []string
	for _, step := range list {
		out = append(out, fmt.Sprintf("%d after %s", step.Replicas, step.At.Sub(world.Start).Round(time.Second)))
	}
	return strings.Join(out, ", ")
}

// String says what many runs came to, in a few lines.
func (s *Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f simulated hours, %d runs, %d steps, %d operations, %d invocations, %d launches, %d facts\n",
		s.Simulated.Hours(), s.Runs, s.Steps, s.Operations, s.Invocations, s.Launches, s.Facts)
	kinds := map[string]int64{}
	for what, n := range s.Faults {
		kinds[kindOf(what)] += n
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	fmt.Fprintf(&b, "faults: %s\n", strings.Join(parts, ", "))
	parts = nil
	for _, what := range slices.Sorted(maps.Keys(s.Ends)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, s.Ends[what]))
	}
	fmt.Fprintf(&b, "ends: %s", strings.Join(parts, ", "))
	return b.String()
}

// kindOf leaves out of a fault what it hit.
func kindOf(what string) string {
	words := strings.Fields(what)
	if n := len(words); n > 1 && strings.Contains(words[n-1], ".") {
		words = words[:n-1]
	}
	return strings.Join(words, " ")
}

// Speed says how fast runs went: by the clock on each of some cores, and by the processor time they used.
func (s *Stats) Speed(took, used time.Duration, cores int) string {
	return fmt.Sprintf("%.2f simulated hours per second and core (%d cores, %s), %.2f per second of processor time",
		s.Simulated.Hours()/took.Seconds()/float64(cores), cores, took.Round(time.Millisecond), s.Simulated.Hours()/used.Seconds())
}
