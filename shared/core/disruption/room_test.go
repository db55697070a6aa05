package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Commands reserve no room on nodes that exist: until pods are moved, two may count on the same. Nothing comes of it: of all commands
// of one plan, carried out one after the other in any order, each is revalidated before its nodes are drained; whatever places
// pods go to instead of those the commands name, every one has a place without an instance more. So it is too where drains take so
// long that all of the plan's are underway at once: what leaves a node has its place before the next command is evaluated.
func TestNoPodStaysWithoutAPlaceWhileCommandsAreCarriedOut(t *testing.T) {
	done, undone := 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := drawUnderused(r)
		plan := Plan(w.in)
		commitAll(&w.in, plan)
		order, slow := r.Perm(len(plan.Commands)), seed%3 == 0
		if seed%2 == 0 {
			slices.Sort(order)
		}
		var draining []*model.Command
		finish := func() {
			for _, command := range draining {
				w.drain(command)
			}
			if draining = nil; len(w.schedule(t)) > 0 {
				t.Fatalf("seed %d, of %d commands in the order %v, slow %v: %v have no place", seed, len(order), order, slow, w.schedule(t))
			}
		}
		for _, n := range order {
			id := fmt.Sprintf("c%02d", n)
			command := w.in.Commands[slices.IndexFunc(w.in.Commands, func(c model.Command) bool { return c.ID == id })]
			w.ready(&command)
			if reasons := Revalidate(w.in, &command); len(reasons) > 0 {
				w.undo(&command)
				undone++
				continue
			}
			w.end(&command)
			draining = append(draining, &command)
			if done++; !slow {
				finish()
			}
		}
		finish()
	}
	if t.Logf("%d commands carried out, %d undone", done, undone); done < 100 || undone > done/20 {
		t.Errorf("%d commands were carried out and %d undone, that nothing has changed for", done, undone)
	}
}

// state sets the command's state.
func (w *world) state(id string, state model.CommandState) {
	for i := range w.in.Commands {
		if w.in.Commands[i].ID == id {
			w.in.Commands[i].State = state
		}
	}
}

// ready has the command's replacements joined, as what they were planned as.
func (w *world) ready(command *model.Command) {
	command.State = model.CommandReplacing
	w.state(command.ID, command.State)
	snapshot := *w.in.Snapshot
	snapshot.Nodes = slices.Clone(snapshot.Nodes)
	w.in.Snapshot, w.in.Claims = &snapshot, slices.Clone(w.in.Claims)
	for _, p := range command.Replacements {
		w.node(p.Name, p.Pool, sized(p.Offering.InstanceType, p.Offering.CapacityType), func(n *model.Node, c *model.Claim) {
			n.Labels[model.LabelZone], c.Zone, c.Price = p.Offering.Zone, p.Offering.Zone, p.Price
			c.Name, c.Pods = p.Name, p.Pods
		})
	}
}

// undo leaves the command's nodes as they were; its replacements stay.
func (w *world) undo(command *model.Command) {
	w.state(command.ID, model.CommandUndone)
	snapshot := *w.in.Snapshot
	snapshot.Nodes, w.in.Claims = slices.Clone(snapshot.Nodes), slices.Clone(w.in.Claims)
	for _, target := range command.Targets {
		for i := range snapshot.Nodes {
			if node := &snapshot.Nodes[i]; node.Name == target.Node {
				node.Taints = slices.DeleteFunc(slices.Clone(node.Taints), func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
			}
		}
		for i := range w.in.Claims {
			if w.in.Claims[i].Name == target.Claim {
				w.in.Claims[i].Command = ""
			}
		}
	}
	w.in.Snapshot = &snapshot
}

// end has the end of the command's claims begin.
func (w *world) end(command *model.Command) {
	w.state(command.ID, model.CommandDone)
	w.in.Claims = slices.Clone(w.in.Claims)
	for i := range w.in.Claims {
		if claim := &w.in.Claims[i]; claim.Command == command.ID {
			claim.State = model.Draining
		}
	}
}

// drain takes the command's nodes away; their pods wait.
func (w *world) drain(command *model.Command) {
	snapshot := *w.in.Snapshot
	snapshot.Pods = slices.Clone(snapshot.Pods)
	is := func(node string) bool {
		return slices.ContainsFunc(command.Targets, func(t model.Target) bool { return t.Node == node })
	}
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; is(pod.NodeName) {
			pod.NodeName, pod.Unschedulable, pod.Ready, pod.Phase = "", true, false, model.Pending
		}
	}
	snapshot.Nodes = slices.DeleteFunc(slices.Clone(snapshot.Nodes), func(n model.Node) bool { return is(n.Name) })
	w.in.Claims = slices.DeleteFunc(slices.Clone(w.in.Claims), func(c model.Claim) bool { return is(c.NodeName) })
	w.in.Snapshot = &snapshot
}

// schedule binds pods that wait to nodes that exist, no matter which commands mean them for, and returns those that find no place.
func (w *world) schedule(t *testing.T) []string {
	t.Helper()
	var waiting []int // no pod of a tainted node: those run on
	for i := range w.in.Snapshot.Pods {
		if w.in.Snapshot.Pods[i].NodeName == "" {
			waiting = append(waiting, i)
		}
	}
	plan := pack.Plan(pack.Input{Snapshot: w.in.Snapshot, Catalogs: w.in.Catalogs, Claims: w.in.Claims, Pending: append([]int{}, waiting...), NowUnix: w.in.NowUnix})
	place := make(map[model.PodRef]string)
	for _, n := range plan.Nominations {
		for _, ref := range n.Pods {
			place[ref] = n.Node
		}
	}
	var lost []string
	for _, i := range waiting {
		pod := &w.in.Snapshot.Pods[i]
		if node := place[pod.Ref()]; node != "" {
			pod.NodeName, pod.Unschedulable, pod.Ready, pod.Phase = node, false, true, model.Running
		} else {
			lost = append(lost, pod.Key())
		}
	}
	return lost
}
