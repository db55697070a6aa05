package sim

import (
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Shrink looks for a smaller run that breaks the same rule: less goes wrong in it, fewer want less, for a shorter time. It
// makes at most budget runs.
func Shrink(failed Result, budget int) Result {
	if len(failed.Violations) == 0 {
		return failed
	}
	s := shrinker{best: failed, rule: failed.Violations[0].Rule, budget: budget}
	s.truncate()
	s.sources()
	s.workloads()
	s.pools()
	s.readings()
	s.injections()
	s.sources()
	s.workloads()
	s.truncate()
	return s.best
}

type shrinker struct {
	best   Result
	rule   string
	budget int
}

// try keeps a run that breaks the rule, too.
func (s *shrinker) try(c Config) bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	c.Report = nil
	result := Run(c)
	if len(result.Violations) == 0 || result.Violations[0].Rule != s.rule {
		return false
	}
	s.best = result
	return true
}

// truncate makes the run end soon after the rule was broken, and then ever sooner.
func (s *shrinker) truncate() {
	c := s.best.Config
	if at := s.best.Violations[0].At.Sub(world.Start).Round(time.Second) + time.Second; at < c.Scenario.Length {
		c.Scenario.Length = at
		s.try(c)
	}
	for c = s.best.Config; c.Scenario.Length > time.Minute; c = s.best.Config {
		c.Scenario.Length = (c.Scenario.Length * 3 / 4).Round(time.Second)
		if !s.try(c) {
			return
		}
	}
}

// sources takes away what goes wrong, one source at a time.
func (s *shrinker) sources() {
	for i := 0; i < len(s.best.Config.Plan); {
		c := s.best.Config
		c.Plan = slices.Delete(slices.Clone(c.Plan), i, i+1)
		if !s.try(c) {
			i++
		}
	}
}

// readings takes the default of what is read the other way, one doubt at a time.
func (s *shrinker) readings() {
	for _, id := range s.best.Config.Scenario.Readings.Others() {
		c := s.best.Config
		c.Scenario.Readings = c.Scenario.Readings.Without(id)
		s.try(c)
	}
}

// injections finds a small set of single faults that is enough, by leaving out ever smaller parts.
func (s *shrinker) injections() {
	set := slices.Compact(slices.Sorted(slices.Values(s.best.Injected)))
	for parts := 2; len(set) > 0; {
		size := (len(set) + parts - 1) / parts
		smaller := false
		for from := 0; from < len(set); from += size {
			rest := slices.Concat(set[:from], set[min(len(set), from+size):])
			c := s.best.Config
			c.Only = map[string]bool{}
			for _, key := range rest {
				c.Only[key] = true
			}
			if s.try(c) {
				set, smaller = rest, true
				break
			}
		}
		switch {
		case smaller:
			parts = max(2, parts-1)
		case size == 1 || s.budget <= 0:
			return
		default:
			parts *= 2
		}
	}
}

// workloads takes away workloads, and then steps and pods of those that are left.
func (s *shrinker) workloads() {
	for i := 0; i < len(s.best.Config.Scenario.Workloads); {
		c := s.best.Config
		c.Scenario.Workloads = slices.Delete(slices.Clone(c.Scenario.Workloads), i, i+1)
		if !s.try(c) {
			i++
		}
	}
	for i := range s.best.Config.Scenario.Workloads {
		for j := 0; j < len(s.best.Config.Scenario.Workloads[i].Steps); {
			if !s.try(s.edit(i, func(w *world.Workload) { w.Steps = slices.Delete(slices.Clone(w.Steps), j, j+1) })) {
				j++
			}
		}
		s.try(s.edit(i, func(w *world.Workload) {
			w.Shape.PodAntiAffinity, w.Shape.Spread, w.Shape.NodeSelector = nil, nil, nil
			w.Kind = world.Deployment
		}))
		for s.best.Config.Scenario.Workloads[i].Replicas > 0 && s.try(s.edit(i, func(w *world.Workload) { w.Replicas /= 2 })) {
		}
		for j := range s.best.Config.Scenario.Workloads[i].Steps {
			for s.best.Config.Scenario.Workloads[i].Steps[j].Replicas > 0 && s.try(s.edit(i, func(w *world.Workload) {
				w.Steps = slices.Clone(w.Steps)
				w.Steps[j].Replicas /= 2
			})) {
			}
		}
	}
}

// edit returns the best run with its i-th workload changed.
func (s *shrinker) edit(i int, do func(w *world.Workload)) Config {
	c := s.best.Config
	c.Scenario.Workloads = slices.Clone(c.Scenario.Workloads)
	do(&c.Scenario.Workloads[i])
	return c
}

// pools takes away pools and what they ask for.
func (s *shrinker) pools() {
	for i := 0; i < len(s.best.Config.Scenario.Pools); {
		c := s.best.Config
		c.Scenario.Pools = slices.Delete(slices.Clone(c.Scenario.Pools), i, i+1)
		if !s.try(c) {
			i++
		}
	}
	for i := range s.best.Config.Scenario.Pools {
		for _, simpler := range []func(*model.Pool){
			func(p *model.Pool) { p.Limits = nil }, func(p *model.Pool) { p.Template.Requirements = nil }, func(p *model.Pool) { p.Weight = 0 },
		} {
			c := s.best.Config
			c.Scenario.Pools = slices.Clone(c.Scenario.Pools)
			simpler(&c.Scenario.Pools[i])
			s.try(c)
		}
	}
}
