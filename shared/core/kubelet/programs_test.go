package kubelet

import (
	"maps"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

var large = Instance{InstanceType: "m5.large", VCPUs: 2, MemoryMiB: 8192, Interfaces: 3, AddressesPerInterface: 10}

func compiled(t *testing.T, k model.Kubelet) *Programs {
	t.Helper()
	p, problems := Compile(k)
	if len(problems) > 0 {
		t.Fatalf("problems = %v, want none", problems)
	}
	return p
}

func TestNC18MaxPodsIsWorkedOutForEachInstance(t *testing.T) {
	tests := []struct {
		text string
		want int64
	}{
		{"vcpus * 20", 40},
		{"max_pods - 4", 25},
		{"min(max_pods, 20)", 20},
		{"max(default_enis * (ips_per_eni - 1) + 2, 10)", 29},
		{"memory_mib / 1024", 8},
		{"max(1.5, vcpus)", 2},
		{"min(7, 7.9)", 7},
		{"10.9", 10},
		{"min(3.5, 2.5)", 2},
		{`instance_type.startsWith("m5.") ? 17 : 110`, 17},
		{"int(double(memory_mib) * 0.001)", 8},
		{"[5, 9].map(i, i * vcpus)[1]", 18},
		{"0", 0},
		{"2147483647", 2147483647},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := compiled(t, model.Kubelet{MaxPodsExpr: test.text}).MaxPods(large, 29)
			if err != nil || got != test.want {
				t.Errorf("MaxPods = %d, %v; want %d", got, err, test.want)
			}
		})
	}
}

func TestMaxPodsWithoutExpression(t *testing.T) {
	for _, test := range []struct{ fixed, want int64 }{{0, 29}, {110, 110}} {
		if got, err := compiled(t, model.Kubelet{MaxPods: test.fixed}).MaxPods(large, 29); err != nil || got != test.want {
			t.Errorf("with maxPods %d: %d, %v; want %d", test.fixed, got, err, test.want)
		}
	}
}

func TestNC18ExpressionsThatAreNone(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no language", "vcpus *", "Syntax error"},
		{"unknown variable", "cores * 2", "cores"},
		{"a text", `"110"`, "gives a string"},
		{"a truth", "vcpus > 4", "gives a bool"},
		{"a quantity that is none", "100Mib", "Syntax error"},
		{"three arguments", "max(1, 2, 3)", "max"},
		{"too long", strings.Repeat("1 + ", 300) + "1", "at most 1024"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Compile(model.Kubelet{MaxPodsExpr: test.text, KubeReservedExpr: map[string]string{"cpu": test.text}})
			if len(problems) != 2 {
				t.Fatalf("problems = %v, want one for each field", problems)
			}
			for i, field := range []string{"spec.kubelet.maxPods", "spec.kubelet.kubeReserved[cpu]"} {
				p := problems[i]
				if p.Reason != "KubeletExpressionInvalid" || p.Condition != "ValidationSucceeded" || !strings.HasPrefix(p.Message, field) ||
					!strings.Contains(p.Message, test.want) || !strings.Contains(p.Message, "Remedy: ") || strings.Contains(p.Message, "\n") {
					t.Errorf("problem = %+v, want one line on %s that says %q", p, field, test.want)
				}
			}
		})
	}
}

func TestNC18ExpressionsThatFailOnAnInstance(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"below zero", "max_pods - 1000", "it gives -971"},
		{"too large", "2147483648", "it gives 2147483648"},
		{"by zero", "100 / (vcpus - 2)", "division by zero"},
		{"without end", "1.0 / (vcpus - 2 == 0 ? 0.0 : 1.0)", "not a usable number"},
		{"not a number", "0.0 / 0.0", "not a usable number"},
		{"past 64 bits", "memory_mib * 9223372036854775807", "overflow"},
		{"a text in the end", `dyn(instance_type)`, "gives a string"},
		{"dear", "[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, [1,2,3,4,5,6,7,8,9].map(d, a+b+c+d))))[0][0][0][0]", "cost limit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := compiled(t, model.Kubelet{MaxPodsExpr: test.text})
			got, err := p.MaxPods(large, 29)
			if err == nil || got != 29 {
				t.Fatalf("MaxPods = %d, %v; want the standard and an error", got, err)
			}
			failed := EvaluationProblem(err)
			if failed.Reason != "KubeletExpressionEvaluationFailed" || !strings.Contains(failed.Message, "m5.large") || !strings.Contains(failed.Message, test.want) {
				t.Errorf("problem = %+v, want one that names the type and says %q", failed, test.want)
			}
		})
	}
}

func TestNC19UnitsOfExpressions(t *testing.T) {
	p := compiled(t, model.Kubelet{
		KubeReserved:       model.Resources{"pid": 500},
		KubeReservedExpr:   map[string]string{"cpu": "475", "memory": "630", "ephemeral-storage": "3"},
		SystemReservedExpr: map[string]string{"pid": "vcpus * 50", "memory": "max_pods * 11", "cpu": "480.9"},
	})
	kube, err := p.KubeReserved(large, 29)
	want := map[string]string{"cpu": "480m", "memory": "640Mi", "ephemeral-storage": "3Gi", "pid": "500"}
	if got := Texts(kube); err != nil || !maps.Equal(got, want) {
		t.Errorf("kubeReserved = %v, %v; want %v", got, err, want)
	}
	system, err := p.SystemReserved(large, 20)
	want = map[string]string{"pid": "100", "memory": "224Mi", "cpu": "480m"} // 220 MiB in steps of 16
	if got := Texts(system); err != nil || !maps.Equal(got, want) {
		t.Errorf("systemReserved = %v, %v; want %v", got, err, want)
	}
}

func TestOneFailingAmountLeavesTheOthers(t *testing.T) {
	p := compiled(t, model.Kubelet{KubeReserved: model.Resources{"cpu": 100}, KubeReservedExpr: map[string]string{"memory": "0 - 1", "pid": "7"}})
	got, err := p.KubeReserved(large, 29)
	if err == nil || !strings.Contains(err.Error(), "spec.kubelet.kubeReserved[memory]: on m5.large") {
		t.Errorf("error = %v, want one on memory", err)
	}
	if want := (model.Resources{"cpu": 100, "pid": 7}); !maps.Equal(got, want) {
		t.Errorf("amounts = %v, want %v", got, want)
	}
}

func TestNC18DisabledNamesTheFirstExpression(t *testing.T) {
	if got := DisabledProblems(&model.Kubelet{MaxPods: 110, KubeReserved: model.Resources{"cpu": 100}}); got != nil {
		t.Errorf("problems = %v of a configuration without expressions", got)
	}
	for field, k := range map[string]model.Kubelet{
		"spec.kubelet.maxPods":                {MaxPodsExpr: "vcpus", KubeReservedExpr: map[string]string{"cpu": "1"}},
		"spec.kubelet.kubeReserved[cpu]":      {KubeReservedExpr: map[string]string{"memory": "vcpus", "cpu": "vcpus"}},
		"spec.kubelet.systemReserved[memory]": {SystemReservedExpr: map[string]string{"memory": "vcpus"}},
	} {
		got := DisabledProblems(&k)
		if len(got) != 1 || got[0].Reason != "KubeletExpressionsDisabled" || !strings.HasPrefix(got[0].Message, field+`: "vcpus"`) {
			t.Errorf("problems = %v, want one on %s", got, field)
		}
	}
}

func TestTextIsWhatTheKubeletReads(t *testing.T) {
	tests := []struct {
		name   string
		amount int64
		want   string
	}{
		{"cpu", 80, "80m"}, {"cpu", 2000, "2"}, {"cpu", 0, "0"}, {"memory", 255 << 20, "255Mi"}, {"memory", 1 << 30, "1Gi"},
		{"memory", 1000, "1000"}, {"memory", 0, "0"}, {"ephemeral-storage", 2 << 30, "2Gi"}, {"pid", 1 << 20, "1048576"},
	}
	for _, test := range tests {
		if got := Text(test.name, test.amount); got != test.want {
			t.Errorf("Text(%s, %d) = %s, want %s", test.name, test.amount, got, test.want)
		}
	}
	if Texts(nil) != nil {
		t.Error("no amounts have texts")
	}
}

// Whatever is written, nothing panics and a number that comes of it is one the kubelet takes.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"vcpus", "max(1, 2.5)", "9223372036854775807 + 1", "[1].map(x, x)[0]", "timestamp('2000-01-01T00:00:00Z')", "(((((", "instance_type.matches('(a+)+$') ? 1 : 2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := Compile(model.Kubelet{MaxPodsExpr: text, KubeReservedExpr: map[string]string{"memory": text}})
		if text == "" || len(problems) > 0 {
			return
		}
		if n, err := p.MaxPods(large, 29); err == nil && (n < 0 || n > 1<<31-1) {
			t.Errorf("maxPods %q = %d", text, n)
		}
		if got, err := p.KubeReserved(large, 29); err == nil && got[model.Memory] < 0 {
			t.Errorf("memory %q = %d", text, got[model.Memory])
		}
	})
}
