package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// A10: what cannot be read before the chart is installed is no failure, which would end in the dead-letter queue. It is one where a watcher has
// published the cluster, or where instances run for it.
func TestA10AClusterBeforeTheChartIsSkipped(t *testing.T) {
	denied := fault.New(fault.Denied, "Forbidden", "list nodepools")
	for name, c := range map[string]struct {
		ledger   model.Ledger
		relayURL string
		denied   bool
		want     string // of the reason, or of the error
		fails    bool
	}{
		"attached":                 {want: "chart is not installed in the cluster yet: no watcher has published its state, and the function cannot read it: list nodepools", denied: true},
		"attached, to be relayed":  {relayURL: "https://sqs/relay", want: "chart is not installed in the cluster yet: no watcher has published its state or relays"},
		"published":                {ledger: model.Ledger{Manifest: &model.Manifest{}}, denied: true, want: "read the configuration", fails: true},
		"published what is broken": {ledger: model.Ledger{ManifestFault: "broken"}, denied: true, want: "read the configuration", fails: true},
		"launched for":             {ledger: model.Ledger{Claims: []model.Claim{{Name: "a"}}}, denied: true, want: "read the configuration", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ledger, w.reg.RelayURL = c.ledger, c.relayURL
			if c.denied {
				w.fail["Configuration"] = denied
			}
			outcome, err := w.flow().Run(t.Context(), Request{Cluster: "web", Owner: "o", Deadline: time.Unix(w.now+30, 0)})
			text := outcome.Skipped
			if err != nil {
				text = err.Error()
			}
			if c.fails != (err != nil) || !strings.Contains(text, c.want) {
				t.Errorf("skipped because %q, %v", outcome.Skipped, err)
			}
		})
	}
}
