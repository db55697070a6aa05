package boot

import (
	"testing"

	"github.com/caarlos0/env/v11"
)

func TestIT03InstancesSayWhatInstancesHold(t *testing.T) {
	tests := []struct {
		name  string
		given map[string]string
		want  InstanceSettings
		fails bool
	}{
		{"nothing", nil, InstanceSettings{}, false},
		{"all", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "0.05", "JOINER_RESERVED_ENIS": "1", "JOINER_NODE_CLASS_CEL": "true"}, InstanceSettings{50_000, 1, true}, false},
		{"no overhead", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "0"}, InstanceSettings{Overhead: -1}, false},
		{"percent", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "7.5"}, InstanceSettings{}, true},
		{"below zero", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "-0.1"}, InstanceSettings{}, true},
		{"no number", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "NaN"}, InstanceSettings{}, true},
		{"fewer than no interfaces", map[string]string{"JOINER_RESERVED_ENIS": "-1"}, InstanceSettings{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got struct{ InstanceSettings }
			err := env.ParseWithOptions(&got, env.Options{Environment: test.given})
			if (err != nil) != test.fails || err == nil && got.InstanceSettings != test.want {
				t.Errorf("read as %+v, %v; want %+v", got.InstanceSettings, err, test.want)
			}
		})
	}
}
