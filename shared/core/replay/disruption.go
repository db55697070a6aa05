package replay

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// DisruptionInput joins the disruption function's question with the snapshot and the region's instance types. It reads them and writes to none.
func DisruptionInput(q *model.DisruptionInput, shown *model.Snapshot, types []model.InstanceTypeInfo) disruption.Input {
	in := disruption.Input{
		Snapshot: withoutShifted(shown, q), Catalogs: make(map[string][]model.InstanceType, len(q.Classes)),
		ClassProblems: map[string]string{}, SuspendedPools: suspended(q.SuspendedPools),
		Claims: q.Claims, Usage: make(map[string]model.Resources, len(q.Usage)), UnavailableOfferings: q.UnavailableOfferings, Commands: q.Commands, Stops: q.Stops,
		NowUnix: q.NowUnix, Settings: q.Settings, Salt: q.Salt, Unclaimed: q.Unclaimed,
	}
	all, masks := make(map[string][]model.InstanceType, len(q.Classes)),
		make(map[string]func([]model.InstanceType) []model.InstanceType, len(q.Classes))
	for i := range q.Classes {
		asked := &q.Classes[i]
		class, there := classOf(asked, shown)
		if !there {
			continue
		}
		if why := problem(&class, asked, types, q.Offerings); why != "" {
			in.ClassProblems[class.Name] = why
		}
		all[class.Name] = offering.Catalog(types, class, q.Offerings)
		masks[class.Name] = func(types []model.InstanceType) []model.InstanceType {
			buys := offering.Mask(types, class.Status.Subnets, offering.UnavailableForClass(q.UnavailableOfferings,
				&class.Status), q.Offerings.NowUnix)
			if asked.Suspended {
				buys = unavailable(buys)
			}
			return buys
		}
		in.Catalogs[class.Name] = masks[class.Name](all[class.Name])
	}
	overlay.AddTo(in.Catalogs, all, shown, func(class string, types []model.InstanceType) []model.InstanceType {
		return masks[class](types)
	})
	for _, usage := range q.Usage {
		in.Usage[usage.Pool] = usage.Reserved
	}
	return in
}

// withoutShifted returns the snapshot with the nodes closed that are in zones the cluster is shifted away from, as EKS
// closes them: no pod is moved there. Without a zonal shift it is the snapshot itself.
func withoutShifted(shown *model.Snapshot, q *model.DisruptionInput) *model.Snapshot {
	out := shown
	for i := range q.UnavailableOfferings {
		shift := &q.UnavailableOfferings[i]
		if shift.ZoneID == "" || shift.UntilUnix <= q.Offerings.NowUnix {
			continue
		}
		for n := range shown.Nodes {
			if !shift.Shifts(&shown.Nodes[n]) {
				continue
			}
			if out == shown {
				copied := *shown
				copied.Nodes, out = slices.Clone(shown.Nodes), &copied
			}
			closed := model.Taint{Key: model.TaintUnschedulable, Effect: model.NoSchedule}
			out.Nodes[n].Taints = append(slices.Clone(out.Nodes[n].Taints), closed)
		}
	}
	return out
}

// unavailable returns the types with all offerings closed.
func unavailable(types []model.InstanceType) []model.InstanceType {
	out := slices.Clone(types)
	for i := range out {
		out[i].Offerings = slices.Clone(out[i].Offerings)
		for j := range out[i].Offerings {
			out[i].Offerings[j].Available = false
		}
	}
	return out
}

// PlanDisruption answers the disruption function's question on the snapshot as it was published, places of CapacityBuffers among its pods. Replacements have
// the names that named has for them, by those they were planned with.
func PlanDisruption(q *model.DisruptionInput, shown *model.Snapshot, types []model.InstanceTypeInfo, named map[string]string) model.DisruptPlan {
	plan := disruption.Plan(DisruptionInput(q, shown, types))
	for i := range plan.Commands {
		Rename(&plan, i, named)
	}
	return plan
}

// Rename gives the replacements of a planned command other names, by those they were planned with, wherever this command and those after
// it name them.
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
