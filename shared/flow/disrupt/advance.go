package disrupt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// steps are commands to be moved on.
func (m *mover) steps(commands []model.Command) []*step {
	steps := make([]*step, len(commands))
	for i := range commands {
		steps[i] = &step{mover: m, command: commands[i]}
	}
	return steps
}

// advance moves commands on, side by side.
func (m *mover) advance(ctx context.Context, steps []*step) {
	m.input, m.budgets, m.unread = nil, nil, nil
	if slices.ContainsFunc(steps, func(s *step) bool { return s.command.State == model.CommandCommitted }) {
		m.budgets, m.unread = m.clients.Objects.PDBs(ctx)
	}
	if m.snapshot != nil && slices.ContainsFunc(steps, (*step).revalidates) {
		input, _, err := m.inputs.now(ctx)
		if err != nil {
			m.Problem("commands cannot be validated: %v", err)
			m.soon(retryAfter)
		} else {
			m.input = &input
		}
	}
	m.each(len(steps), func(i int) { steps[i].advance(ctx) })
}

// advance moves one command on.
func (s *step) advance(ctx context.Context) {
	defer s.Contain("command " + s.command.ID + ": ")
	if !s.HasTime() {
		s.soon(1)
		return
	}
	if claim := s.unreadClaim(); claim != "" {
		s.Problem("command %s waits: its claim %s cannot be read", s.command.ID, claim)
		return
	}
	s.find()
	switch s.command.State {
	case model.CommandCommitted:
		if s.unread != nil {
			s.waits("read PodDisruptionBudgets", s.unread)
			return
		}
		s.validate(ctx)
	case model.CommandReplacing:
		s.await(ctx)
	case model.CommandUndoing:
		s.undo(ctx)
	}
}

// validate taints the command's nodes, looks at them again, and lets it go on if nothing speaks against it.
func (s *step) validate(ctx context.Context) {
	c := &s.command
	if s.unwanted(ctx) {
		return
	}
	if age := s.NowUnix() - c.SinceUnix; age > seconds(s.settings.ValidateWithin) {
		s.fail(ctx, codeTooLate, fmt.Sprintf("it could not be validated within %s", s.settings.ValidateWithin))
		return
	}
	if c.Reason == model.ReasonUnderutilized && c.TaintedUnix != 0 && s.NowUnix() < s.dueUnix() { // it was looked at once
		s.later(s.dueUnix())
		return
	}
	if !s.readNodes(ctx) {
		return
	}
	leave, stay := s.weigh(s.budgets)
	if len(stay) > 0 && (len(leave) == 0 || !alone(&s.command)) {
		why := stay[0].reason()
		s.fail(ctx, why.Code, why.Message)
		return
	}
	if c.Reason == model.ReasonUnderutilized && !s.stillHolds(ctx) {
		return
	}
	c.TaintedUnix = s.NowUnix()
	if len(c.Replacements) == 0 {
		s.finish(ctx, leave, stay)
		return
	}
	next := *c
	next.State, next.ReplacingUnix = model.CommandReplacing, s.NowUnix()
	if !s.record(ctx, next) {
		return
	}
	s.Add(&s.out.Replacing, 1)
	s.awaits()
}

// unwanted undoes the command where people do not want it any more, or nothing is left of it.
func (s *step) unwanted(ctx context.Context) bool {
	switch stop := s.state.stopOf(&s.command); {
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

// stillHolds evaluates a command to save money once more, on a snapshot that was taken after it was committed: one that shows the
// taint on all of its nodes. Before its time has come, and without such a snapshot, it waits.
func (s *step) stillHolds(ctx context.Context) bool {
	c := &s.command
	if s.NowUnix() < s.dueUnix() || s.input == nil || !s.shown() {
		if s.NowUnix() < s.dueUnix() {
			s.later(s.dueUnix())
		} else {
			s.soon(missedHeartbeat)
		}
		if c.TaintedUnix == 0 {
			next := *c
			next.TaintedUnix = s.NowUnix()
			s.record(ctx, next)
		}
		return false
	}
	if why := s.revalidate(*s.input, c); len(why) > 0 {
		s.fail(ctx, why[0].Code, why[0].Message)
		return false
	}
	return true
}

// await looks how far the command's replacements have come. No node of it is drained before every one of them is initialized.
func (s *step) await(ctx context.Context) {
	c := &s.command
	if s.unwanted(ctx) {
		return
	}
	missing, waiting := 0, []*model.Claim{}
	for i := range c.Replacements {
		claim := s.state.claims[c.Replacements[i].Name]
		switch {
		case claim == nil:
			if why := s.state.unfit(c, c.Replacements[i].Name); why != "" {
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
		if within := s.replaceWithin(); s.NowUnix()-c.ReplacingUnix > seconds(within) {
			s.fail(ctx, model.ReplacementFailed,
				fmt.Sprintf("%d of its replacements were not ready within %s", missing+len(waiting), within))
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

// replaceWithin returns how long the replacements may take to be initialized: longer where one's NodePool lets its
// instances take longer to join.
func (s *step) replaceWithin() time.Duration {
	within := s.settings.ReplaceWithin
	if s.snapshot == nil {
		return within
	}
	for _, replacement := range s.command.Replacements {
		join := time.Duration(s.snapshot.WaitsOf(replacement.Pool).JoinSeconds) * time.Second
		within = max(within, join+s.settings.ReplaceWithin/4)
	}
	return within
}

// awaits notes that provision has yet to launch for the command.
func (s *step) awaits() {
	s.soon(seconds(s.settings.RecheckAfter))
	s.Mutex.Lock()
	defer s.Mutex.Unlock()
	s.moved.replace = append(s.moved.replace, s.command.ID)
}

// finish ends the command: from this write on the claims of what leaves are Draining, and nothing brings them back. What has
// to stay is let go by the same write.
func (s *step) finish(ctx context.Context, leave, stay []*target) {
	if !s.HasTime() {
		s.soon(1)
		return
	}
	now := s.NowUnix()
	var claims []model.Claim
	for _, t := range leave {
		claim := *t.claim
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.EndRequested)
		claim.FailureCode, claim.FailureMessage = s.command.Reason, why(&s.command)
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
	s.Mutex.Lock()
	s.out.Done++
	s.out.Drained += len(leave)
	s.moved.drained = append(s.moved.drained, s.command.ID)
	s.Mutex.Unlock()
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
		next.FailedOfferings = disruption.FailedOf(&next, s.state.UnavailableOfferings, s.state.Commands, s.state.Claims, s.NowUnix())
	}
	if !s.record(ctx, next) {
		return
	}
	s.Add(&s.out.Undoing, 1)
	s.reportRejected()
	s.undo(ctx)
}

// undo lets the scheduler use the command's nodes again: reasons and taints are taken off, and then the command has no hold of
// them any more.
func (s *step) undo(ctx context.Context) {
	errs := make([]error, len(s.targets))
	s.each(len(s.targets), func(i int) {
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
	next.State, next.EndedUnix = model.CommandUndone, s.NowUnix()
	if s.end(ctx, next, claims, of) {
		s.Add(&s.out.Undone, 1)
	}
}
