package provision

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// A node that was launched for devices is waited for until their drivers have published some, and no longer than they
// are expected of it.
func TestF095NodesAreInitializedOnceTheirDriversHavePublished(t *testing.T) {
	node := &model.Node{Name: "n", CreatedUnix: 1000}
	claim := &model.Claim{Name: "c", DeviceDrivers: []string{"a.example.com", "b.example.com"}}
	snapshot := &model.Snapshot{ResourceSlices: []model.ResourceSlice{{Name: "1", Driver: "a.example.com", Node: "n"},
		{Name: "2", Driver: "b.example.com", Node: "other"}}}
	if says := undevised(node, claim, snapshot, 1060); !strings.Contains(says, "node n has no ResourceSlice of driver "+
		"b.example.com yet") {
		t.Errorf("with devices of one driver: %q", says)
	}
	if says := undevised(node, claim, snapshot, 1000+publishWait); says != "" {
		t.Errorf("a quarter of an hour later: %q", says)
	}
	snapshot.ResourceSlices[1].Node = "n"
	if says := undevised(node, claim, snapshot, 1060); says != "" {
		t.Errorf("with devices of both: %q", says)
	}
	if says := undevised(node, &model.Claim{}, &model.Snapshot{}, 1060); says != "" {
		t.Errorf("launched for no devices: %q", says)
	}
}
