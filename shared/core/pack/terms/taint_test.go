package terms

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// The cases follow the Kubernetes API's rules for tolerations, numeric operators included.
func TestTolerationsCoverTaints(t *testing.T) {
	red := model.Taint{Key: "colour", Value: "red", Effect: model.NoSchedule}
	speed := model.Taint{Key: "speed", Value: "300", Effect: model.NoExecute}
	tests := []struct {
		name       string
		toleration model.Toleration
		taint      model.Taint
		want       bool
	}{
		{"equal by default", model.Toleration{Key: "colour", Value: "red", Effect: model.NoSchedule}, red, true},
		{"equal spelt out", model.Toleration{Key: "colour", Operator: "Equal", Value: "red"}, red, true},
		{"other value", model.Toleration{Key: "colour", Value: "blue"}, red, false},
		{"other effect", model.Toleration{Key: "colour", Value: "red", Effect: model.NoExecute}, red, false},
		{"exists", model.Toleration{Key: "colour", Operator: "Exists"}, red, true},
		{"exists for every key", model.Toleration{Operator: "Exists"}, red, true},
		{"exists for every key, one effect", model.Toleration{Operator: "Exists", Effect: model.NoExecute}, red, false},
		{"no key without exists", model.Toleration{Value: "red"}, red, false},
		{"greater", model.Toleration{Key: "speed", Operator: "Gt", Value: "299"}, speed, true},
		{"not greater", model.Toleration{Key: "speed", Operator: "Gt", Value: "300"}, speed, false},
		{"less", model.Toleration{Key: "speed", Operator: "Lt", Value: "301"}, speed, true},
		{"number with zeros in front", model.Toleration{Key: "speed", Operator: "Lt", Value: "0301"}, speed, false},
		{"number against text", model.Toleration{Key: "colour", Operator: "Gt", Value: "1"}, red, false},
		{"unknown operator", model.Toleration{Key: "colour", Operator: "Near", Value: "red"}, red, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Tolerates([]model.Toleration{test.toleration}, test.taint); got != test.want {
				t.Errorf("%+v tolerates %s = %v, want %v", test.toleration, test.taint.Key, got, test.want)
			}
		})
	}
}
