package e2e

import "strings"

// Setup is what specs are run with beside what all are.
type Setup struct {
	Pool      string            // the NodePool of the core's suites: a file of manifests without its ending
	Settings  []string          // of the functions, beside Settings
	Addons    []string          // of EKS in the cluster, as testenv/test/up names them
	Types     []string          // instance types that EC2 sells beside its own, as testenv/test/up names them
	Suite     []string          // of the suite's environment
	Karpenter map[string]string // settings of Karpenter that the suites of its AWS provider ask for, and that the stack's settings stand for
}

// Setups are those that specs.csv names.
var Setups = map[string]Setup{
	"":      {Pool: "default", Karpenter: map[string]string{"MIN_VALUES_POLICY": "Strict"}},
	"small": {Pool: "small"},
	// What the suite of performance grants beside its limits of a controller's memory and CPU, for providers beside whose controller more runs
	// than it counts on: all of Joiner's functions are processes of this machine.
	"performance": {Pool: "performance", Suite: []string{"KARPENTER_MEMORY_OVERHEAD_MB=2048", "KARPENTER_CPU_OVERHEAD_CORES=2"}},
	"ebs":         {Pool: "default", Addons: []string{"aws-ebs-csi-driver"}, Karpenter: map[string]string{"MIN_VALUES_POLICY": "Strict"}},
	"cni":         {Pool: "default", Addons: []string{"vpc-cni"}, Karpenter: map[string]string{"MIN_VALUES_POLICY": "Strict"}},
	// The specs of dynamic resources name two instance types of Karpenter's kwok provider, of 4 and 8 CPUs.
	"kwok":       {Pool: "kwok", Types: []string{"c-4x-amd64-linux=c5.xlarge", "m-8x-amd64-linux=m5.2xlarge"}},
	"besteffort": {Pool: "default", Settings: []string{"JOINER_MIN_VALUES_POLICY=BestEffort"}, Karpenter: map[string]string{"MIN_VALUES_POLICY": "BestEffort"}},
	"besteffort-ebs": {Pool: "default", Settings: []string{"JOINER_MIN_VALUES_POLICY=BestEffort"},
		Addons:    []string{"aws-ebs-csi-driver"},
		Karpenter: map[string]string{"MIN_VALUES_POLICY": "BestEffort"}},
}

// stack is the same for setups that can share one.
func (s Setup) stack() string { return strings.Join(s.arguments(), " ") }

// arguments are those of testenv/test/up beside what all setups have.
func (s Setup) arguments() []string {
	var args []string
	for _, setting := range s.Settings {
		args = append(args, "-set", setting)
	}
	for _, addon := range s.Addons {
		args = append(args, "-addon", addon)
	}
	for _, instanceType := range s.Types {
		args = append(args, "-sell", instanceType)
	}
	return args
}
