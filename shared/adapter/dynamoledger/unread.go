package dynamoledger

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// One item that cannot be read stops nothing but what depends on what it says (law 6). Its key is readable all the
// same, and so is mostly what stands beside its doc.

// kinds are those of model.Unread, by what sort keys begin with. Any other is a record.
var kinds = map[string]string{
	"CLAIM": model.UnreadClaim, "ENDED": model.UnreadClaim, "~CLAIM": model.UnreadClaim,
	"INTENT": model.UnreadIntent, "USE": model.UnreadUsage, "COMMAND": model.UnreadCommand,
	"TURN": model.UnreadBudgetVersion, stopSK: model.UnreadStop,
}

// unread says which item could not be read, and why.
func unread(entry item, why error) model.Unread {
	kind, name, _ := strings.Cut(textOf(entry, "SK"), "#")
	out := model.Unread{Kind: kinds[kind], Name: name, Key: textOf(entry, "PK") + " " + textOf(entry, "SK"),
		Why: why.Error()}
	if out.Kind == model.UnreadClaim {
		out.Name = nameOfClaim(textOf(entry, "SK"))
	}
	if out.Kind == "" {
		out.Kind = model.UnreadRecord
	}
	out.Gone = out.Kind == model.UnreadClaim && textOf(entry, "state") == string(model.Gone)
	return out
}

func sortUnread(items model.UnreadItems) {
	slices.SortFunc(items, func(a, b model.Unread) int { return strings.Compare(a.Key, b.Key) })
}

// salvage puts what stands beside a doc that cannot be read where it belongs. What is found out anew keeps its version,
// so that it can be written anew; a stop stops.
func salvage(ledger *model.Ledger, entry item) {
	kind, rest, _ := strings.Cut(textOf(entry, "SK"), "#")
	switch kind {
	case allowanceSK:
		ledger.Allowance = model.Allowance{Version: numberOf(entry, "v")}
	case disruptNotesSK:
		ledger.Disrupt = model.DisruptNotes{Version: numberOf(entry, "ver")}
	case "CLASS":
		ledger.Classes = append(ledger.Classes, model.ClassRecord{Name: rest, Version: numberOf(entry, "ver")})
	case stopSK:
		stop := model.Stop{Scope: model.StopCluster, Why: "its record cannot be read"}
		switch {
		case strings.HasPrefix(textOf(entry, "PK"), "R#"):
			stop.Scope = model.StopRegion
		case rest != "":
			stop.Scope, stop.Pool = model.StopPool, rest
		}
		ledger.Stops = append(ledger.Stops, stop)
	}
}
