package attach

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/work"
)

// F2: detach keeps every lease of a cluster from before its last look at the ledger until LeaseFor later, so that who has read the
// registration before cannot act by it. That holds as long as no function runs for longer.
func TestF2NoFunctionRunsLongerThanDetachKeepsTheLeases(t *testing.T) {
	templates, err := filepath.Glob("../../../infra/cdk/templates/region*.json")
	if err != nil || len(templates) == 0 {
		t.Fatalf("%d templates, %v", len(templates), err)
	}
	for _, path := range templates {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var template struct {
			Resources map[string]struct {
				Type       string
				Properties struct{ Timeout int }
			}
		}
		if err := json.Unmarshal(text, &template); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		functions := 0
		for name, resource := range template.Resources {
			if resource.Type != "AWS::Lambda::Function" {
				continue
			}
			functions++
			timeout := time.Duration(resource.Properties.Timeout) * time.Second
			if kept := work.WithDefaults(Settings{}).LeaseFor; timeout == 0 || timeout > kept {
				t.Errorf("%s: %s may run for %v, and leases are kept for %v", filepath.Base(path), name, timeout, kept)
			}
		}
		if functions < 4 {
			t.Errorf("%s has %d functions", filepath.Base(path), functions)
		}
	}
}
