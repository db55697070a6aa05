package kubeletv1beta1

import (
	"reflect"
	"strings"
	"testing"

	kubelet "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"
)

// texts are configurations of each kind of field, right and wrong.
var texts = []string{
	`{}`, `null`, `{"maxPods": 10}`, `{"maxPods": "10"}`, `{"maxPods": 1e2}`, `{"maxPods": 1.5}`, `{"MaxPods": 3}`, `{"maxpod": 3}`, `{"maxPods": 1, "maxPods": 2}`,
	`{"clusterDNS": ["10.0.0.10"]}`, `{"clusterDNS": "10.0.0.10"}`, `{"syncFrequency": "1m"}`, `{"syncFrequency": 60}`, `{"syncFrequency": "soon"}`,
	`{"evictionHard": {"memory.available": "5%"}}`, `{"evictionHard": {"memory.available": 5}}`, `{"authentication": {"webhook": {"cacheTTL": "2m", "enabled": true}}}`,
	`{"authentication": {"webhook": {"cache": "2m"}}}`, `{"logging": {"flushFrequency": 5000000000, "verbosity": 3}}`, `{"logging": {"flushFrequency": "5s"}}`,
	`{"logging": {"flushFrequency": "x"}}`, `{"logging": {"flushFrequency": {}}}`, `{"logging": {"flushFrequency": null}}`, `{"logging": {"verbosity": -1}}`, `{"logging": {"options": {"json": {"infoBufferSize": "64Ki", "splitStream": true}}}}`,
	`{"logging": {"options": {"json": {"infoBufferSize": "much"}}}}`, `{"tracing": {"samplingRatePerMillion": 100}}`, `{"tracing": {"endpoint": 1}}`,
	`{"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]}`, `{"reservedMemory": [{"numaNode": "0"}]}`, `{"reservedMemory": [{"limits": {"memory": "x"}}]}`,
	`{"registerWithTaints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]}`, `{"registerWithTaints": [{"timeAdded": "yesterday"}]}`,
	`{"featureGates": {"A": true}}`, `{"featureGates": {"A": "true"}}`, `{"memoryThrottlingFactor": 0.9}`, `{"cpuCFSQuotaPeriod": "5ms"}`, `{"memorySwap": {"swapBehavior": "LimitedSwap"}}`,
	`{"crashLoopBackOff": {"maxContainerRestartPeriod": "10s"}}`, `{"userNamespaces": {"idsPerPod": 65536}}`, `{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}`,
	`{"shutdownGracePeriodByPodPriority": [{"priority": 1, "shutdownGracePeriodSeconds": 5}]}`, `{"imageGCHighThresholdPercent": 3000000000}`, `{"unheard": true}`, `[]`, `{`,
}

// same holds both to reading a text alike: what is refused, what is said to be odd, and the values a node class is validated by.
func same(t *testing.T, text string) {
	t.Helper()
	ours, theirs := KubeletConfiguration{}, kubelet.KubeletConfiguration{}
	odd, err := kjson.UnmarshalStrict([]byte(text), &ours)
	wantOdd, wantErr := kjson.UnmarshalStrict([]byte(text), &theirs)
	if (err == nil) != (wantErr == nil) || len(odd) != len(wantOdd) {
		t.Errorf("%s: %v %v, and the kubelet says %v %v", text, err, odd, wantErr, wantOdd)
	}
	for i := range odd {
		if i < len(wantOdd) && odd[i].Error() != wantOdd[i].Error() {
			t.Errorf("%s: %v, and the kubelet says %v", text, odd[i], wantOdd[i])
		}
	}
	if err != nil {
		return
	}
	if ours.MaxPods != theirs.MaxPods || ours.PodsPerCore != theirs.PodsPerCore || !reflect.DeepEqual(ours.KubeReserved, theirs.KubeReserved) ||
		!reflect.DeepEqual(ours.EvictionHard, theirs.EvictionHard) || !reflect.DeepEqual(ours.ClusterDNS, theirs.ClusterDNS) ||
		ours.Logging.FlushFrequency.Duration != theirs.Logging.FlushFrequency.Duration.Duration || !reflect.DeepEqual(ours.RegisterWithTaints, theirs.RegisterWithTaints) {
		t.Errorf("%s: %+v, and the kubelet reads %+v", text, ours, theirs)
	}
}

func TestConfigurationsAreReadAsTheKubeletReadsThem(t *testing.T) {
	for _, text := range texts {
		same(t, text)
	}
}

func FuzzConfigurationsAreReadAsTheKubeletReadsThem(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") > 1000 {
			return // only the stack
		}
		same(t, text)
	})
}
