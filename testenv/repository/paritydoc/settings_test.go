package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settingsOfKarpenter are the variables that Karpenter 1.14 and its AWS provider read, and their feature gates.
var settingsOfKarpenter = strings.Fields(`
KARPENTER_SERVICE METRICS_PORT HEALTH_PROBE_PORT KUBE_CLIENT_QPS KUBE_CLIENT_BURST ENABLE_PROFILING
DISABLE_CONTROLLER_WARMUP DISABLE_LEADER_ELECTION DISABLE_CLUSTER_STATE_OBSERVABILITY LEADER_ELECTION_NAME
LEADER_ELECTION_NAMESPACE MEMORY_LIMIT CPU_REQUESTS LOG_LEVEL LOG_OUTPUT_PATHS LOG_ERROR_OUTPUT_PATHS
BATCH_MAX_DURATION BATCH_IDLE_DURATION PREFERENCE_POLICY MIN_VALUES_POLICY IGNORE_DRA_REQUESTS FEATURE_GATES
SCHEDULER_CONFIG CLUSTER_NAME CLUSTER_ENDPOINT CLUSTER_CA_BUNDLE EKS_CONTROL_PLANE ISOLATED_VPC INTERRUPTION_QUEUE
VM_MEMORY_OVERHEAD_PERCENT RESERVED_ENIS ENABLE_ZONAL_SHIFT DISABLE_DRY_RUN AMI_REFRESH_INTERVAL
SUBNET_REFRESH_INTERVAL AWS_FEATURE_GATES
SpotToSpotConsolidation NodeRepair ReservedCapacity NodeOverlay StaticCapacity CapacityBuffer NodeClassCEL
`)

// TestM31EverySettingOfKarpenterIsThereOrHasAReason: each setting of Karpenter has a row in the table of compatibility,
// and what the table names of Joiner's is a setting.
func TestM31EverySettingOfKarpenterIsThereOrHasAReason(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, section, found := strings.Cut(page("compatibility.md"), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var karpenters, ours string
	for _, line := range strings.Split(section, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.TrimSpace(cells[2]) != "" {
			karpenters, ours = karpenters+cells[1], ours+cells[2]
		}
	}
	if !found || ours == "" {
		t.Fatal("docs/compatibility.md has no table of settings")
	}
	for _, name := range settingsOfKarpenter {
		if !strings.Contains(karpenters, "`"+name+"`") {
			t.Errorf("docs/compatibility.md does not say what Karpenter's %s is here", name)
		}
	}
	settings := page("reference/settings.md")
	for _, name := range regexp.MustCompile(`JOINER_[A-Z_]+`).FindAllString(ours, -1) {
		if !strings.Contains(settings, "| `"+name+"` |") {
			t.Errorf("docs/compatibility.md names %s, and there is no such setting", name)
		}
	}
}
