package provision

import (
	"context"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Launch templates are made as they are needed and never changed, so they pile up. Those that no launch of the last hour
// used and no open intent names are deleted. When they were used is in the planner's notes; whoever needs one that is gone
// makes it again.

const (
	unusedAfter = int64(60 * 60) // seconds after which a template nobody used goes
	notedEvery  = int64(10 * 60) // seconds within which another use is not written down
	tidyAtLeast = int64(24 * 60 * 60)
	tidyAtMost  = int64(30 * 60)
	tidyAtOnce  = 10
)

// uses notes the launch templates of a request as used now.
func (r *pass) uses(request []byte) {
	names, err := r.clients.Templates.Named(request)
	if err != nil {
		r.problem("read the launch templates of a request: %v", err)
		return
	}
	if r.ledger.Notes.TidyUnix == 0 {
		r.ledger.Notes.TidyUnix, r.noted = r.now(), true // what there may be from before goes in a day
	}
	for _, name := range names {
		at := slices.IndexFunc(r.ledger.Notes.Templates, func(use model.TemplateUse) bool { return use.Name == name })
		switch {
		case at < 0:
			r.ledger.Notes.Templates = append(slices.Clone(r.ledger.Notes.Templates), model.TemplateUse{Name: name, UsedUnix: r.now()})
			sort.Slice(r.ledger.Notes.Templates, func(i, j int) bool { return r.ledger.Notes.Templates[i].Name < r.ledger.Notes.Templates[j].Name })
			r.noted = true
		case r.now()-r.ledger.Notes.Templates[at].UsedUnix >= notedEvery:
			r.ledger.Notes.Templates = slices.Clone(r.ledger.Notes.Templates)
			r.ledger.Notes.Templates[at].UsedUnix = r.now()
			r.noted = true
		}
	}
}

// tidy deletes launch templates nobody uses any more: soon after one fell out of use, and else once a day, in case the
// notes were lost. A cluster that never launched anything asks EC2 for nothing.
func (r *pass) tidy(ctx context.Context) {
	if r.request.Trigger != TriggerResync || !r.untidy() {
		return
	}
	keep, complete := r.templatesInUse()
	got := r.takeSpare(ctx, 1+tidyAtOnce)
	if !complete || got.calls < 2 {
		return
	}
	var left int
	err := r.effect(ctx, EffectCollect, func() (err error) {
		left, err = r.clients.Templates.Collect(ctx, r.reg.Cluster, keep, r.now()-unusedAfter, got.calls-1)
		return err
	})
	if fault.Is(err, fault.Throttled) {
		r.settleCalls(ctx, got, 0, true)
	}
	if err != nil {
		r.problem("delete unused launch templates: %v", err)
	}
	if err == nil && left == 0 {
		r.ledger.Notes.Templates = slices.DeleteFunc(slices.Clone(r.ledger.Notes.Templates), func(use model.TemplateUse) bool { return r.now()-use.UsedUnix > unusedAfter })
	}
	r.ledger.Notes.TidyUnix, r.noted = r.now(), true
}

// untidy reports whether it is time to look for launch templates nobody uses.
func (r *pass) untidy() bool {
	since := r.now() - r.ledger.Notes.TidyUnix
	unused := slices.ContainsFunc(r.ledger.Notes.Templates, func(use model.TemplateUse) bool { return r.now()-use.UsedUnix > unusedAfter })
	return r.ledger.Notes.TidyUnix != 0 && since >= tidyAtLeast || unused && since >= tidyAtMost
}

// templatesInUse returns the names of launch templates used lately or named by open intents; false where one of those, or what it
// asks for, cannot be read.
func (r *pass) templatesInUse() (names []string, complete bool) {
	for _, use := range r.ledger.Notes.Templates {
		if r.now()-use.UsedUnix <= unusedAfter {
			names = append(names, use.Name)
		}
	}
	complete = !r.ledger.Unread.Any(model.UnreadIntent)
	for _, intent := range r.ledger.Intents {
		named, err := r.clients.Templates.Named(intent.Request)
		if err != nil {
			r.problem("read the launch templates of intent %s: %v", intent.ID, err)
			complete = false
		}
		names = append(names, named...)
	}
	slices.Sort(names)
	return slices.Compact(names), complete
}
