package main

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/boot"
)

func TestDefaultSpreadIsASettingThatMayBeAbsent(t *testing.T) {
	for _, name := range []string{"JOINER_CLUSTER", "JOINER_QUEUE_URL", "JOINER_BUCKET", "JOINER_TABLE"} {
		t.Setenv(name, "x")
	}
	for text, want := range map[string]int{"": 0, "none": 0, `[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]`: 1} {
		t.Setenv("JOINER_DEFAULT_SPREAD", text)
		var s settings
		boot.LoadSettings(&s)
		got := s.defaultSpread(boot.Logger("watcher"))
		if len(got) != want || want == 1 && (got[0].TopologyKey != "zone" || got[0].MaxSkew != 1 || got[0].Anyway) {
			t.Errorf("JOINER_DEFAULT_SPREAD=%s: got %+v, want %d", text, got, want)
		}
	}
}
