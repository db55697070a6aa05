package lifecycle_test

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// F5: usage is compared with what live claims hold, those that wait for their launch included, and not where that is unknown.
func TestF5RecountsWhatClaimsHold(t *testing.T) {
	base := func() model.Ledger {
		return model.Ledger{
			Claims: []model.Claim{
				{Name: "a-1", Pool: "a", State: model.Initialized, Reserved: model.Resources{model.Nodes: 1, model.CPU: 2000}},
				{Name: "a-2", Pool: "a", State: model.Intended, Intent: "i", Reserved: model.Resources{model.Nodes: 1, model.CPU: 4000}},
				{Name: "b-1", Pool: "b", State: model.Draining, Reserved: model.Resources{model.Nodes: 1}},
			},
			Intents: []model.Intent{{ID: "i", Pool: "a", Claims: []string{"a-2"}, State: model.IntentCalling}},
			Usage: []model.Usage{
				{Pool: "a", Version: 7, Reserved: model.Resources{model.Nodes: 2, model.CPU: 6000, model.Memory: 0}}, {Pool: "b", Version: 3, Reserved: model.Resources{model.Nodes: 1}},
				{Pool: "idle", Version: 9, Reserved: model.Resources{model.Nodes: 0}},
			},
		}
	}
	b := lifecycle.Recount{Pool: "b", Counted: model.Resources{model.Nodes: 1}, Reserved: model.Resources{}, Version: 3}
	for name, c := range map[string]struct {
		change func(l *model.Ledger)
		want   []lifecycle.Recount
	}{
		"as it should be":             {func(*model.Ledger) {}, nil},
		"a claim was deleted by hand": {func(l *model.Ledger) { l.Claims = l.Claims[:2] }, []lifecycle.Recount{b}},
		"a pool of no claims": {func(l *model.Ledger) { l.Usage[2].Reserved[model.Nodes] = 2 },
			[]lifecycle.Recount{{Pool: "idle", Counted: model.Resources{model.Nodes: 2}, Reserved: model.Resources{}, Version: 9}}},
		"usage was deleted by hand": {func(l *model.Ledger) { l.Usage = l.Usage[:1] },
			[]lifecycle.Recount{{Pool: "b", Counted: model.Resources{}, Reserved: model.Resources{model.Nodes: 1}}}},
		"a claim cannot be read": {func(l *model.Ledger) {
			l.Claims = l.Claims[:2]
			l.Unread = model.UnreadItems{{Kind: model.UnreadClaim, Name: "b-1"}}
		}, nil},
		"an intent cannot be read": {func(l *model.Ledger) {
			l.Claims = l.Claims[:2]
			l.Unread = model.UnreadItems{{Kind: model.UnreadIntent, Name: "j"}}
		}, nil},
		"its usage cannot be read": {func(l *model.Ledger) {
			l.Usage = l.Usage[:1]
			l.Unread = model.UnreadItems{{Kind: model.UnreadUsage, Name: "b"}}
		}, nil},
		"a command cannot be read": {func(l *model.Ledger) {
			l.Claims = l.Claims[:2]
			l.Unread = model.UnreadItems{{Kind: model.UnreadCommand, Name: "c"}}
		}, []lifecycle.Recount{b}},
		"a launch without its claim": {func(l *model.Ledger) { l.Intents[0].Claims = []string{"a-2", "a-3"}; l.Claims = l.Claims[:2] }, []lifecycle.Recount{b}},
		"of that pool": {func(l *model.Ledger) {
			l.Intents[0].Claims = []string{"a-2", "a-3"}
			l.Usage[0].Reserved[model.Nodes] = 3
		}, nil},
	} {
		l := base()
		c.change(&l)
		if got := lifecycle.Recounts(l.Usage, &l); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
