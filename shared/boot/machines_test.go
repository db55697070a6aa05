package boot

import (
	"testing"

	"github.com/caarlos0/env/v11"
)

func TestIT03MachinesSayWhatMachinesHold(t *testing.T) {
	tests := []struct {
		name  string
		given map[string]string
		want  Machines
		fails bool
	}{
		{"nothing", nil, Machines{}, false},
		{"all", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "0.05", "JOINER_RESERVED_ENIS": "1", "JOINER_NODE_CLASS_CEL": "true"}, Machines{50_000, 1, true}, false},
		{"no overhead", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "0"}, Machines{Overhead: -1}, false},
		{"percent", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "7.5"}, Machines{}, true},
		{"below zero", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "-0.1"}, Machines{}, true},
		{"no number", map[string]string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT": "NaN"}, Machines{}, true},
		{"fewer than no interfaces", map[string]string{"JOINER_RESERVED_ENIS": "-1"}, Machines{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got struct{ Machines }
			err := env.ParseWithOptions(&got, env.Options{Environment: test.given})
			if (err != nil) != test.fails || err == nil && got.Machines != test.want {
				t.Errorf("read as %+v, %v; want %+v", got.Machines, err, test.want)
			}
		})
	}
}
