package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/model"
)

// A name in a file may hold anything; none of it is obeyed by a terminal.
func TestW19ControlCharactersAreNotPrinted(t *testing.T) {
	r := result()
	r.Plan.Unschedulable = []model.Unschedulable{{
		Pod:     model.PodRef{Namespace: "default", Name: "ev\x1b[31mil\u202e\a\r\u009b"},
		Reasons: []model.Reason{{Code: "NoPools", Message: "there is \x1b]0;title\a no NodePool"}},
	}}
	var out bytes.Buffer
	if err := show.Table(&out, r); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "ev [31mil") || strings.ContainsAny(got, "\x1b\a\r\u009b\u202e") {
		t.Errorf("printed %q", got)
	}
}
