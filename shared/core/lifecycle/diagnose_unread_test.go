package lifecycle_test

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// F3: while a claim or an intent of the ledger cannot be read nothing is found of what the ledger does not know, and everything else is.
func TestF3NothingEndsForBeingAbsentFromALedgerThatCannotBeRead(t *testing.T) {
	view := func(unread ...model.Unread) lifecycle.View {
		v := healthy()
		v.Instances = append(v.Instances, instance("x", now)) // nobody's, or that of what cannot be read
		ended := instance("gone", now-600)
		ended.State = "terminated"
		v.Instances = append(v.Instances, ended)
		v.Live.Objects = append(v.Live.Objects, model.ClaimObject{Claim: model.Claim{Name: "default-gone", ProviderID: "aws:///a/i-gone", ObjectUID: "o-gone"}, Finalizer: true},
			model.ClaimObject{Claim: model.Claim{Name: "default-new", ObjectUID: "o-new"}, DeletedUnix: now, Finalizer: true})
		v.Live.Nodes = append(v.Live.Nodes, model.Node{Name: "node-gone", UID: "n-gone", ProviderID: "aws:///a/i-gone", Finalizer: true})
		v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "default-waits", Pool: "default", State: model.Intended, Intent: "open"})
		v.Records.Claims[0].State = model.Terminating // of a claim that is known
		v.Records.Unread = unread
		return v
	}
	for name, c := range map[string]struct {
		unread []model.Unread
		want   string
	}{
		"all can be read": {nil, "[Stranded default-waits Retired default-old Orphan i-x LeftObject default-gone LeftObject default-new LeftNode node-gone]"},
		"a claim":         {[]model.Unread{{Kind: model.UnreadClaim, Name: "default-new"}}, "[Stranded default-waits Retired default-old]"},
		"a gone claim":    {[]model.Unread{{Kind: model.UnreadClaim, Name: "bad", Gone: true}}, "[Stranded default-waits Retired default-old LeftObject default-new]"},
		"the intent":      {[]model.Unread{{Kind: model.UnreadIntent, Name: "open"}}, "[Retired default-old LeftObject default-new]"},
		"a command":       {[]model.Unread{{Kind: model.UnreadCommand, Name: "c"}}, "[Stranded default-waits Retired default-old Orphan i-x LeftObject default-gone LeftObject default-new LeftNode node-gone]"},
	} {
		var got []string
		for _, f := range lifecycle.Diagnose(view(c.unread...), lifecycle.Settings{}) {
			got = append(got, string(f.Kind)+" "+f.Subject)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// F3, S32: a claim that cannot be read may be ending for its age, in its NodeClaim's pool, or in any where no object shows it.
func TestF3AClaimThatCannotBeReadTakesOfWhatMayExpire(t *testing.T) {
	for name, c := range map[string]struct {
		object *model.ClaimObject
		unread model.Unread
		want   int
	}{
		"it can be read":        {nil, model.Unread{Kind: model.UnreadCommand, Name: "c"}, 2},
		"it is gone":            {nil, model.Unread{Kind: model.UnreadClaim, Name: "default-x", Gone: true}, 2},
		"of the pool":           {&model.ClaimObject{Claim: model.Claim{Name: "default-x", Pool: "default"}}, model.Unread{Kind: model.UnreadClaim, Name: "default-x"}, 1},
		"of another pool":       {&model.ClaimObject{Claim: model.Claim{Name: "other-x", Pool: "other"}}, model.Unread{Kind: model.UnreadClaim, Name: "other-x"}, 2},
		"of nobody knows which": {nil, model.Unread{Kind: model.UnreadClaim, Name: "default-x"}, 1},
	} {
		view := aged(25)
		if c.object != nil {
			view.Live.Objects = append(view.Live.Objects, *c.object)
		}
		view.Records.Unread = []model.Unread{c.unread}
		got := 0
		for _, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
			if f.Kind == lifecycle.Expired {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d claims expire, want %d", name, got, c.want)
		}
	}
}
