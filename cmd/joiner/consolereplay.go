package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Replay makes a recorded decision once more, with what it went by.
func (a *accountSource) Replay(ctx context.Context, kind, id string) (console.Replayed, error) {
	shelves := replay.Shelves{
		Snapshot: func(pointer model.Pointer) (*model.Snapshot, error) { return a.fresh().At(ctx, pointer) },
		Catalog: func(_, _, version string) (*model.MachineCatalog, error) {
			catalog, err := a.flow.Markets.Machines(ctx, a.reg)
			if err == nil && catalog.Version != version {
				err = fault.New(fault.NotFound, "OtherCatalogue", "prices and machine types are of version %s now, and the decision went by %s", catalog.Version, version)
			}
			return &catalog, err
		},
	}
	if kind == console.KindDisrupt {
		return a.replayDisruption(ctx, shelves, id)
	}
	decision, err := a.flow.Records.FindDecision(ctx, a.reg.Cluster, id)
	if err != nil {
		return console.Replayed{}, err
	}
	facts, err := shelves.Find(decision.Input, decision.Machines)
	if err != nil {
		return console.Replayed{}, err
	}
	out := console.Replayed{Identical: true, Recorded: decision.Build, Build: versionText()}
	for i, plan := range replay.Provisioned(&decision, facts) {
		if was := decision.Rounds[i].Plan; !replay.Identical(was, plan) {
			out.Identical = false
			out.Differences = append(out.Differences, planDifferences(&was, &plan)...)
		}
	}
	return out, nil
}

func (a *accountSource) replayDisruption(ctx context.Context, shelves replay.Shelves, id string) (console.Replayed, error) {
	moved, err := a.flow.Moves.FindDisruption(ctx, a.reg.Cluster, id)
	if err != nil {
		return console.Replayed{}, err
	}
	facts, err := shelves.Find(moved.Input, moved.Machines)
	if err != nil {
		return console.Replayed{}, err
	}
	plan := replay.Judged(&moved, facts)
	out := console.Replayed{Identical: replay.Identical(moved.Plan, plan), Recorded: moved.Build, Build: versionText()}
	if !out.Identical {
		out.Differences = commandDifferences(&moved.Plan, &plan)
	}
	return out, nil
}

// planDifferences says how a plan differs from what was planned, a line each.
func planDifferences(was, now *model.Plan) []string {
	nodes := func(p *model.Plan) map[string]int {
		out := map[string]int{}
		for i := range p.Claims {
			c := &p.Claims[i]
			out[fmt.Sprintf("%s %s in %s, pool %s, $%.4f, %d pods", c.Offer.InstanceType, c.Offer.CapacityType, c.Offer.Zone, c.Pool, c.Price.USD(), len(c.Pods))]++
		}
		return out
	}
	out := countDifferences(nodes(was), nodes(now))
	places := func(p *model.Plan) map[string]int {
		out := map[string]int{}
		for i := range p.Nominations {
			for _, pod := range p.Nominations[i].Pods {
				out[fmt.Sprintf("pod %s to %s", pod.Key(), p.Nominations[i].Node)]++
			}
		}
		for i := range p.Unschedulable {
			u := &p.Unschedulable[i]
			out[fmt.Sprintf("pod %s without a place: %s", u.Pod.Key(), u.Reasons[0].Code)]++
		}
		return out
	}
	out = append(out, countDifferences(places(was), places(now))...)
	if was.Price != now.Price {
		out = append(out, fmt.Sprintf("$%.4f an hour, and it was $%.4f", now.Price.USD(), was.Price.USD()))
	}
	return orElsewhere(out)
}

// commandDifferences is planDifferences of what is given back.
func commandDifferences(was, now *model.DisruptPlan) []string {
	commands := func(p *model.DisruptPlan) map[string]int {
		out := map[string]int{}
		for i := range p.Commands {
			c := &p.Commands[i]
			out[fmt.Sprintf("%s of %v for %d new nodes, saves $%.4f", c.Reason, c.Nodes, len(c.Replacements), c.Savings.USD())]++
		}
		for i := range p.Kept {
			out[fmt.Sprintf("node %s stays: %s", p.Kept[i].Node, p.Kept[i].Reasons[0].Code)]++
		}
		return out
	}
	return orElsewhere(countDifferences(commands(was), commands(now)))
}

// countDifferences returns what there is less and more of, sorted.
func countDifferences(was, now map[string]int) []string {
	all := maps.Clone(was)
	maps.Copy(all, now)
	var out []string
	for _, what := range slices.Sorted(maps.Keys(all)) {
		switch n := now[what] - was[what]; {
		case n > 0:
			out = append(out, fmt.Sprintf("+ %d × %s", n, what))
		case n < 0:
			out = append(out, fmt.Sprintf("− %d × %s", -n, what))
		}
	}
	return out
}

func orElsewhere(differences []string) []string {
	if len(differences) == 0 {
		return []string{"nodes, places and prices are the same; what else machines may be, or a message, is not"}
	}
	return differences
}
