package resource

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestFormatWritesWhatPeopleWrite(t *testing.T) {
	tests := []struct {
		name   string
		amount int64
		want   string
	}{
		{model.CPU, 1500, "1500m"},
		{model.CPU, 2000, "2"},
		{model.CPU, 0, "0"},
		{model.Memory, 2 << 30, "2Gi"},
		{model.Memory, 1536 << 20, "1536Mi"},
		{model.Memory, 1001, "1001"},
		{model.Memory, 0, "0"},
		{model.Memory, -(1 << 20), "-1Mi"},
		{"hugepages-2Mi", 4 << 20, "4Mi"},
		{model.Pods, 1024, "1024"},
		{"nvidia.com/gpu", 8, "8"},
	}
	for _, test := range tests {
		if got := Format(test.name, test.amount); got != test.want {
			t.Errorf("Format(%s, %d) = %q, want %q", test.name, test.amount, got, test.want)
		}
	}
}

func TestStringSortsByName(t *testing.T) {
	got := String(model.Resources{"pods": 3, "memory": 2 << 30, "cpu": 1500})
	if want := "cpu 1500m, memory 2Gi, pods 3"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got := String(nil); got != "nothing" {
		t.Errorf("String(nil) = %q", got)
	}
}

func TestParseReadsQuantities(t *testing.T) {
	tests := []struct {
		name, text string
		want       int64
	}{
		{model.CPU, "1", 1000},
		{model.CPU, "250m", 250},
		{model.CPU, "0.5", 500},
		{model.CPU, "1n", 1},
		{model.Memory, "100Mi", 100 << 20},
		{model.Memory, "1.5Gi", 3 << 29},
		{model.Memory, "1G", 1_000_000_000},
		{model.Memory, "1e3", 1000},
		{model.Memory, "1E", 1_000_000_000_000_000_000},
		{model.Memory, "100m", 1},
		{model.Memory, "16Ei", math.MaxInt64},
		{model.Memory, "-1", -1},
		{"nvidia.com/gpu", "2", 2},
		{model.Dollars, "1", 1_000_000},
		{model.Dollars, "1500m", 1_500_000},
		{model.Dollars, "0.25", 250_000},
	}
	for _, test := range tests {
		got, err := Parse(test.name, test.text)
		if err != nil || got != test.want {
			t.Errorf("Parse(%s, %q) = %d, %v, want %d", test.name, test.text, got, err, test.want)
		}
	}
}

func TestParseRefusesWhatIsNoQuantity(t *testing.T) {
	for _, text := range []string{"", "x", "1x", "--1", "1-", "1.2.3", "5%", "1/2", "0x10", "1e", "1e999", ".", " 1", "1_000",
		strings.Repeat("9", 65)} {
		if got, err := Parse(model.Memory, text); !fault.Is(err, fault.Invalid) {
			t.Errorf("Parse(%q) = %d, %v, want an Invalid error", text, got, err)
		}
	}
}

func TestParseReadsBackWhatFormatWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{model.CPU, model.Memory, model.Pods, model.Dollars}).Draw(t, "name")
		want := rapid.Int64().Draw(t, "amount")
		got, err := Parse(name, Format(name, want))
		if err != nil || got != want {
			t.Errorf("Parse(Format(%s, %d)) = %d, %v", name, want, got, err)
		}
	})
}
