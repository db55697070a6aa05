package interruption

import (
	"context"
	"reflect"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// tellHeldEvery is how often people are told, in seconds, that ends are put off, as long as they are.
const tellHeldEvery = 15 * 60

// suspect compares findings with what earlier looks saw. It returns those that have looked wrong for long enough, the
// casebook to write, and after how long the next of the others is due (0 = none). A suspicion that this look does not
// confirm is dropped.
func (r *run) suspect(findings []lifecycle.Finding) (due []lifecycle.Finding, cases model.Casebook, again time.Duration) {
	before, now := r.survey.Cases, r.survey.NowUnix
	cases = model.Casebook{Version: before.Version, AtUnix: now, SeenVersion: before.SeenVersion, SeenUnix: before.SeenUnix}
	if r.sight.Version != 0 {
		cases.SeenVersion, cases.SeenUnix = r.sight.Version, now
	}
	since := map[[2]string]int64{}
	if now-before.AtUnix <= int64(r.settings.Continuous.Seconds()) {
		for _, s := range before.Suspects {
			since[[2]string{s.Kind, s.Subject}] = min(s.SinceUnix, now)
		}
	}
	for _, finding := range findings {
		first, known := since[[2]string{string(finding.Kind), finding.Subject}]
		if !known {
			first = now
		}
		if finding.Wait == 0 && finding.Kind != lifecycle.Held {
			due = append(due, finding)
			continue
		}
		cases.Suspects = append(cases.Suspects, model.Suspect{Kind: string(finding.Kind), Subject: finding.Subject, SinceUnix: first})
		if finding.Kind == lifecycle.Held {
			if !known || (now-first)/tellHeldEvery != (before.AtUnix-first)/tellHeldEvery {
				due = append(due, finding)
			}
			continue
		}
		// EC2 was read a while before the ledger said what time it is: that much less lies between the two reads of EC2.
		left := time.Duration(finding.Wait-(now-first))*time.Second + r.spent
		if known && left <= 0 {
			due = append(due, finding)
			continue
		}
		r.out.Waiting++
		if left += time.Second; again == 0 || left < again {
			again = left
		}
	}
	if len(cases.Suspects) > r.settings.MaxSuspects {
		r.problem("%d suspicions, of which the oldest %d are remembered", len(cases.Suspects), r.settings.MaxSuspects)
		sort.SliceStable(cases.Suspects, func(i, j int) bool { return cases.Suspects[i].SinceUnix < cases.Suspects[j].SinceUnix })
		cases.Suspects = cases.Suspects[:r.settings.MaxSuspects]
	}
	sort.Slice(cases.Suspects, func(i, j int) bool {
		a, b := cases.Suspects[i], cases.Suspects[j]
		if a.Kind != b.Kind {
			return a.Kind < b.Kind
		}
		return a.Subject < b.Subject
	})
	return due, cases, again
}

// idle reports whether a casebook need not be written: the cluster has no machines, nothing looks wrong, and all that is new is when
// that was seen. It is written every few minutes all the same, or suspicions would begin anew.
func (r *run) idle(findings []lifecycle.Finding, cases model.Casebook) bool {
	before := r.survey.Cases
	if before.Version == 0 || len(findings) > 0 || r.out.Instances > 0 || r.out.Claims > 0 || len(r.survey.Intents) > 0 ||
		r.survey.NowUnix-before.AtUnix >= int64(r.settings.Continuous.Seconds())/3 {
		return false
	}
	cases.AtUnix, cases.SeenVersion, cases.SeenUnix, cases.CheckedUnix = before.AtUnix, before.SeenVersion, before.SeenUnix, before.CheckedUnix
	return reflect.DeepEqual(cases, before)
}

// carries reports whether any node of a finding carries pods, and says so where nobody can tell.
func (r *run) carries(ctx context.Context, f *lifecycle.Finding) bool {
	for i := range f.Nodes {
		pods, err := r.site.Cluster.Runs(ctx, f.Nodes[i].Name)
		if err != nil {
			r.problem("see what runs on node %s: %v", f.Nodes[i].Name, err)
			return true
		}
		if pods {
			r.problem("%s %s: %s; it is not ended while pods run on node %s", f.Kind, f.Subject, f.Why(), f.Nodes[i].Name)
			return true
		}
	}
	return false
}

// brake puts off removals beyond what a while allows, and counts the others as done.
func (r *run) brake(due []lifecycle.Finding, cases *model.Casebook) []lifecycle.Finding {
	now := r.survey.NowUnix
	room := max(r.settings.BrakeNodes, r.out.Nodes*r.settings.BrakePercent/100)
	for _, removal := range r.survey.Cases.Removals {
		if removal.AtUnix+int64(r.settings.BrakeWindow.Seconds()) > now {
			room -= removal.Nodes
			cases.Removals = append(cases.Removals, removal)
		}
	}
	var out []lifecycle.Finding
	removed := 0
	for i := range due {
		f := &due[i]
		if f.Removes && !(f.Kind == lifecycle.Orphan && lifecycle.Adoptable(f)) {
			if removed >= room {
				r.out.Braked++
				continue
			}
			removed++
		}
		out = append(out, *f)
	}
	if removed > 0 {
		cases.Removals = append(cases.Removals, model.GivenUp{AtUnix: now, Nodes: removed})
	}
	if r.out.Braked > 0 {
		r.problem("%d removals are put off: %d nodes may be removed in %s unless EC2 says that they have ended",
			r.out.Braked, max(r.settings.BrakeNodes, r.out.Nodes*r.settings.BrakePercent/100), r.settings.BrakeWindow)
	}
	return out
}
