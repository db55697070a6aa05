package replay

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/core/reclaim"
	"github.com/joiner-sh/joiner/shared/model"
)

// Judge joins the judge's question with the snapshot and the region's machine types. It reads them and writes to none.
func Judge(q *model.JudgeQuestion, shown *model.Snapshot, types []model.MachineType) reclaim.Input {
	in := reclaim.Input{
		Snapshot: shown, Catalogs: make(map[string][]model.InstanceType, len(q.Classes)), ClassProblems: map[string]string{}, PoolsHeld: held(q.Held),
		Claims: q.Claims, Usage: make(map[string]model.Resources, len(q.Usage)), Marks: q.Marks, Commands: q.Commands, Stops: q.Stops,
		NowUnix: q.NowUnix, Settings: q.Settings, Salt: q.Salt, Unclaimed: q.Unclaimed,
	}
	for i := range q.Classes {
		asked := &q.Classes[i]
		class, there := classOf(asked, shown)
		if !there {
			continue
		}
		if why := problem(&class, asked, types, q.Offers); why != "" {
			in.ClassProblems[class.Name] = why
		}
		buys := offer.Mask(offer.Catalog(types, class, q.Offers), class.Status.Subnets, offer.ForClass(q.Marks, &class.Status), q.Offers.NowUnix)
		if asked.Suspended {
			buys = unavailable(buys)
		}
		in.Catalogs[class.Name] = buys
	}
	for _, usage := range q.Usage {
		in.Usage[usage.Pool] = usage.Held
	}
	return in
}

// unavailable returns the types with all offers closed.
func unavailable(types []model.InstanceType) []model.InstanceType {
	out := slices.Clone(types)
	for i := range out {
		out[i].Offers = slices.Clone(out[i].Offers)
		for j := range out[i].Offers {
			out[i].Offers[j].Available = false
		}
	}
	return out
}

// Disruption answers the judge's question on the snapshot as it was published, places of CapacityBuffers among its pods. Replacements have
// the names that named has for them, by those they were planned with.
func Disruption(q *model.JudgeQuestion, shown *model.Snapshot, types []model.MachineType, named map[string]string) model.DisruptPlan {
	plan := reclaim.Plan(Judge(q, shown, types))
	for i := range plan.Commands {
		Rename(&plan, i, named)
	}
	return plan
}

// Rename gives the replacements of a planned command other names, by those they were planned with, wherever this command and those after
// it speak of them.
func Rename(plan *model.DisruptPlan, of int, named map[string]string) {
	if len(named) == 0 {
		return
	}
	names := map[string]string{} // of this command's
	replacements := slices.Clone(plan.Commands[of].Replacements)
	for i := range replacements {
		if name, known := named[replacements[i].Name]; known {
			names[replacements[i].Name], replacements[i].Name = name, name
		}
	}
	if len(names) == 0 {
		return
	}
	plan.Commands[of].Replacements = replacements
	for i := of; i < len(plan.Commands); i++ {
		moves := slices.Clone(plan.Commands[i].Moves)
		for j := range moves {
			if name, known := names[moves[j].Node]; known {
				moves[j].Node = name
			}
		}
		plan.Commands[i].Moves = moves
	}
}
