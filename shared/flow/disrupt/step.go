package disrupt

import (
	"context"
	"fmt"
	"sync"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Codes of why a command is undone, beside those of core/disruption and model.ReplacementFailed.
const (
	codePaused   = "Paused"       // the cluster was paused
	codeEnded    = "TargetsEnded" // all of its nodes have ended by themselves, or are about to
	codeNodeGone = "NodeGone"     // a node of it is not there any more
	codeTooLate  = "TooLate"      // it could not be found to hold in time
)

// step is one command being moved on. Where it stands is read from its record and from what is read live, so that whichever
// effect was the last of a process, the next run goes on from there:
//
//	Committed   nodes without the taint                   → tainted
//	            anything speaks against it now            → Undoing
//	            to save money, and 15 s have not passed   → waits
//	            replacements                              → Replacing, and provision is asked
//	            none                                      → Done
//	Replacing   a replacement failed, or is late          → Undoing
//	            all of them are initialized               → Done
//	Undoing     reasons and taints are taken off          → Undone
//
// Done is one write with the claims, which are Draining from then on: emptying and ending them is the interruption function's.
type step struct {
	*mover
	command model.Command
	targets []target // whose claims are live, not to end, and the command's
}

// target is a node of a command with what is known of it now.
type target struct {
	*model.Target
	claim *model.Claim
	node  *model.Occupied // as it was read in this run, with the taint; nil = not read
	gone  bool            // the node is not there any more
	why   []model.KeptReason
}

// moved are the commands that others have to do something about.
type moved struct {
	replace []string // ids of those provision has yet to launch for
	drained []string // ids of those that were Done
}

// mover moves commands on.
type mover struct {
	*session
	view
	inputs *inputs
	moved  moved

	input   *disruption.Input // by which commands are evaluated once more; nil = none has to be, or it cannot be made
	budgets []model.PDB
	unread  error // of budgets

	revalidating sync.Mutex // held while a command is evaluated once more
}

// dueUnix is when a command to save money may be looked at for the second time.
func (s *step) dueUnix() int64 { return s.command.SinceUnix + seconds(s.settings.ValidateAfter) }

// revalidates reports whether the command is due to be evaluated by the snapshot once more.
func (s *step) revalidates() bool {
	return s.command.State == model.CommandCommitted && s.command.Reason == model.ReasonUnderutilized && s.NowUnix() >= s.dueUnix()
}

// find looks up the command's claims. One that has ended, or is to end, is left to that and is no failure.
func (s *step) find() {
	for i := range s.command.Targets {
		t := &s.command.Targets[i]
		if claim := s.state.claims[t.Claim]; claim != nil && claim.Live() && !claim.Ending() && claim.Command == s.command.ID {
			s.targets = append(s.targets, target{Target: t, claim: claim})
		}
	}
}

// unreadClaim names a claim of the command that is there and cannot be read, "" where there is none. Nothing follows from its absence: the node
// keeps its taint until somebody knows whose it is.
func (s *step) unreadClaim() string {
	claims := make([]string, len(s.command.Targets))
	for i := range claims {
		claims[i] = s.command.Targets[i].Claim
	}
	return s.state.Unread.First(model.UnreadClaim, claims...)
}

// readNodes reads the command's nodes as they are after they were tainted. It reports whether all could be read; one that is gone
// has been read.
func (s *step) readNodes(ctx context.Context) bool {
	errs := make([]error, len(s.targets))
	s.each(len(s.targets), func(i int) { errs[i] = s.readNode(ctx, &s.targets[i]) })
	for i, err := range errs {
		if err != nil {
			s.waits("taint and read node "+s.targets[i].Node, err)
			return false
		}
		if t := &s.targets[i]; t.node == nil && !t.gone { // it panicked
			s.soon(retryAfter)
			return false
		}
	}
	return true
}

// readNode taints a node that does not carry the taint, and reads it after that.
func (s *step) readNode(ctx context.Context, t *target) error {
	taint := s.command.TaintedUnix == 0
	for range 2 {
		if taint {
			err := s.Effect(ctx, EffectTaint, func() error { return s.clients.Objects.PatchNode(ctx, cordon(t.Target)) })
			if absent(err) {
				t.gone = true
				return nil
			}
			if err != nil {
				return err
			}
		}
		node, err := s.clients.Objects.ReadNode(ctx, model.Object{Name: t.Node, UID: t.NodeUID})
		if absent(err) {
			t.gone = true
			return nil
		}
		if err != nil {
			return err
		}
		if node.ReadUnix == 0 {
			node.ReadUnix = s.NowUnix()
		}
		if replay.IsDisrupted(&node.Node) {
			if t.node = &node; taint {
				if err := s.show(ctx, t.claim, s.command.Reason, why(&s.command)); err != nil {
					s.Problem("command %s: show why node %s is disrupted: %v", s.command.ID, t.Node, err)
				}
			}
			return nil
		}
		taint = true
	}
	return fault.New(fault.Conflict, "NotTainted", "node %s was tainted and does not show it", t.Node)
}

// weigh tells the targets that may go from those that something speaks against. budgets may be nil: then they are not looked at.
func (s *step) weigh(budgets []model.PDB) (leave, stay []*target) {
	for i := range s.targets {
		t := &s.targets[i]
		if !t.gone {
			t.why = disruption.Live(disruption.Sighting{Reason: s.command.Reason, Target: t.Target, Claim: t.claim, Node: t.node, Budgets: budgets})
		}
		if t.gone || len(t.why) > 0 {
			stay = append(stay, t)
		} else {
			leave = append(leave, t)
		}
	}
	return leave, stay
}

// reason is the first thing that speaks against the target.
func (t *target) reason() model.KeptReason {
	if t.gone {
		return model.KeptReason{Code: codeNodeGone, Message: "node " + t.Node + " does not exist any more"}
	}
	return t.why[0]
}

// revalidate is disruption.Revalidate, or whatever takes its place in a test, for one command at a time: each reads the whole cluster.
func (m *mover) revalidate(input disruption.Input, command *model.Command) []model.KeptReason {
	m.revalidating.Lock()
	defer m.revalidating.Unlock()
	if m.flow.Revalidate != nil {
		return m.flow.Revalidate(input, command)
	}
	return disruption.Revalidate(input, command)
}

// shown reports whether the snapshot shows the taint on every node of the command.
func (s *step) shown() bool {
	left := map[string]bool{}
	for i := range s.targets {
		left[s.targets[i].NodeUID] = true
	}
	for i := range s.snapshot.Nodes {
		if node := &s.snapshot.Nodes[i]; replay.IsDisrupted(node) {
			delete(left, node.UID)
		}
	}
	return len(left) == 0
}

// record writes how far the command has come.
func (s *step) record(ctx context.Context, next model.Command) bool {
	err := s.Effect(ctx, EffectStep, func() (err error) {
		next, err = s.flow.Commands.AdvanceCommand(ctx, s.fence, next)
		return err
	})
	if err != nil {
		s.late("record its progress", err)
		return false
	}
	s.stored(next)
	return true
}

// end writes the last state of the command together with its claims, which are those of the targets.
func (s *step) end(ctx context.Context, next model.Command, claims []model.Claim, of []*target) bool {
	err := s.Effect(ctx, EffectEnd, func() (err error) {
		next, err = s.flow.Commands.End(ctx, s.fence, next, claims)
		return err
	})
	if err != nil {
		s.late("end it", err)
		return false
	}
	for i, t := range of {
		claims[i].Version++
		*t.claim = claims[i]
	}
	s.stored(next)
	return true
}

// stored notes the command as it is in the ledger now.
func (s *step) stored(command model.Command) {
	s.command = command
	s.Mutex.Lock()
	defer s.Mutex.Unlock()
	s.state.stored(command)
}

// late notes that a write did not happen, or that it is unknown whether it has: the next run reads what is so.
func (s *step) late(what string, err error) {
	if fault.Is(err, fault.Conflict) {
		s.Add(&s.out.Conflicts, 1)
		s.soon(cameTooLate)
		return
	}
	s.waits(what, err)
}

// waits notes that something does not answer, so that the command stays where it is.
func (s *step) waits(what string, err error) {
	s.Problem("command %s: %s: %v", s.command.ID, what, err)
	s.soon(retryAfter)
}

// failure says why a replacement came to nothing.
func failure(claim *model.Claim) string {
	switch {
	case claim.FailureMessage != "":
		return claim.FailureMessage
	case claim.FailureCode != "":
		return claim.FailureCode
	}
	return "it is " + string(claim.State)
}

// reportWaiting says on replacements what they are waited for with, every so often.
func (s *step) reportWaiting(ctx context.Context, waiting []*model.Claim) {
	if len(waiting) == 0 || s.NowUnix()-s.command.ReportedUnix < reportSeconds {
		return
	}
	next := s.command
	next.ReportedUnix = s.NowUnix()
	if !s.record(ctx, next) {
		return
	}
	for _, claim := range waiting {
		reason, message := reasonWaiting, fmt.Sprintf("Waiting for it to be ready, to continue with command %s (%s)", s.command.ID, s.command.Reason)
		if claim.RegisteredUnix == 0 {
			reason, message = reasonLaunching, fmt.Sprintf("It is launched as the replacement of %s (%s)", names(&s.command), s.command.Reason)
		}
		s.say("", "", claim, reason, message)
	}
}

// reportTerminating says on nodes that they are drained now.
func (s *step) reportTerminating(leave []*target) {
	for _, t := range leave {
		s.say(t.Node, t.NodeUID, t.claim, reasonTerminating, "The node is drained and its instance terminated: "+why(&s.command))
	}
}

// reportBlocked says on a node why it stays after all.
func (s *step) reportBlocked(t *target) {
	s.say(t.Node, t.NodeUID, t.claim, reasonBlocked, t.reason().Message)
}

// reportRejected says on the command's nodes why they stay after all.
func (s *step) reportRejected() {
	reason := reasonBlocked
	if s.command.Reason == model.ReasonUnderutilized && s.command.FailureCode != model.ReplacementFailed {
		reason = reasonRejected
	}
	for i := range s.targets {
		t := &s.targets[i]
		s.say(t.Node, t.NodeUID, t.claim, reason, fmt.Sprintf("%s: %s", s.command.FailureCode, s.command.FailureMessage))
	}
}

// alone reports whether each node of the command goes by itself, so that one that must stay holds up no other.
func alone(c *model.Command) bool {
	return len(c.Replacements) == 0 && (c.Reason == model.ReasonEmpty || c.Reason == model.ReasonReplicas)
}

// names are the command's nodes, the first few of them.
func names(c *model.Command) string {
	const most = 5
	var names []string
	for i := range c.Targets {
		names = append(names, c.Targets[i].Node)
	}
	return work.Several(names, most, ", ")
}

// why says for people why the command's nodes end.
func why(c *model.Command) string {
	text := model.DisruptedBy(c.ID, len(c.Targets), len(c.Replacements)) + ": "
	if c.Reason == model.ReasonUnderutilized {
		return text + fmt.Sprintf("its pods cost $%.4f less an hour elsewhere", c.Savings.USD())
	}
	text += model.ReasonNamed(c.Reason).Why
	if c.TerminateFirst {
		text += "; there is no capacity for a replacement beside it, so that it is terminated first"
	}
	return text
}
