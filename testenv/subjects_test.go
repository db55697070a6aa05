package testenv

import (
	"os/exec"
	"strings"
	"testing"
)

// TestV5SubjectsAreImperative tries tools/subjects.sh, which `make check` asks about new commits, on subjects of this repository's history and on
// their like.
func TestV5SubjectsAreImperative(t *testing.T) {
	for _, test := range []struct {
		subject string
		good    bool
	}{
		{"pack: break price ties by name", true},
		{"pack, reclaim: say once what a rule between pods is, and which nodes are dear", true},
		{"testenv/upstream: keep 798 cases, and judge those of nodes whose NodeClaims are being deleted", true},
		{"sim/audit: let a node end by its deadline", true},
		{"README: process templates first", true},
		{"boot: embed the table", true},
		{"forward: bypass the queue", true},
		{"ledger: seed the table", true},
		{"console: discuss `why`", true},
		{`Revert "pack: break price ties by name"`, true},
		{"pack: breaks price ties by name", false},
		{"pack: processes ties by name", false},
		{"pack: forged NodePools launch nothing", false},
		{"pack: added a tie", false},
		{"pack: wrote ties anew", false},
		{"pack: breaking price ties by name", false},
		{"pack: a tie is broken by name", false},
		{"docs: what drawn runs are for", false},
		{"break price ties by name", false},
		{"pack:", false},
	} {
		command := exec.Command("../tools/subjects.sh", "-")
		command.Stdin = strings.NewReader("0123abc " + test.subject + "\n")
		out, err := command.CombinedOutput()
		if good := err == nil; good != test.good {
			t.Errorf("%q: passed = %v\n%s", test.subject, good, out)
		}
	}
}
