package sim

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Tiny is a calm run of one pool and so many pods: small enough to let everything go wrong in turn.
func Tiny(pods int) Config {
	pool := world.Pool("tiny", "default")
	pool.Limits = model.Resources{model.Nodes: int64(pods)}
	return Config{Seed: 1, Scenario: Scenario{
		Length: 2 * time.Minute, Types: []string{"m5.large"}, Pools: []model.Pool{pool},
		Workloads: []world.Workload{{Kind: world.Deployment, Name: "app", Shape: world.Shape(1500, 1<<30), Replicas: pods}},
	}}
}

// EveryMode lists the ways in which an effect goes wrong in a systematic run.
var EveryMode = []world.Mode{world.DiesBefore, world.DiesAfter, world.Fails, world.LosesReply, Repeats, Late, Slow}

// Effects is what a process of a run came to.
type Effects struct {
	Program    string
	Invocation int      // of the program, from 1
	Names      []string // of its effects, in order
}

// Crashes returns a configuration for each effect of a run and each mode, in which that effect goes wrong, too. Only
// effects of programs named are taken, and of them only those that come after the faults the run has already.
func Crashes(of Result, modes []world.Mode, programs ...string) []Config {
	var out []Config
	for _, p := range of.Effects {
		for k := range p.Names {
			for _, mode := range modes {
				x := Exact{Program: p.Program, Invocation: p.Invocation, Effect: k + 1, Mode: mode}
				if !among(programs, p.Program) || of.Config.reaches(x) {
					continue
				}
				c := of.Config
				c.Exact = append(append([]Exact{}, c.Exact...), x)
				out = append(out, c)
			}
		}
	}
	return out
}

// reaches reports whether the configuration has a fault at the effect already, or at a later one of the same invocation.
func (c *Config) reaches(x Exact) bool {
	for _, other := range c.Exact {
		if other.Program == x.Program && (other.Invocation > x.Invocation || other.Invocation == x.Invocation && other.Effect >= x.Effect) {
			return true
		}
	}
	return false
}

func among(list []string, one string) bool {
	for _, other := range list {
		if other == one {
			return true
		}
	}
	return len(list) == 0
}

// Name says what goes wrong in a systematic run, for people.
func (c *Config) Name() string {
	text := fmt.Sprintf("seed %d", c.Seed)
	for _, x := range c.Exact {
		text += ", " + x.String()
	}
	return text
}
