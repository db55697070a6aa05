package consolecmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/shared/flow/history"
)

func TestTheConsoleReadsFilesAgainWhenTheyChange(t *testing.T) {
	text, err := os.ReadFile("../../testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := &source.Flags{}
	flags.Files = []string{path}
	source := &dumpSource{from: flags}
	first, err := source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := source.Read(t.Context())
	if err != nil || again != first {
		t.Fatalf("files that have not changed were read again: %v", err)
	}
	if err := os.WriteFile(path, append(text, []byte("\n---\napiVersion: v1\nkind: Node\nmetadata: {name: another}\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := source.Read(t.Context())
	if err != nil || len(console.Rows(changed)) != len(console.Rows(first))+1 {
		t.Fatalf("%d rows became %d, %v", len(console.Rows(first)), len(console.Rows(changed)), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestTheConsoleShowsWhatThePlanSays: the dry run of the page and the command line are one.
func TestTheConsoleShowsWhatThePlanSays(t *testing.T) {
	flags := &source.Flags{}
	flags.Files, flags.Now = []string{"../../testdata/night"}, "2026-03-01T02:00:00Z"
	cluster, err := (&dumpSource{from: flags}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := console.Rows(cluster)
	dry := console.NewDryRun(cluster, rows, *history.PlanDisruption(cluster.State))
	var total int64
	for _, row := range rows {
		total += int64(row.Price)
	}
	if dry.Before != 2_596_000 || dry.After != 1_008_000 || len(dry.Commands) != 3 || total != 2_596_000 {
		t.Errorf("got %d and %d in %d commands, rows of %d; `joiner plan disrupt` says 2.5960 and 1.0080 in 3", dry.Before, dry.After, len(dry.Commands), total)
	}
}
