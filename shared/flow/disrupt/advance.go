package disrupt

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
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
	*pass
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

// advance moves commands on, side by side.
func (r *pass) advance(ctx context.Context, steps []*step) {
	var input *disruption.Input
	var budgets []model.PDB
	var unread error
	if slices.ContainsFunc(steps, func(s *step) bool { return s.command.State == model.CommandCommitted }) {
		budgets, unread = r.clients.Objects.PDBs(ctx)
	}
	for _, s := range steps {
		if input == nil && s.revalidates() && r.snapshot != nil {
			in, _, err := r.inputNow(ctx)
			if err != nil {
				r.problem("commands cannot be validated: %v", err)
				r.soon(retryAfter)
				break
			}
			input = &in
		}
	}
	r.parallel(len(steps), func(i int) {
		s := steps[i]
		defer r.contain("command " + s.command.ID + ": ")
		if !r.hasTime() {
			r.soon(1)
			return
		}
		if claim := s.unread(); claim != "" {
			s.problem("command %s waits: its claim %s cannot be read", s.command.ID, claim)
			return
		}
		s.find()
		switch s.command.State {
		case model.CommandCommitted:
			if unread != nil {
				s.waits("read PodDisruptionBudgets", unread)
				return
			}
			s.validate(ctx, input, budgets)
		case model.CommandReplacing:
			s.await(ctx)
		case model.CommandUndoing:
			s.undo(ctx)
		}
	})
}

// revalidates reports whether the command is due to be evaluated by the snapshot once more.
func (s *step) revalidates() bool {
	return s.command.State == model.CommandCommitted && s.command.Reason == model.ReasonUnderutilized && s.now() >= s.dueUnix()
}

// dueUnix is when a command to save money may be looked at for the second time.
func (s *step) dueUnix() int64 { return s.command.SinceUnix + seconds(s.settings.ValidateAfter) }

// find looks up the command's claims. One that has ended, or is to end, is left to that and is no failure.
func (s *step) find() {
	for i := range s.command.Targets {
		t := &s.command.Targets[i]
		if claim := s.claims[t.Claim]; claim != nil && claim.Live() && !claim.Ending() && claim.Command == s.command.ID {
			s.targets = append(s.targets, target{Target: t, claim: claim})
		}
	}
}

// unread names a claim of the command that is there and cannot be read, "" where there is none. Nothing follows from its absence: the node
// keeps its taint until somebody knows whose it is.
func (s *step) unread() string {
	claims := make([]string, len(s.command.Targets))
	for i := range claims {
		claims[i] = s.command.Targets[i].Claim
	}
	return s.ledger.Unread.First(model.UnreadClaim, claims...)
}

// alone reports whether each node of the command goes by itself, so that one that must stay holds up no other.
func (s *step) alone() bool {
	return len(s.command.Replacements) == 0 && (s.command.Reason == model.ReasonEmpty || s.command.Reason == model.ReasonReplicas)
}

// validate taints the command's nodes, looks at them again, and lets it go on if nothing speaks against it.
func (s *step) validate(ctx context.Context, input *disruption.Input, budgets []model.PDB) {
	c := &s.command
	if s.unwanted(ctx) {
		return
	}
	if age := s.now() - c.SinceUnix; age > seconds(s.settings.ValidateWithin) {
		s.fail(ctx, codeTooLate, fmt.Sprintf("it could not be validated within %s", s.settings.ValidateWithin))
		return
	}
	if c.Reason == model.ReasonUnderutilized && c.TaintedUnix != 0 && s.now() < s.dueUnix() { // it was looked at once
		s.later(s.dueUnix())
		return
	}
	if !s.readNodes(ctx) {
		return
	}
	leave, stay := s.weigh(budgets)
	if len(stay) > 0 && (len(leave) == 0 || !s.alone()) {
		why := stay[0].reason()
		s.fail(ctx, why.Code, why.Message)
		return
	}
	if c.Reason == model.ReasonUnderutilized && !s.stillHolds(ctx, input) {
		return
	}
	c.TaintedUnix = s.now()
	if len(c.Replacements) == 0 {
		s.finish(ctx, leave, stay)
		return
	}
	next := *c
	next.State, next.ReplacingUnix = model.CommandReplacing, s.now()
	if !s.record(ctx, next) {
		return
	}
	s.count(&s.out.Replacing)
	s.awaits()
}

// unwanted undoes the command where people do not want it any more, or nothing is left of it.
func (s *step) unwanted(ctx context.Context) bool {
	switch stop := s.stop(); {
	case s.reg.Paused:
		s.fail(ctx, codePaused, "the cluster is paused")
	case stop != nil:
		s.fail(ctx, disruption.Stopped, "disruption was stopped: "+stop.What(s.reg))
	case len(s.targets) == 0:
		s.fail(ctx, codeEnded, "all of its nodes terminate anyway")
	default:
		return false
	}
	return true
}

// stop returns a stop that is about the command, nil where there is none.
func (s *step) stop() *model.Stop {
	for i := range s.ledger.Stops {
		stop := &s.ledger.Stops[i]
		if stop.Scope != model.StopPool {
			return stop
		}
		for j := range s.command.Targets {
			if s.command.Targets[j].Pool == stop.Pool {
				return stop
			}
		}
	}
	return nil
}

// readNodes reads the command's nodes as they are after they were tainted. It reports whether all could be read; one that is gone
// has been read.
func (s *step) readNodes(ctx context.Context) bool {
	errs := make([]error, len(s.targets))
	s.parallel(len(s.targets), func(i int) { errs[i] = s.readNode(ctx, &s.targets[i]) })
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
			err := s.effect(ctx, EffectTaint, func() error { return s.clients.Objects.PatchNode(ctx, cordon(t.Target)) })
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
			node.ReadUnix = s.now()
		}
		if disrupted(&node.Node) {
			if t.node = &node; taint {
				if err := s.show(ctx, t.claim, s.command.Reason, s.why()); err != nil {
					s.problem("command %s: show why node %s is disrupted: %v", s.command.ID, t.Node, err)
				}
			}
			return nil
		}
		taint = true
	}
	return fault.New(fault.Conflict, "NotTainted", "node %s was tainted and does not show it", t.Node)
}

// cordon is the patch that keeps new pods off a node while it is looked at again.
func cordon(t *model.Target) model.NodePatch {
	return model.NodePatch{Name: t.Node, UID: t.NodeUID, AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}}
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

// stillHolds evaluates a command to save money once more, on a snapshot that was taken after it was committed: one that shows the
// taint on all of its nodes. Before its time has come, and without such a snapshot, it waits.
func (s *step) stillHolds(ctx context.Context, input *disruption.Input) bool {
	c := &s.command
	if s.now() < s.dueUnix() || input == nil || !s.shown() {
		if s.now() < s.dueUnix() {
			s.later(s.dueUnix())
		} else {
			s.soon(missedHeartbeat)
		}
		if c.TaintedUnix == 0 {
			next := *c
			next.TaintedUnix = s.now()
			s.record(ctx, next)
		}
		return false
	}
	if why := s.revalidate(*input, c); len(why) > 0 {
		s.fail(ctx, why[0].Code, why[0].Message)
		return false
	}
	return true
}

// revalidate is disruption.Revalidate, or whatever takes its place in a test, for one command at a time: each reads the whole cluster.
func (r *pass) revalidate(input disruption.Input, command *model.Command) []model.KeptReason {
	r.revalidating.Lock()
	defer r.revalidating.Unlock()
	if r.Revalidate != nil {
		return r.Revalidate(input, command)
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
		if node := &s.snapshot.Nodes[i]; disrupted(node) {
			delete(left, node.UID)
		}
	}
	return len(left) == 0
}

// await looks how far the command's replacements have come. No node of it is drained before every one of them is initialized.
func (s *step) await(ctx context.Context) {
	c := &s.command
	if s.unwanted(ctx) {
		return
	}
	missing, waiting := 0, []*model.Claim{}
	for i := range c.Replacements {
		claim := s.claims[c.Replacements[i].Name]
		switch {
		case claim == nil:
			if why := s.unfit(c.Replacements[i].Name); why != "" {
				s.fail(ctx, model.ReplacementBarred, fmt.Sprintf("replacement %s cannot be launched: %s", c.Replacements[i].Name, why))
				return
			}
			missing++
		case !claim.Live() || claim.Ending():
			s.fail(ctx, model.ReplacementFailed, fmt.Sprintf("replacement %s: %s", claim.Name, failure(claim)))
			return
		case claim.State != model.Initialized:
			waiting = append(waiting, claim)
		}
	}
	if missing+len(waiting) > 0 {
		if s.now()-c.ReplacingUnix > seconds(s.settings.ReplaceWithin) {
			s.fail(ctx, model.ReplacementFailed, fmt.Sprintf("%d of its replacements were not ready within %s", missing+len(waiting), s.settings.ReplaceWithin))
			return
		}
		if missing > 0 {
			s.awaits()
		}
		s.reportWaiting(ctx, waiting)
		s.soon(seconds(s.settings.RecheckAfter))
		return
	}
	if !s.readNodes(ctx) {
		return
	}
	leave, stay := s.weigh(nil)
	if len(stay) > 0 {
		why := stay[0].reason()
		s.fail(ctx, why.Code, why.Message)
		return
	}
	s.finish(ctx, leave, nil)
}

// unfit says why a replacement cannot be launched, as provision found out since the command waits for it; empty = it may yet be.
func (s *step) unfit(name string) string {
	for i := range s.ledger.Notes.Unfit {
		if unfit := &s.ledger.Notes.Unfit[i]; unfit.Name == name && unfit.AtUnix >= s.command.ReplacingUnix {
			return unfit.Why
		}
	}
	return ""
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

// awaits notes that provision has yet to launch for the command.
func (s *step) awaits() {
	s.soon(seconds(s.settings.RecheckAfter))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.replace = append(s.replace, s.command.ID)
}

// finish ends the command: from this write on the claims of what leaves are Draining, and nothing brings them back. What has
// to stay is let go by the same write.
func (s *step) finish(ctx context.Context, leave, stay []*target) {
	if !s.hasTime() {
		s.soon(1)
		return
	}
	now := s.now()
	var claims []model.Claim
	for _, t := range leave {
		claim := *t.claim
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.EndRequested)
		claim.FailureCode, claim.FailureMessage = s.command.Reason, s.why()
		claim.Drain = &model.Drain{SinceUnix: now, DeadlineUnix: claim.Deadline(now)}
		claims = append(claims, claim)
	}
	for _, t := range stay {
		claim := *t.claim
		claim.Command = ""
		claims = append(claims, claim)
	}
	next := s.command
	next.State, next.EndedUnix = model.CommandDone, now
	if !s.end(ctx, next, claims, append(append([]*target{}, leave...), stay...)) {
		return
	}
	s.mutex.Lock()
	s.out.Done++
	s.out.Drained += len(leave)
	s.drained = append(s.drained, s.command.ID)
	s.mutex.Unlock()
	s.reportTerminating(leave)
	for _, t := range stay { // a taint that is left is a stray, and is taken off as such
		if t.gone {
			continue
		}
		s.reportBlocked(t)
		if err := s.free(ctx, tainted{t.Node, t.NodeUID, t.claim}); err != nil {
			s.waits("remove the taint from node "+t.Node, err)
		}
	}
}

// fail has the command undone, and begins with that.
func (s *step) fail(ctx context.Context, code, message string) {
	next := s.command
	next.State, next.FailureCode, next.FailureMessage = model.CommandUndoing, code, message
	if code == model.ReplacementFailed {
		next.FailedOfferings = disruption.FailedOf(&next, s.ledger.UnavailableOfferings, s.ledger.Commands, s.ledger.Claims, s.now())
	}
	if !s.record(ctx, next) {
		return
	}
	s.count(&s.out.Undoing)
	s.reportRejected()
	s.undo(ctx)
}

// undo lets the scheduler use the command's nodes again: reasons and taints are taken off, and then the command has no hold of
// them any more.
func (s *step) undo(ctx context.Context) {
	errs := make([]error, len(s.targets))
	s.parallel(len(s.targets), func(i int) {
		t := &s.targets[i]
		errs[i] = fault.New(fault.Internal, "Panic", "it could not be launched")
		errs[i] = s.free(ctx, tainted{t.Node, t.NodeUID, t.claim})
	})
	for i, err := range errs {
		if err != nil {
			s.waits("remove the taint from node "+s.targets[i].Node, err)
			return
		}
	}
	var claims []model.Claim
	var of []*target
	for i := range s.targets {
		claim := *s.targets[i].claim
		claim.Command = ""
		claims, of = append(claims, claim), append(of, &s.targets[i])
	}
	next := s.command
	next.State, next.EndedUnix = model.CommandUndone, s.now()
	if s.end(ctx, next, claims, of) {
		s.count(&s.out.Undone)
	}
}

// record writes how far the command has come.
func (s *step) record(ctx context.Context, next model.Command) bool {
	err := s.effect(ctx, EffectStep, func() (err error) {
		next, err = s.Commands.AdvanceCommand(ctx, s.fence, next)
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
	err := s.effect(ctx, EffectEnd, func() (err error) {
		next, err = s.Commands.End(ctx, s.fence, next, claims)
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
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i := range s.ledger.Commands {
		if s.ledger.Commands[i].ID == command.ID {
			s.ledger.Commands[i] = command
		}
	}
}

// late notes that a write did not happen, or that it is unknown whether it has: the next run reads what is so.
func (s *step) late(what string, err error) {
	if fault.Is(err, fault.Conflict) {
		s.count(&s.out.Conflicts)
		s.soon(cameTooLate)
		return
	}
	s.waits(what, err)
}

// waits notes that something does not answer, so that the command stays where it is.
func (s *step) waits(what string, err error) {
	s.problem("command %s: %s: %v", s.command.ID, what, err)
	s.soon(retryAfter)
}

// why says for people why the command's nodes end.
func (s *step) why() string {
	text := model.DisruptedBy(s.command.ID, len(s.command.Targets), len(s.command.Replacements)) + ": "
	switch s.command.Reason {
	case model.ReasonEmpty:
		return text + "no pods that count run there"
	case model.ReasonUnderutilized:
		return text + fmt.Sprintf("its pods cost $%.4f less an hour elsewhere", s.command.Savings.USD())
	case model.ReasonDrifted:
		return text + "an instance launched now would differ"
	case model.ReasonExpired:
		return text + "it is older than spec.expireAfter"
	case model.ReasonReplicas:
		return text + "its NodePool has more instances than spec.replicas"
	}
	return text + s.command.Reason
}
