package kubelet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// The condition expressions are validated under, and the reasons it has.
const (
	condition      = "ValidationSucceeded"
	ReasonDisabled = "KubeletExpressionsDisabled"
	ReasonInvalid  = "KubeletExpressionInvalid"
	ReasonFailed   = "KubeletExpressionEvaluationFailed"
)

// Units of expressions' results and the steps they are rounded up to.
const (
	mib          = 1 << 20
	gib          = 1 << 30
	cpuStepMilli = 10
	memoryStep   = 16 * mib // bytes
)

// HasExpressions reports whether the configuration has any.
func HasExpressions(k *model.Kubelet) bool {
	return k.MaxPodsExpr != "" || len(k.KubeReservedExpr) > 0 || len(k.SystemReservedExpr) > 0
}

// DisabledProblems returns the problem of a configuration with expressions where they are not allowed; none otherwise.
func DisabledProblems(k *model.Kubelet) []model.ClassProblem {
	if !HasExpressions(k) {
		return nil
	}
	field, text := first(k)
	return []model.ClassProblem{problem(ReasonDisabled, field, text, "expressions are not enabled",
		"Write a number or a quantity, or set JOINER_NODE_CLASS_CEL=true on the functions.")}
}

func first(k *model.Kubelet) (field, text string) {
	if k.MaxPodsExpr != "" {
		return "spec.kubelet.maxPods", k.MaxPodsExpr
	}
	for _, name := range slices.Sorted(maps.Keys(k.KubeReservedExpr)) {
		return fmt.Sprintf("spec.kubelet.kubeReserved[%s]", name), k.KubeReservedExpr[name]
	}
	for _, name := range slices.Sorted(maps.Keys(k.SystemReservedExpr)) {
		return fmt.Sprintf("spec.kubelet.systemReserved[%s]", name), k.SystemReservedExpr[name]
	}
	return "", ""
}

// EvaluationProblem returns the problem of an expression that failed on an instance type.
func EvaluationProblem(err error) model.ClassProblem {
	return model.ClassProblem{Condition: condition, Reason: ReasonFailed,
		Message: err.Error() + ". Remedy: Write an expression that gives a number on every instance type."}
}

// Programs are a configuration's expressions ready to run, beside the amounts it states outright. The zero value is of an
// empty configuration.
type Programs struct {
	maxPods      cel.Program // nil = fixed
	fixedMaxPods int64       // 0 = the class says nothing
	kube, system amounts
}

// amounts are reserved ones, by resource.
type amounts struct {
	field    string
	fixed    model.Resources
	programs []named // by name
}

type named struct {
	name, text string
	program    cel.Program
}

// Compile returns the configuration's expressions ready to run and a problem for each that is none; these are left out.
func Compile(k model.Kubelet) (*Programs, []model.ClassProblem) {
	p := &Programs{fixedMaxPods: k.MaxPods}
	p.kube = amounts{field: "spec.kubelet.kubeReserved", fixed: k.KubeReserved}
	p.system = amounts{field: "spec.kubelet.systemReserved", fixed: k.SystemReserved}
	if !HasExpressions(&k) {
		return p, nil
	}
	env, err := environment()
	if err != nil {
		panic("the language of kubelet expressions is inconsistent: " + err.Error()) // a broken invariant of ours
	}
	var problems []model.ClassProblem
	if k.MaxPodsExpr != "" {
		if p.maxPods, err = compile(env, k.MaxPodsExpr); err != nil {
			problems = append(problems, notAnExpression("spec.kubelet.maxPods", k.MaxPodsExpr, err))
		}
	}
	problems = append(problems, p.kube.compile(env, k.KubeReservedExpr)...)
	return p, append(problems, p.system.compile(env, k.SystemReservedExpr)...)
}

func (a *amounts) compile(env *cel.Env, texts map[string]string) []model.ClassProblem {
	var problems []model.ClassProblem
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		program, err := compile(env, texts[name])
		if err != nil {
			problems = append(problems, notAnExpression(fmt.Sprintf("%s[%s]", a.field, name), texts[name], err))
			continue
		}
		a.programs = append(a.programs, named{name, texts[name], program})
	}
	return problems
}

func notAnExpression(field, text string, err error) model.ClassProblem {
	return problem(ReasonInvalid, field, text, "neither a quantity nor an expression: "+err.Error(),
		"Write a CEL expression over vcpus, memory_mib, default_enis, ips_per_eni, max_pods and instance_type that gives a number.")
}

// MaxPods returns how many pods the class says an instance takes; standard where it says nothing. The expression sees standard
// as max_pods. An Invalid error where it gives no such number.
func (p *Programs) MaxPods(m Instance, standard int64) (int64, error) {
	switch {
	case p.maxPods != nil:
		count, err := evaluate(p.maxPods, m.variables(standard), math.MaxInt32)
		if err != nil {
			return standard, on(m, "spec.kubelet.maxPods", err)
		}
		return count, nil
	case p.fixedMaxPods > 0:
		return p.fixedMaxPods, nil
	}
	return standard, nil
}

// KubeReserved returns what the class says is reserved for the kubelet on an instance that takes maxPods pods; nil where it says
// nothing. What an expression gives is in milli-CPU rounded up to 10, MiB rounded up to 16, GiB of storage, or process ids.
// With an Invalid error, of an expression that gives no such number, come the other amounts.
func (p *Programs) KubeReserved(m Instance, maxPods int64) (model.Resources, error) {
	return p.kube.of(m, maxPods)
}

// SystemReserved is KubeReserved for what is reserved for the system.
func (p *Programs) SystemReserved(m Instance, maxPods int64) (model.Resources, error) {
	return p.system.of(m, maxPods)
}

func (a *amounts) of(m Instance, maxPods int64) (model.Resources, error) {
	if len(a.programs) == 0 {
		return a.fixed, nil
	}
	out := maps.Clone(a.fixed)
	if out == nil {
		out = make(model.Resources, len(a.programs))
	}
	var failed error
	for _, e := range a.programs {
		count, err := evaluate(e.program, m.variables(maxPods), math.MaxInt32)
		if err != nil {
			if failed == nil {
				failed = on(m, fmt.Sprintf("%s[%s]", a.field, e.name), err)
			}
			continue
		}
		out[e.name] = inUnits(e.name, count)
	}
	return out, failed
}

func on(m Instance, field string, err error) error {
	return fault.New(fault.Invalid, "", "%s: on %s: %v", field, m.InstanceType, err)
}

// inUnits turns the result of an expression, 0 ≤ count ≤ 2³¹, into an amount of the resource.
func inUnits(name string, count int64) int64 {
	switch name {
	case model.CPU:
		return roundUp(count, cpuStepMilli)
	case model.Memory:
		return roundUp(count*mib, memoryStep)
	case model.EphemeralStorage:
		return count * gib
	}
	return count
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }

// Text writes an amount as the kubelet reads it: "480m", "640Mi", "3Gi", "1000".
func Text(name string, amount int64) string {
	switch {
	case name == model.CPU && amount%1000 != 0:
		return strconv.FormatInt(amount, 10) + "m"
	case name == model.CPU:
		return strconv.FormatInt(amount/1000, 10)
	case name != model.Memory && name != model.EphemeralStorage:
	case amount != 0 && amount%gib == 0:
		return strconv.FormatInt(amount/gib, 10) + "Gi"
	case amount != 0 && amount%mib == 0:
		return strconv.FormatInt(amount/mib, 10) + "Mi"
	}
	return strconv.FormatInt(amount, 10)
}

// Texts writes amounts as the kubelet reads them; nil for none.
func Texts(amounts model.Resources) map[string]string {
	if len(amounts) == 0 {
		return nil
	}
	out := make(map[string]string, len(amounts))
	for name, amount := range amounts { // each on its own: the order does not matter
		out[name] = Text(name, amount)
	}
	return out
}
