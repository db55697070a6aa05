package translate

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/model"
)

func classWith(t *testing.T, family, kubelet string) model.Class {
	t.Helper()
	return Class(parse[awsv1.EC2NodeClass](t, fmt.Sprintf(
		"spec: {subnetSelectorTerms: [], securityGroupSelectorTerms: [], amiSelectorTerms: [], amiFamily: %s, kubelet: %s}", family, kubelet)))
}

// complaint holds one problem to what it should say.
func complaint(t *testing.T, got model.Class, reason, field, says string) {
	t.Helper()
	if len(got.Invalid) != 1 {
		t.Fatalf("problems = %+v, want one", got.Invalid)
	}
	p := got.Invalid[0]
	if p.Condition != "ValidationSucceeded" || p.Reason != reason || !strings.HasPrefix(p.Message, field) || !strings.Contains(p.Message, says) ||
		!strings.Contains(p.Message, "Remedy: ") {
		t.Errorf("problem = %+v, want %s on %s that says %q", p, reason, field, says)
	}
}

func TestNC14KubeletFieldsNobodyKnows(t *testing.T) {
	tests := []struct{ kubelet, says string }{
		{`{maxPodz: 5}`, `unknown field "maxPodz"`},
		{`{MaxPods: 5}`, `unknown field "MaxPods"`},
		{`{logging: {formatt: json}}`, `unknown field "logging.formatt"`},
		{`{maxPods: true}`, "maxPods"},
		{`{maxPods: 5.5}`, "maxPods"},
		{`{maxPods: ""}`, "maxPods"},
		{`{maxPods: 3000000000}`, "maxPods"},
		{`{podsPerCore: 3000000000}`, "podsPerCore"},
		{`{systemReserved: 5}`, "systemReserved"},
		{`{kubeReserved: {cpu: 1}}`, "kubeReserved"},
		{`{evictionHard: [memory.available]}`, "evictionHard"},
		{`{syncFrequency: soon}`, "soon"},
		{`{kind: Pod}`, "is not KubeletConfiguration"},
		{`{apiVersion: v1}`, "is not kubelet.config.k8s.io/v1beta1"},
		{`{maxPods: vcpus * 10, maxPodz: 5}`, `unknown field "maxPodz"`},
	}
	for _, test := range tests {
		t.Run(test.kubelet, func(t *testing.T) {
			for _, family := range []string{"AL2023", "Custom"} {
				complaint(t, classWith(t, family, test.kubelet), "InvalidKubeletConfiguration", "spec.kubelet", test.says)
			}
		})
	}
}

func TestNC14KubeletFieldWrittenTwice(t *testing.T) {
	class := parse[awsv1.EC2NodeClass](t, "spec: {amiFamily: AL2023}")
	class.Spec.Kubelet = &awsv1.KubeletConfiguration{Raw: []byte(`{"maxPods":5,"maxPods":6}`)}
	complaint(t, Class(class), "InvalidKubeletConfiguration", "spec.kubelet", `duplicate field "maxPods"`)
}

func TestNC15KubeletFieldsOfFamilies(t *testing.T) {
	all := []string{"AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025"}
	limited := []string{"AL2", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025"}
	twelve := `{clusterDNS: [10.0.0.10], maxPods: 5, systemReserved: {cpu: 1m}, kubeReserved: {cpu: 1m}, evictionHard: {memory.available: 5%},
		evictionSoft: {memory.available: 10%}, evictionSoftGracePeriod: {memory.available: 1m}, evictionMaxPodGracePeriod: 60,
		imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 70, cpuCFSQuota: false, kind: KubeletConfiguration}`
	tests := []struct {
		kubelet string
		refused []string
		field   string
	}{
		{twelve, nil, ""},
		{`{registryPullQPS: 10}`, limited, "spec.kubelet.registryPullQPS"},
		{`{registryPullQPS: null}`, nil, ""},
		{`{evictionMinimumReclaim: {memory.available: 1Mi}}`, limited, "spec.kubelet.evictionMinimumReclaim"},
		{`{podsPerCore: 8}`, []string{"Bottlerocket"}, "spec.kubelet.podsPerCore"},
		{`{podsPerCore: 0}`, nil, ""},
		{`{clusterDNS: [10.0.0.10, "fd00::a"]}`, limited, "spec.kubelet.clusterDNS"},
	}
	for _, test := range tests {
		for _, family := range all {
			t.Run(family+test.kubelet, func(t *testing.T) {
				got := classWith(t, family, test.kubelet)
				for _, refused := range test.refused {
					if refused == family {
						complaint(t, got, "UnsupportedKubeletConfiguration", test.field, "")
						return
					}
				}
				if got.Invalid != nil {
					t.Errorf("problems = %+v, want none", got.Invalid)
				}
			})
		}
	}
}

func TestNC16KubeletValuesThatMeanNothing(t *testing.T) {
	tests := []struct{ kubelet, field, says string }{
		{`{registerWithTaints: [{key: a, effect: NoSchedule}]}`, "spec.kubelet.registerWithTaints", "NodePool"},
		{`{maxPods: -1}`, `spec.kubelet.maxPods: "-1"`, "below zero"},
		{`{podsPerCore: -1}`, `spec.kubelet.podsPerCore: "-1"`, "below zero"},
		{`{evictionMaxPodGracePeriod: -1}`, "spec.kubelet.evictionMaxPodGracePeriod", "below zero"},
		{`{evictionHard: {memory.free: 1Mi}}`, "spec.kubelet.evictionHard[memory.free]", "memory.available"},
		{`{evictionHard: {memory.available: 101%}}`, "spec.kubelet.evictionHard[memory.available]", "100%"},
		{`{evictionHard: {memory.available: -1%}}`, "spec.kubelet.evictionHard[memory.available]", "100%"},
		{`{evictionHard: {memory.available: NaN%}}`, "spec.kubelet.evictionHard[memory.available]", "100%"},
		{`{evictionHard: {memory.available: "-1"}}`, "spec.kubelet.evictionHard[memory.available]", "quantity"},
		{`{evictionMinimumReclaim: {nodefs.available: lots}}`, "spec.kubelet.evictionMinimumReclaim[nodefs.available]", "quantity"},
		{`{evictionSoft: {memory.available: 5%}}`, "spec.kubelet.evictionSoft[memory.available]", "evictionSoftGracePeriod"},
		{`{evictionSoftGracePeriod: {memory.available: 5m}}`, "spec.kubelet.evictionSoftGracePeriod[memory.available]", "evictionSoft"},
		{`{evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: "5"}}`, "spec.kubelet.evictionSoftGracePeriod", "1m30s"},
		{`{evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: -5s}}`, "spec.kubelet.evictionSoftGracePeriod", "from 0"},
		{`{kubeReserved: {gpu: "1"}}`, "spec.kubelet.kubeReserved[gpu]", "only cpu"},
		{`{systemReserved: {cpu: "-1"}}`, `spec.kubelet.systemReserved[cpu]: "-1"`, "below zero"},
		{`{systemReserved: {cpu: "- vcpus"}}`, "spec.kubelet.systemReserved[cpu]", "below zero"},
		{`{systemReserved: {memory: " "}}`, "spec.kubelet.systemReserved[memory]", "quantity"},
		{`{systemReserved: {memory: 100E}}`, "spec.kubelet.systemReserved[memory]", "64 bits"},
		{`{imageGCHighThresholdPercent: 101}`, "spec.kubelet.imageGCHighThresholdPercent", "100"},
		{`{imageGCLowThresholdPercent: -1}`, "spec.kubelet.imageGCLowThresholdPercent", "100"},
		{`{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60}`, "spec.kubelet.imageGCHighThresholdPercent", "60"},
		{`{imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}`, "spec.kubelet.imageGCHighThresholdPercent", "50"},
		{`{clusterDNS: [dns.local]}`, "spec.kubelet.clusterDNS[0]", "IP address"},
	}
	for _, test := range tests {
		t.Run(test.kubelet, func(t *testing.T) {
			complaint(t, classWith(t, "AL2023", test.kubelet), "InvalidKubeletConfiguration", test.field, test.says)
		})
	}
}

func TestNC18WhatIsNoQuantityIsAnExpression(t *testing.T) {
	got := classWith(t, "Bottlerocket", `{maxPods: "max_pods - 2", kubeReserved: {cpu: vcpus * 10, memory: 1Gi}, systemReserved: {pid: "1e3", memory: "max(100, 200)"}}`)
	if got.Invalid != nil {
		t.Fatalf("problems = %+v, want none", got.Invalid)
	}
	k := got.Kubelet
	if k.MaxPodsExpr != "max_pods - 2" || k.MaxPods != 0 {
		t.Errorf("maxPods = %d, %q", k.MaxPods, k.MaxPodsExpr)
	}
	if !maps.Equal(k.KubeReserved, model.Resources{"memory": 1 << 30}) || !maps.Equal(k.KubeReservedExpr, map[string]string{"cpu": "vcpus * 10"}) {
		t.Errorf("kubeReserved = %v, %v", k.KubeReserved, k.KubeReservedExpr)
	}
	if !maps.Equal(k.SystemReserved, model.Resources{"pid": 1000}) || !maps.Equal(k.SystemReservedExpr, map[string]string{"memory": "max(100, 200)"}) {
		t.Errorf("systemReserved = %v, %v", k.SystemReserved, k.SystemReservedExpr)
	}
}

func TestSeveralProblemsAreSaidInOneOrder(t *testing.T) {
	const kubelet = `{maxPods: -1, podsPerCore: -1, evictionHard: {b: 1, a: 1}, imageGCHighThresholdPercent: 101, imageGCLowThresholdPercent: 102, registryPullQPS: 1}`
	first := fmt.Sprint(classWith(t, "AL2", strings.ReplaceAll(kubelet, ": 1,", `: "1",`)).Invalid)
	for range 20 {
		if again := fmt.Sprint(classWith(t, "AL2", strings.ReplaceAll(kubelet, ": 1,", `: "1",`)).Invalid); again != first {
			t.Fatalf("the same configuration gives\n%s\nand\n%s", first, again)
		}
	}
}
