package machine

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestConfigureKubeletPutsFlagsOverConfigurationOverTheImage(t *testing.T) {
	i := Instance{ID: "i-1", PrivateDNSName: "ip-10-0-0-1.internal", VCPUs: 4, ENIMaxPods: 58}
	var c NodeConfig
	c.Spec.Kubelet.Config = map[string]any{
		"maxPods": 40, "podsPerCore": 9,
		"kubeReserved": map[string]any{"cpu": "500m"},
		"evictionHard": map[string]any{"memory.available": "5%"},
		"registerWithTaints": []any{
			map[string]any{"key": "a", "value": "b", "effect": "NoSchedule"},
		},
	}
	c.Spec.Kubelet.Flags = []string{
		`--node-labels="pool=web,zone=x"`, "--node-labels zone=y,empty=", "--v=4 --image-gc-high-threshold=90",
		"--max-pods=30",
	}
	k, err := configureKubelet(i, c)
	if err != nil {
		t.Fatal(err)
	}
	if k.nodeName != i.PrivateDNSName {
		t.Errorf("node name is %q", k.nodeName)
	}
	if want := map[string]string{"pool": "web", "zone": "y", "empty": ""}; !reflect.DeepEqual(k.labels, want) {
		t.Errorf("labels are %v, want %v", k.labels, want)
	}
	if k.config.MaxPods != 30 || k.maxPods(2) != 18 || k.maxPods(8) != 30 {
		t.Errorf("max pods are %d, with 2 cores %d, with 8 cores %d", k.config.MaxPods, k.maxPods(2), k.maxPods(8))
	}
	wantReserved := map[string]string{"cpu": "500m", "memory": "893Mi", "ephemeral-storage": "1Gi"}
	if !reflect.DeepEqual(k.config.KubeReserved, wantReserved) {
		t.Errorf("kubeReserved is %v, want %v", k.config.KubeReserved, wantReserved)
	}
	if k.config.EvictionHard["memory.available"] != "5%" || k.config.EvictionHard["nodefs.available"] != "10%" {
		t.Errorf("evictionHard is %v", k.config.EvictionHard)
	}
	if want := []corev1.Taint{{Key: "a", Value: "b", Effect: "NoSchedule"}}; !reflect.DeepEqual(k.config.RegisterWithTaints, want) {
		t.Errorf("taints are %v, want %v", k.config.RegisterWithTaints, want)
	}

	c.Spec.Kubelet.Flags = []string{"--register-with-taints=x=1:NoExecute,y:PreferNoSchedule"}
	c.Spec.FeatureGates = map[string]bool{instanceIDNodeName: true}
	if k, err = configureKubelet(i, c); err != nil {
		t.Fatal(err)
	}
	if want := []corev1.Taint{{Key: "x", Value: "1", Effect: "NoExecute"}, {Key: "y", Effect: "PreferNoSchedule"}}; !reflect.DeepEqual(k.config.RegisterWithTaints, want) {
		t.Errorf("taints are %v, want %v", k.config.RegisterWithTaints, want)
	}
	if k.nodeName != "i-1" {
		t.Errorf("node name is %q, want the instance's id", k.nodeName)
	}
}

func TestConfigureKubeletRefusesWhatAKubeletRefuses(t *testing.T) {
	cases := map[string]struct {
		config map[string]any
		flags  string
		want   string
	}{
		"label of another's namespace": {nil, "--node-labels=kubernetes.io/cluster=x", "may not set kubernetes.io/cluster"},
		"label of node restriction":    {nil, "--node-labels=a.node-restriction.kubernetes.io/b=x", "may not set"},
		"label key":                    {nil, "--node-labels=-a=x", "key"},
		"label value":                  {nil, "--node-labels=a=x y/z", "value"},
		"taint without effect":         {nil, "--register-with-taints=a=b", "has no effect"},
		"taint with other effect":      {nil, "--register-with-taints=a=b:Sometimes", "unknown effect"},
		"taint twice":                  {nil, "--register-with-taints=a=b:NoExecute,a=c:NoExecute", "twice"},
		"taint key":                    {nil, "--register-with-taints=a b:NoExecute", "taint key"},
		"quote":                        {nil, `--node-labels="a=b`, "unbalanced quote"},
		"number":                       {nil, "--max-pods=many", "kubelet flags"},
		"type":                         {map[string]any{"maxPods": "many"}, "", "kubelet configuration"},
		"negative":                     {map[string]any{"maxPods": -1}, "", "negative"},
		"soft eviction":                {map[string]any{"evictionSoft": map[string]any{"nodefs.available": "10%"}}, "", "evictionSoftGracePeriod"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var config NodeConfig
			config.Spec.Kubelet.Config = c.config
			config.Spec.Kubelet.Flags = []string{strings.Replace(c.flags, "a=x y/z", `"a=x y/z"`, 1)}
			if strings.Contains(c.flags, "a b:") {
				config.Spec.Kubelet.Flags = []string{`"` + c.flags + `"`}
			}
			_, err := configureKubelet(Instance{VCPUs: 2, ENIMaxPods: 29}, config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestSplitWordsSplitsAsACommandLine(t *testing.T) {
	cases := map[string][]string{
		"":                          nil,
		"  \t\n ":                   nil,
		"a b  c":                    {"a", "b", "c"},
		`--x="a b" 'c d'`:           {"--x=a b", "c d"},
		`a\ b "c\"d" 'e\f'`:         {"a b", `c"d`, `e\f`},
		`"" ''`:                     {"", ""},
		`--node-labels="a=b,c=d"`:   {"--node-labels=a=b,c=d"},
		`--node-labels=a="b"',c='d`: {"--node-labels=a=b,c=d"},
	}
	for line, want := range cases {
		got, err := splitWords(line)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, %v, want %q", line, got, err, want)
		}
	}
}

func TestReservedCPUFollowsTheImagesTable(t *testing.T) {
	for cores, want := range map[int]int{1: 60, 2: 70, 4: 80, 8: 90, 16: 110, 64: 230, 96: 310} {
		if got := reservedCPUMilli(cores); got != want {
			t.Errorf("%d cores: %dm, want %dm", cores, got, want)
		}
	}
}

func TestMeasureSubtractsEveryReservation(t *testing.T) {
	i := Instance{VCPUs: 8, MemoryBytes: 32 * gibibyte, ENIMaxPods: 58, Architecture: "x86_64", RootVolumeBytes: 100 * gibibyte}
	var c NodeConfig
	c.Spec.Kubelet.Config = map[string]any{
		"systemReserved": map[string]any{"cpu": "100m", "memory": "1Gi", "pid": "1000"},
		"evictionHard":   map[string]any{"memory.available": "1Gi"},
	}
	k, err := configureKubelet(i, c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.measure(i, c)
	if err != nil {
		t.Fatal(err)
	}
	visible := r.capacity[corev1.ResourceMemory]
	if nominal := resource.MustParse("32Gi"); visible.Cmp(nominal) >= 0 || visible.Value() < nominal.Value()*925/1000 {
		t.Errorf("the system sees %s of 32Gi", visible.String())
	}
	storage := r.capacity[corev1.ResourceEphemeralStorage]
	for name, keptBack := range map[corev1.ResourceName]int64{
		corev1.ResourceMemory:           (1024 + 1024 + 11*58 + 255) << 20,
		corev1.ResourceEphemeralStorage: 1<<30 + storage.Value()/10,
	} {
		whole, left := r.capacity[name], r.allocatable[name]
		if got := whole.Value() - left.Value(); got != keptBack {
			t.Errorf("%d of %s are kept back, want %d", got, name, keptBack)
		}
	}
	cpu := r.allocatable[corev1.ResourceCPU]
	if cpu.MilliValue() != 8000-100-90 {
		t.Errorf("allocatable CPU is %s", cpu.String())
	}
	if _, ok := r.allocatable["pid"]; ok {
		t.Error("pids are no resource of a node")
	}
	if huge, ok := r.capacity["hugepages-2Mi"]; !ok || !huge.IsZero() {
		t.Errorf("hugepages-2Mi is %s", huge.String())
	}
}

func TestHugePagesOfAScriptAreNoMemoryOfPods(t *testing.T) {
	measured := func(script string) resources {
		t.Helper()
		k := &kubelet{}
		r, err := k.measure(Instance{VCPUs: 2, MemoryBytes: 8 * gibibyte, UserData: []byte(script)}, NodeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := measured("#!/bin/bash\necho vm.nr_hugepages=7 >> /etc/sysctl.conf\n")
	huge := measured("#!/bin/bash -e\nsudo sysctl -w vm.nr_hugepages=1\nsudo sysctl -w vm.nr_hugepages=1024\n")
	const page = corev1.ResourceHugePagesPrefix + "2Mi"
	more := func(huge, plain corev1.ResourceList, name corev1.ResourceName) int64 {
		a, b := huge[name], plain[name]
		return a.Value() - b.Value()
	}
	for what, got := range map[string]int64{
		"capacity":         more(huge.capacity, plain.capacity, page),
		"allocatable":      more(huge.allocatable, plain.allocatable, page),
		"memory set aside": more(plain.allocatable, huge.allocatable, corev1.ResourceMemory),
		"memory there is":  more(plain.capacity, huge.capacity, corev1.ResourceMemory) + 2*gibibyte,
	} {
		if got != 2*gibibyte {
			t.Errorf("%s: %d bytes, want 2 GiB", what, got)
		}
	}
}

func TestMeasureRefusesReservationsThatCannotBe(t *testing.T) {
	for name, config := range map[string]map[string]any{
		"more than there is": {"kubeReserved": map[string]any{"cpu": "3"}},
		"not a quantity":     {"kubeReserved": map[string]any{"cpu": "plenty"}},
		"negative":           {"systemReserved": map[string]any{"memory": "-1Gi"}},
		"over 100 %":         {"evictionHard": map[string]any{"memory.available": "101%"}},
		"not a number":       {"evictionHard": map[string]any{"nodefs.available": "NaN%"}},
		"not an amount":      {"evictionHard": map[string]any{"memory.available": "some"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := Instance{VCPUs: 2, MemoryBytes: 8 * gibibyte, ENIMaxPods: 29}
			var c NodeConfig
			c.Spec.Kubelet.Config = config
			k, err := configureKubelet(i, c)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := k.measure(i, c); err == nil {
				t.Errorf("allocatable is %v", r.allocatable)
			}
		})
	}
}

func TestLocalDisksHoldPodsWhereTheyAreMadeAnArray(t *testing.T) {
	i := Instance{InstanceStoreBytes: 1000 * gibibyte}
	for strategy, want := range map[string]int64{"": 20, "Mount": 20, "RAID0": 1000, "RAID10": 500} {
		var c NodeConfig
		c.Spec.Instance.LocalStorage.Strategy = strategy
		got := storageBytes(i, c)
		if got > want*gibibyte || got < want*gibibyte*99/100 {
			t.Errorf("%q: %d bytes, want about %d GiB", strategy, got, want)
		}
	}
}
