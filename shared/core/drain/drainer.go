package drain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// drainer is one step while it is decided.
type drainer struct {
	settings Settings
	claim    *model.Claim
	instance *model.Instance // of the claim; nil = not shown
	node     *model.Node     // nil = there is none
	pods     []pod           // that are waited for, by tier and key
	volumes  []model.Attachment
	replaced bool
	now      int64 // by the ledger's clock
	read     int64 // the same moment by the API server's
	step     Step
	due      int64 // the earliest useful moment so far; 0 = none
}

// deadline returns when no pod is left, whatever forbids it, and whether there is such a time.
func (d *drainer) deadline() (int64, bool) {
	return d.step.Drain.DeadlineUnix, d.step.Drain.DeadlineUnix != 0
}

// overdue reports whether the deadline was so many seconds ago.
func (d *drainer) overdue(seconds int64) bool {
	deadline, set := d.deadline()
	return set && d.now >= deadline+seconds
}

// only reports whether all obstacles there are have one code.
func (d *drainer) only(code string) bool {
	return !slices.ContainsFunc(d.step.Obstacles, func(o Obstacle) bool { return o.Code != code })
}

// ours returns a time of the API server's clock by the ledger's.
func (d *drainer) ours(unix int64) int64 { return sane(unix) + d.now - d.read }

// at notes a moment at which looking again is useful; one that is past is the next second.
func (d *drainer) at(unix int64) {
	unix = max(unix, d.now+1)
	if d.due == 0 || unix < d.due {
		d.due = unix
	}
}

func (d *drainer) after(seconds int64) { d.at(d.now + max(1, seconds)) }

// growing returns how long to wait between two looks at something that has been going on since then: a tenth of that,
// at least so many seconds and at most PollSeconds.
func (d *drainer) growing(sinceUnix, least int64) int64 {
	return max(least, min((d.now-sinceUnix)/10, d.settings.PollSeconds))
}

func (d *drainer) obstacle(o Obstacle) { d.step.Obstacles = append(d.step.Obstacles, o) }

func (d *drainer) wait() { d.step.Kind = Wait }

// finish puts what was found into order and fills in what the record says of it.
func (d *drainer) finish() Step {
	slices.SortStableFunc(d.step.Obstacles, func(a, b Obstacle) int {
		return cmp.Or(strings.Compare(a.Pod.Key(), b.Pod.Key()), strings.Compare(a.Pod.UID, b.Pod.UID),
			strings.Compare(a.Volume, b.Volume), strings.Compare(a.Code, b.Code))
	})
	d.step.Drain.Waits = waits(d.step.Obstacles)
	d.step.DueUnix = d.due
	if d.step.Kind == Done {
		d.step.DueUnix = 0
	}
	return d.step
}

// pod is an occupant that is waited for.
type pod struct {
	*model.Occupant
	tier    int
	grace   int64              // its own, in seconds
	goneBy  int64              // when its grace ends, by the ledger's clock; 0 = it is not being deleted
	shield  model.DoNotDisrupt // by the API server's clock
	refused *model.Refusal     // the last refusal; nil = none
}

func (p *pod) leaving() bool { return p.DeletedUnix != 0 }

// tries returns how often in a row the pod's leave was refused.
func (p *pod) tries() int {
	if p.refused == nil {
		return 0
	}
	return p.refused.Tries
}

func (p *pod) daemon() bool { return p.OwnerKind == "DaemonSet" }

// failing reports whether a pod could not be deleted a moment ago.
func (p *pod) failing(now int64) bool {
	return p.refused != nil && p.refused.Code == CodeDeleteFailed && p.refused.NextUnix > now
}
