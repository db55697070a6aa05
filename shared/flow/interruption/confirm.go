package interruption

import (
	"context"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// findings are what looks wrong. Where any of it is that an object was deleted the definitions are read first: the deletion of a
// definition deletes its objects, and nobody asked for the end of their instances. Where they cannot be read such findings wait.
func (r *pass) findings(ctx context.Context, view lifecycle.View) []lifecycle.Finding {
	settings := lifecycle.Settings{
		Confirm: int64(r.settings.Confirm.Seconds()), JoinWithin: int64(r.settings.JoinWithin.Seconds()),
		RepairAfter: int64(r.settings.RepairAfter.Seconds()), RepairPercent: int64(r.settings.RepairPercent),
	}
	findings := lifecycle.Diagnose(view, settings)
	if !lifecycle.Obeys(view, findings) {
		return findings
	}
	definitions, err := r.clients.Cluster.Definitions(ctx)
	if err != nil {
		r.Problem("read the CustomResourceDefinitions of NodePools, NodeClaims and EC2NodeClasses, without which no deletion of a NodeClaim or Node is carried out "+
			"(it needs the permission to get customresourcedefinitions, which the chart of this version grants): %v", err)
		return lifecycle.Unheard(findings)
	}
	view.Definitions = &definitions
	return lifecycle.Diagnose(view, settings)
}

// reportDeferredEvery is how often an event says, in seconds, that ends are put off, as long as they are.
const reportDeferredEvery = 15 * 60

// confirm compares findings with what earlier looks saw. It returns those that have looked wrong for long enough, the
// collector state to write, and after how long the next of the others is due (0 = none). A suspicion that this look does not
// confirm is dropped.
func (r *pass) confirm(findings []lifecycle.Finding) (due []lifecycle.Finding, collector model.CollectorState, again time.Duration) {
	before, now := r.records.Collector, r.records.NowUnix
	collector = model.CollectorState{Version: before.Version, AtUnix: now, SeenVersion: before.SeenVersion, SeenUnix: before.SeenUnix}
	if r.live.Version != 0 {
		collector.SeenVersion, collector.SeenUnix = r.live.Version, now
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
		if finding.Wait == 0 && finding.Kind != lifecycle.Deferred {
			due = append(due, finding)
			continue
		}
		collector.Suspects = append(collector.Suspects, model.Suspect{Kind: string(finding.Kind), Subject: finding.Subject, SinceUnix: first})
		if finding.Kind == lifecycle.Deferred {
			if !known || (now-first)/reportDeferredEvery != (before.AtUnix-first)/reportDeferredEvery {
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
	if len(collector.Suspects) > r.settings.MaxSuspects {
		r.Problem("%d suspected leaks, of which the oldest %d are stored", len(collector.Suspects), r.settings.MaxSuspects)
		sort.SliceStable(collector.Suspects, func(i, j int) bool { return collector.Suspects[i].SinceUnix < collector.Suspects[j].SinceUnix })
		collector.Suspects = collector.Suspects[:r.settings.MaxSuspects]
	}
	sortSuspects(collector.Suspects)
	return due, collector, again
}

// idle reports whether a collector state need not be written: the cluster has no instances, nothing looks wrong, and all that is new is when
// that was seen. It is written every few minutes all the same, or suspicions would begin anew.
func (r *pass) idle(findings []lifecycle.Finding, collector model.CollectorState) bool {
	before := r.records.Collector
	if before.Version == 0 || len(findings) > 0 || r.out.Instances > 0 || r.out.Claims > 0 || len(r.records.Intents) > 0 ||
		r.records.NowUnix-before.AtUnix >= int64(r.settings.Continuous.Seconds())/3 {
		return false
	}
	collector.AtUnix, collector.SeenVersion, collector.SeenUnix, collector.CheckedUnix = before.AtUnix, before.SeenVersion, before.SeenUnix, before.CheckedUnix
	return reflect.DeepEqual(collector, before)
}

// limitRemovals puts off removals beyond what a while allows, and counts the others as done.
func (r *pass) limitRemovals(due []lifecycle.Finding, collector *model.CollectorState) []lifecycle.Finding {
	now := r.records.NowUnix
	room := max(r.settings.RemovalNodes, r.out.Nodes*r.settings.RemovalPercent/100)
	for _, removal := range r.records.Collector.Removals {
		if removal.AtUnix+int64(r.settings.RemovalWindow.Seconds()) > now {
			room -= removal.Nodes
			collector.Removals = append(collector.Removals, removal)
		}
	}
	var out []lifecycle.Finding
	removed := 0
	for i := range due {
		f := &due[i]
		if f.Removes && !(f.Kind == lifecycle.Orphan && lifecycle.Adoptable(f)) {
			if removed >= room {
				r.out.Limited++
				continue
			}
			removed++
		}
		out = append(out, *f)
	}
	if removed > 0 {
		collector.Removals = append(collector.Removals, model.RemovalCount{AtUnix: now, Nodes: removed})
	}
	if r.out.Limited > 0 {
		r.Problem("%d removals are postponed: at most %d nodes may be removed in %s unless EC2 says that they are terminated",
			r.out.Limited, max(r.settings.RemovalNodes, r.out.Nodes*r.settings.RemovalPercent/100), r.settings.RemovalWindow)
	}
	return out
}

// recordLate keeps the records of claims that were closed without.
func (r *pass) recordLate(ctx context.Context, collector *model.CollectorState) {
	for i := range r.records.Claims {
		claim := &r.records.Claims[i]
		if claim.Live() || !claim.Unrecorded {
			continue
		}
		if !slices.Contains(r.records.Collector.Recorded, claim.Name) {
			removal := lifecycle.Removal(r.reg.Cluster, *claim, r.records.Commands, "", claim.GoneUnix)
			if !r.keep(ctx, removal, "store the record of claim "+claim.Name+"; a later run does") {
				continue
			}
		}
		collector.Recorded = append(collector.Recorded, claim.Name)
	}
}

// recordUnknown keeps the records of instances that ended and that no claim has or had. Each is kept once while EC2 shows the instance, and
// not in place of the record of one that was ended because no claim had it.
func (r *pass) recordUnknown(ctx context.Context, view lifecycle.View, collector *model.CollectorState) {
	for _, i := range lifecycle.Unknown(view) {
		if !slices.Contains(r.records.Collector.Recorded, i.ID) {
			removal := lifecycle.UnknownRemoval(r.reg.Cluster, i, r.live, r.records.NowUnix)
			text := "store the record of instance " + i.ID + ", which ended without a claim; a later run does"
			if !r.Try(ctx, EffectRemoval, text, func() error { return r.flow.Removals.AddRemoval(ctx, removal) }) {
				continue
			}
		}
		collector.Recorded = append(collector.Recorded, i.ID)
	}
}
