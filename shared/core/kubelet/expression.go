package kubelet

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// MaxExpressionBytes is how long an expression may be.
	MaxExpressionBytes = 1024
	// costLimit bounds what one evaluation may do, in units of CEL's own. Arithmetic over the variables costs some dozens.
	costLimit = 10_000
)

// Instance is what expressions may name.
type Instance struct {
	InstanceType          string // variable instance_type
	VCPUs                 int64  // vcpus
	MemoryMiB             int64  // memory_mib, of the data sheet
	Interfaces            int64  // default_enis, of the default network card
	AddressesPerInterface int64  // ips_per_eni
}

// On returns an instance type as expressions see it.
func On(m *model.InstanceTypeInfo) Instance {
	return Instance{
		InstanceType: m.Name, VCPUs: m.VCPUs, MemoryMiB: m.MemoryMiB, Interfaces: m.Interfaces, AddressesPerInterface: m.IPv4PerInterface,
	}
}

// variables returns the values of all variables; max_pods is what the expression is given.
func (m Instance) variables(maxPods int64) map[string]any {
	return map[string]any{
		"instance_type": m.InstanceType, "vcpus": m.VCPUs, "memory_mib": m.MemoryMiB, "default_enis": m.Interfaces,
		"ips_per_eni": m.AddressesPerInterface, "max_pods": maxPods,
	}
}

// environment is the language: standard CEL, the variables of a Instance, and max and min of two numbers.
func environment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("instance_type", cel.StringType),
		cel.Variable("vcpus", cel.IntType),
		cel.Variable("memory_mib", cel.IntType),
		cel.Variable("default_enis", cel.IntType),
		cel.Variable("ips_per_eni", cel.IntType),
		cel.Variable("max_pods", cel.IntType),
		ofTwo("max", true),
		ofTwo("min", false),
	)
}

// ofTwo declares a function that returns the larger of two numbers, or the smaller. Of an integer and a floating point number
// the result is floating point.
func ofTwo(name string, larger bool) cel.EnvOption {
	integers := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, y := a.(types.Int), b.(types.Int)
		if (x > y) == larger {
			return x
		}
		return y
	})
	floats := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, y := a.ConvertToType(types.DoubleType).(types.Double), b.ConvertToType(types.DoubleType).(types.Double)
		if larger {
			return types.Double(math.Max(float64(x), float64(y)))
		}
		return types.Double(math.Min(float64(x), float64(y)))
	})
	i, d := cel.IntType, cel.DoubleType
	return cel.Function(name,
		cel.Overload(name+"_int_int", []*cel.Type{i, i}, i, integers),
		cel.Overload(name+"_double_double", []*cel.Type{d, d}, d, floats),
		cel.Overload(name+"_int_double", []*cel.Type{i, d}, d, floats),
		cel.Overload(name+"_double_int", []*cel.Type{d, i}, d, floats),
	)
}

// compile returns an expression ready to run; an Invalid error where it is no expression, or gives no number.
func compile(env *cel.Env, text string) (cel.Program, error) {
	if len(text) > MaxExpressionBytes {
		return nil, fault.New(fault.Invalid, "", "it is %d bytes long, and at most %d are allowed", len(text), MaxExpressionBytes)
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fault.New(fault.Invalid, "", "%s", oneLine(issues.Err().Error()))
	}
	switch kind := checked.OutputType(); {
	case kind.IsExactType(cel.IntType), kind.IsExactType(cel.DoubleType), kind.IsExactType(cel.DynType):
	default:
		return nil, fault.New(fault.Invalid, "", "it gives a %s, and a whole or floating point number is needed", kind)
	}
	program, err := env.Program(checked, cel.CostLimit(costLimit))
	if err != nil {
		return nil, fault.New(fault.Invalid, "", "%s", oneLine(err.Error()))
	}
	return program, nil
}

// evaluate runs an expression; the result is cut to a whole number. An Invalid error says why there is none from 0 to limit.
func evaluate(program cel.Program, variables map[string]any, limit int64) (int64, error) {
	value, _, err := program.Eval(variables)
	if err != nil {
		return 0, fault.New(fault.Invalid, "", "%s", oneLine(err.Error()))
	}
	n := int64(0)
	switch v := value.(type) {
	case types.Int:
		n = int64(v)
	case types.Double:
		if math.IsNaN(float64(v)) || math.Abs(float64(v)) >= 1<<62 {
			return 0, fault.New(fault.Invalid, "", "it gives %v, which is not a usable number", float64(v))
		}
		n = int64(v)
	default:
		return 0, fault.New(fault.Invalid, "", "it gives a %s, and a whole or floating point number is needed", value.Type().TypeName())
	}
	if n < 0 || n > limit {
		return 0, fault.New(fault.Invalid, "", "it gives %d, which is not from 0 to %d", n, limit)
	}
	return n, nil
}

// oneLine is CEL's message without its drawing of the place.
func oneLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(text, "ERROR: "), "\n")
	return strings.TrimSpace(first)
}

// problem is one expression that cannot be used.
func problem(reason, field, text, why, remedy string) model.ClassProblem {
	return model.ClassProblem{
		Condition: condition, Reason: reason,
		Message: fmt.Sprintf("%s: %q: %s. Remedy: %s", field, text, why, remedy),
	}
}
