package provision

import (
	"cmp"
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	refusedFor    = int64(60)  // seconds nothing is launched from a class that was refused for the first time; doubles
	unknownFor    = int64(10)  // the same where EC2 may not know an instance profile yet, which was made a moment ago
	refusedAtMost = int64(600) // since what is wrong may lie outside of the class
)

// refused notes that nothing can be launched from a class, or not now, and tells the class. It reports whether another
// plan, without the class, may do better.
func (c *classes) refused(l *launches, class model.Class, pool string, err error) bool {
	switch fault.KindOf(err) {
	case fault.Denied, fault.Invalid, fault.NotFound:
	default:
		c.problem("launch of NodePool %s: %v", pool, err)
		l.putOff[pool] = cmp.Or(fault.CodeOf(err), "EC2 does not answer")
		return false
	}
	if _, known := l.blocked[class.Name]; !known {
		l.blocked[class.Name] = err.Error()
		c.refuse(class, reasonOf(fault.CodeOf(err), err.Error()), fmt.Sprintf("%s: %v", launcherOf(pool), err))
	}
	return true
}

// refuse leaves a class alone for a while, the longer the more often in a row, and says so on the class. A refusal that
// has been over for refusedAtMost is not in a row with this one. A launch template is made again with each request:
// where EC2 does not know it yet, that says nothing of the class, which is tried again after refusedFor however often
// it was so.
func (c *classes) refuse(class model.Class, reason, message string) {
	refusal := model.ClassRefusal{
		Class: class.Name, Inputs: offering.Inputs(class), Reason: reason, Message: message, Failures: 1,
	}
	var others []model.ClassRefusal
	for _, before := range c.ledger.Notes.Refusals {
		if before.Class != class.Name {
			others = append(others, before)
		} else if before.Inputs == refusal.Inputs && c.now()-before.UntilUnix < refusedAtMost {
			refusal.Failures = before.Failures + 1
		}
	}
	wait := min(refusedAtMost, firstPause(reason, refusedFor)<<min(refusal.Failures-1, 10))
	if reason == templateNotFound {
		wait = refusedFor
	}
	refusal.UntilUnix = c.now() + wait
	others = append(others, refusal)
	sort.Slice(others, func(i, j int) bool { return others[i].Class < others[j].Class })
	c.ledger.Notes.Refusals, c.noted = others, true
	c.warn(kindClass, class.Name, class.UID, "LaunchFailed", message)
	c.problem("EC2NodeClass %s: %s", class.Name, message)
	status := class.Status
	if known, ok := c.resolved[class.Name]; ok {
		status = known.Status // as it was resolved, without what was taken since
	}
	for _, report := range c.report.Classes {
		if report.Class == class.Name {
			return // conditions adds the refusal
		}
	}
	c.report.Classes = append(c.report.Classes, model.ClassReport{Class: class.Name, UID: class.UID, Status: status})
}

// firstPause returns how many seconds nothing is launched after a launch failed for a reason for the first time: usual,
// but where EC2 may not know an instance profile yet, as IAM is eventually consistent. Source: IAM user guide,
// troubleshooting.
func firstPause(reason string, usual int64) int64 {
	if reason == profileInvalid {
		return unknownFor
	}
	return usual
}

// accepted forgets that a class was refused, since EC2 has launched from it.
func (c *classes) accepted(class string) {
	for i, refusal := range c.ledger.Notes.Refusals {
		if refusal.Class == class {
			c.ledger.Notes.Refusals, c.noted = append(c.ledger.Notes.Refusals[:i:i],
				c.ledger.Notes.Refusals[i+1:]...), true
			return
		}
	}
}

// refusalOf returns the refusal that holds a class now, nil where none does.
func (c *classes) refusalOf(class model.Class) *model.ClassRefusal {
	return offering.Refusal(class, c.ledger.Notes.Refusals, c.now())
}

// refusedClass says why a class is left alone after EC2 refused it, "" where it is not.
func (c *classes) refusedClass(class model.Class) string {
	if refusal := c.refusalOf(class); refusal != nil {
		return fmt.Sprintf("%s: %s", refusal.Reason, refusal.Message)
	}
	return ""
}

// withRefusals adds to what is reported of classes that EC2 refuses them.
func (c *classes) withRefusals() {
	for i := range c.report.Classes {
		report := &c.report.Classes[i]
		if class := c.class(report.Class); class != nil {
			report.Status = offering.Refused(report.Status, c.refusalOf(*class))
		}
	}
}

// launcherOf names for people what a launch is for.
func launcherOf(pool string) string {
	if pool == "" {
		return "standalone NodeClaim"
	}
	return "nodepool " + pool
}
