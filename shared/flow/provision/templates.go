package provision

import (
	"context"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Launch templates are made as they are needed and never changed, so they pile up. Those that no launch of the last
// hour used and no open intent names are deleted. When they were used is in the planner's notes; whoever needs one that
// is gone makes it again.

const (
	unusedAfter = int64(60 * 60) // seconds after which a template nobody used goes
	notedEvery  = int64(10 * 60) // seconds within which another use is not written down
	tidyAtLeast = int64(24 * 60 * 60)
	tidyAtMost  = int64(30 * 60)
	tidyAtOnce  = 10
)

// templateCollector deletes launch templates that nobody uses any more.
type templateCollector struct {
	*state
	quota     *quota
	templates Templates
}

// uses notes the launch templates of a request as used now.
func (t *templateCollector) uses(request []byte) {
	names, err := t.templates.Named(request)
	if err != nil {
		t.problem("read the launch templates of a request: %v", err)
		return
	}
	if t.ledger.Notes.TidyUnix == 0 {
		t.ledger.Notes.TidyUnix, t.noted = t.now(), true // what there may be from before goes in a day
	}
	for _, name := range names {
		is := func(use model.TemplateUse) bool { return use.Name == name }
		uses := slices.Clone(t.ledger.Notes.Templates)
		if at := slices.IndexFunc(uses, is); at >= 0 && t.now()-uses[at].UsedUnix < notedEvery {
			continue
		}
		uses = append(slices.DeleteFunc(uses, is), model.TemplateUse{Name: name, UsedUnix: t.now()})
		sort.Slice(uses, func(i, j int) bool { return uses[i].Name < uses[j].Name })
		t.ledger.Notes.Templates, t.noted = uses, true
	}
}

// collect deletes launch templates nobody uses any more: soon after one fell out of use, and else once a day, in case
// the notes were lost. A cluster that never launched anything asks EC2 for nothing.
func (t *templateCollector) collect(ctx context.Context) {
	if t.request.Trigger != TriggerResync || !t.due() {
		return
	}
	keep, complete := t.inUse()
	calls := t.quota.takeSpare(ctx, 1+tidyAtOnce)
	if !complete || calls < 2 {
		return
	}
	var left int
	err := t.effect(ctx, EffectCollect, func() (err error) {
		left, err = t.templates.Collect(ctx, t.reg.Cluster, keep, t.now()-unusedAfter, calls-1)
		return err
	})
	if fault.Is(err, fault.Throttled) {
		t.quota.settleCalls(ctx, granted{calls: calls}, 0, true)
	}
	if err != nil {
		t.problem("delete unused launch templates: %v", err)
	}
	if err == nil && left == 0 {
		t.ledger.Notes.Templates = slices.DeleteFunc(slices.Clone(t.ledger.Notes.Templates),
			func(use model.TemplateUse) bool { return t.now()-use.UsedUnix > unusedAfter })
	}
	t.ledger.Notes.TidyUnix, t.noted = t.now(), true
}

// due reports whether it is time to look for launch templates nobody uses.
func (t *templateCollector) due() bool {
	since := t.now() - t.ledger.Notes.TidyUnix
	unused := slices.ContainsFunc(t.ledger.Notes.Templates,
		func(use model.TemplateUse) bool { return t.now()-use.UsedUnix > unusedAfter })
	return t.ledger.Notes.TidyUnix != 0 && since >= tidyAtLeast || unused && since >= tidyAtMost
}

// inUse returns the names of launch templates used lately or named by open intents; false where one of those, or what
// it asks for, cannot be read.
func (t *templateCollector) inUse() (names []string, complete bool) {
	for _, use := range t.ledger.Notes.Templates {
		if t.now()-use.UsedUnix <= unusedAfter {
			names = append(names, use.Name)
		}
	}
	complete = !t.ledger.Unread.Any(model.UnreadIntent)
	for _, intent := range t.ledger.Intents {
		named, err := t.templates.Named(intent.Request)
		if err != nil {
			t.problem("read the launch templates of intent %s: %v", intent.ID, err)
			complete = false
		}
		names = append(names, named...)
	}
	slices.Sort(names)
	return slices.Compact(names), complete
}
