package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// history is what earlier commands say about disrupting nodes now.
type history struct {
	*cluster
	breaks    map[string]int64            // by class; see broken
	undone    map[string][]*model.Command // by the names of the claims they were to disrupt
	unchanged map[string]bool             // by command: what it was decided by is as it was
}

func newHistory(c *cluster) *history {
	h := &history{
		cluster: c, breaks: make(map[string]int64), undone: make(map[string][]*model.Command),
		unchanged: make(map[string]bool),
	}
	for i := range c.in.Commands {
		command := &c.in.Commands[i]
		if command.State != model.CommandUndone {
			continue
		}
		for _, t := range command.Targets {
			h.undone[t.Claim] = append(h.undone[t.Claim], command)
		}
	}
	return h
}

// broken returns until when no node of a class is disrupted because replacements of it failed: once BreakerFailures of
// the latest BreakerOutcomes commands with such did; 0 = it is not so.
func (h *history) broken(class string) int64 {
	if known, read := h.breaks[class]; read {
		return known
	}
	var ended []*model.Command
	for i := range h.in.Commands {
		c := &h.in.Commands[i]
		of := slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return p.Class == class })
		if of && (c.State == model.CommandDone || failed(c)) {
			ended = append(ended, c)
		}
	}
	slices.SortFunc(ended, func(a, b *model.Command) int {
		return cmp.Or(cmp.Compare(endOf(b, h.now), endOf(a, h.now)), strings.Compare(b.ID, a.ID))
	})
	until, failures := int64(0), 0
	for _, c := range ended[:min(len(ended), h.set.BreakerOutcomes)] {
		if failed(c) {
			failures++
			until = max(until, later(endOf(c, h.now), h.set.BreakerSeconds))
		}
	}
	if failures < h.set.BreakerFailures {
		until = 0
	}
	h.breaks[class] = until
	return until
}

// How long a node is left alone after a command for it was undone: from a minute on, twice as long each time, up to
// OppositeSeconds. Where replacements failed no others are tried from OppositeSeconds on, twice as long each time, up
// to most; without any it may go.
const (
	retrySeconds = 60
	mostRetry    = 8 * 3600
)

// backoff returns until when a claim is left alone because commands for it were undone, and the last of these. Those
// whose replacements failed count where it is about replacing it: whether its pods fit elsewhere has nothing to do with
// them.
func (h *history) backoff(claim string, replaced bool) (int64, *model.Command) {
	var last *model.Command
	pause, long := int64(0), false
	for _, c := range h.undone[claim] {
		if failed(c) && !replaced {
			continue
		}
		pause = max(retrySeconds, min(pause*2, mostRetry))
		if failed(c) && !long {
			pause, long = max(pause, h.set.OppositeSeconds), true
		}
		if last == nil || cmp.Or(cmp.Compare(endOf(c, h.now), endOf(last, h.now)), strings.Compare(c.ID, last.ID)) > 0 {
			last = c
		}
	}
	if last == nil {
		return 0, nil
	}
	if !long {
		pause = min(pause, h.set.OppositeSeconds)
	}
	return later(endOf(last, h.now), pause), last
}

// recent returns until when a command must not be turned round: it is under way or was carried out lately, and what it
// was decided by is as it was. 0 = it may be.
func (h *history) recent(c *model.Command) (until int64) {
	until = later(endOf(c, h.now), h.set.OppositeSeconds)
	if c.State == model.CommandUndone || c.State == model.CommandUndoing || until <= h.now {
		return 0
	}
	same, known := h.unchanged[c.ID]
	if !known {
		same = c.Inputs == h.inputsOf(c)
		h.unchanged[c.ID] = same
	}
	if !same {
		return 0
	}
	return until
}

// cameOf reports whether the node was launched because of a command: as one of its replacements, or since, and all it
// carries are pods of workloads that the command moved.
func (h *history) cameOf(node *poolNode, c *model.Command) bool {
	if launched(c, node.Claim.Name) {
		return true
	}
	if node.Claim.CreatedUnix <= c.SinceUnix || len(node.Pods) == 0 || len(c.Workloads) == 0 {
		return false
	}
	workloads := h.workloads([]*poolNode{node})
	return !slices.ContainsFunc(workloads, func(w string) bool { return !slices.Contains(c.Workloads, w) })
}

// launched reports whether a claim is one of the command's replacements.
func launched(c *model.Command, claim string) bool {
	return slices.ContainsFunc(c.Replacements, func(p model.PlannedClaim) bool { return p.Name == claim })
}

// reverts returns why a command to consolidate would buy again what was just disrupted, for the same workloads, and
// until when; nil where it would not. cameOf has seen to the other way round.
func (h *history) reverts(command *model.PlannedCommand) (no *model.KeptReason, until int64) {
	if command.Reason != model.ReasonUnderutilized || len(command.Replacements) == 0 {
		return nil, 0
	}
	for i := range h.in.Commands {
		c := &h.in.Commands[i]
		if c.Reason != model.ReasonUnderutilized {
			continue
		}
		if until = h.recent(c); until == 0 || !overlap(command.Workloads, c.Workloads) {
			continue
		}
		for k := range c.Targets {
			t := &c.Targets[k]
			if slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool {
				return p.Offering == offeringOf(t) && p.Pool == t.Pool
			}) {
				return because(RevertsRecent, "it would launch again a %s that command %s has just removed, for the "+
					"same pods; the inputs of that decision have not changed, so it is left alone until %s",
					t.InstanceType, c.ID, clock(until)), until
			}
		}
	}
	return nil, 0
}

// overlap reports whether two lists have anything in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// failed reports whether a command is undone, or being undone, for its replacements.
func failed(c *model.Command) bool {
	undone := c.State == model.CommandUndone || c.State == model.CommandUndoing
	return undone && c.FailureCode == model.ReplacementFailed
}

// endOf returns when a command ended; now where it has not.
func endOf(c *model.Command, now int64) int64 { return min(cmp.Or(c.EndedUnix, now), now) }
