package interruption

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// pass is one look at a cluster, and what is done about it.
type pass struct {
	*session
	observed
	request Request
	fence   model.Fence
	out     Outcome
}

// observed is what is, as EC2, the ledger and the API server say.
type observed struct {
	spent   time.Duration // from the start of the first read of EC2 until the ledger had said what time it is
	readAt  time.Time     // by this process's clock, before the API server was read
	records model.ClusterRecords
	live    model.LiveState
	claims  map[string]bool // names the ledger knows, live and gone
	polled  polled          // what EC2 said of instances that are about to end
}

// polled is what asking came to, for the collector state.
type polled struct {
	next     int64 // when spot instances are asked about next; 0 = not before there are any
	hint     bool  // nobody was asked for that yet
	checked  int64
	impaired []model.Suspect
}

// What EC2 is asked about instances that are about to end, beside what EventBridge says of them: a warning may be lost, and a
// rule or its target taken away.
const (
	pollEvery   = 25 // seconds between two questions about spot instances: with the way of the hint and the look, half a minute
	pollEarly   = 10 // seconds before it is due a look counts as the one that was asked for, as the hint may find it at work
	checksEvery = 55 // seconds between two questions about status checks: each minute's look asks
)

// poll asks EC2 which of the cluster's spot instances it takes back and what is wrong with its instances, where the cluster
// has such. What cannot be asked is reported and left out: no answer is not a word against any instance.
func (r *pass) poll(ctx context.Context, view *lifecycle.View) {
	var instances, spot int
	ours := map[string]bool{}
	for i := range r.records.Claims {
		claim := &r.records.Claims[i]
		if !claim.Live() || claim.InstanceID == "" {
			continue
		}
		ours[claim.InstanceID] = true
		if claim.State == model.Terminating {
			continue
		}
		instances++
		if claim.CapacityType == model.Spot {
			spot++
		}
	}
	before, now := r.records.Collector, r.records.NowUnix
	r.polled = polled{next: 0, checked: before.CheckedUnix, impaired: before.Impaired}
	if spot > 0 {
		r.polled.next, r.polled.hint = pollNext(before.PollUnix, now)
		r.interrupted(ctx, view, ours)
	}
	if instances == 0 {
		r.polled.impaired = nil
		return
	}
	if since := now - before.CheckedUnix; since >= checksEvery || since < 0 {
		r.impaired(ctx, view, ours)
	}
}

// pollNext returns when spot instances are to be asked about next, and whether a hint for that is to be sent. Of many looks
// only the one that was due sends one, so that one hint is underway however often somebody looks.
func pollNext(due, now int64) (next int64, hint bool) {
	if due > now+pollEarly && due <= now+pollEvery {
		return due, false
	}
	return now + pollEvery, true
}

// interrupted asks which spot instances EC2 takes back.
func (r *pass) interrupted(ctx context.Context, view *lifecycle.View, ours map[string]bool) {
	found, err := r.clients.Health.Interrupted(ctx, r.reg.Cluster)
	if err != nil {
		r.unasked("which spot instances are interrupted", "ec2:DescribeSpotInstanceRequests", err)
		return
	}
	for _, interruption := range found {
		if ours[interruption.InstanceID] {
			view.Interrupted = append(view.Interrupted, interruption)
		}
	}
	r.out.Interrupted = len(view.Interrupted)
}

// impaired asks what is wrong with instances. What began since the last answer is counted, so that each time an instance
// suffers it is counted once, however long that lasts.
func (r *pass) impaired(ctx context.Context, view *lifecycle.View, ours map[string]bool) {
	found, err := r.clients.Health.Impaired(ctx)
	if err != nil {
		r.unasked("for the status checks of instances", "ec2:DescribeInstanceStatus", err)
		return
	}
	known := map[[2]string]int64{}
	for _, s := range r.records.Collector.Impaired {
		known[[2]string{s.Kind, s.Subject}] = s.SinceUnix
	}
	now := r.records.NowUnix
	r.polled.checked, r.polled.impaired = now, nil
	seen := map[[2]string]bool{}
	for _, impairment := range found {
		if !ours[impairment.InstanceID] {
			continue
		}
		view.Impaired = append(view.Impaired, impairment)
		key := [2]string{impairment.Kind, impairment.InstanceID}
		if seen[key] {
			continue
		}
		seen[key] = true
		since, before := known[key]
		if !before {
			since = now
			if r.out.Impaired == nil {
				r.out.Impaired = map[string]int{}
			}
			r.out.Impaired[impairment.Kind]++
		}
		r.polled.impaired = append(r.polled.impaired, model.Suspect{Kind: impairment.Kind, Subject: impairment.InstanceID, SinceUnix: since})
	}
	sortSuspects(r.polled.impaired)
	if len(r.polled.impaired) > r.settings.MaxSuspects {
		r.polled.impaired = r.polled.impaired[:r.settings.MaxSuspects]
	}
}

// unasked tells, once a run, that EC2 could not be asked something.
func (r *pass) unasked(what, right string, err error) {
	if fault.Is(err, fault.Denied) {
		r.Problem("EC2 may not be asked %s: allow %s, or only events of EventBridge report that: %v", what, right, err)
		return
	}
	r.Problem("ask EC2 %s; the next run does: %v", what, err)
}

// notePoll puts what asking came to into the collector state, and returns after how long to look again: for that, or for what is
// to be looked at again anyway, whichever is sooner; 0 = not before the next tick.
func (r *pass) notePoll(collector *model.CollectorState, again time.Duration) time.Duration {
	collector.PollUnix, collector.CheckedUnix, collector.Impaired = r.polled.next, r.polled.checked, r.polled.impaired
	if !r.polled.hint {
		return again
	}
	after := time.Duration(pollEvery) * time.Second
	if again > 0 && again < after {
		// That look is another; the one for this comes when it is due.
		collector.PollUnix = r.records.NowUnix + int64(again.Seconds())
		return again
	}
	return after
}

func sortSuspects(suspects []model.Suspect) {
	slices.SortFunc(suspects, func(a, b model.Suspect) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Subject, b.Subject))
	})
}
