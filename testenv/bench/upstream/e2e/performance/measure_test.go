package performance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func reported(t *testing.T, dir, name, kind string, pods, begin, end int) {
	t.Helper()
	text := fmt.Sprintf(`{"test_type": %q, "total_pods": %d, "total_time": %d, "timestamp": %q, "karpenter_p95_memory_mb": 100, "karpenter_avg_cpu_cores": 0.5}`,
		kind, pods, int64(end-begin)*1e9, second(end).Format("2006-01-02T15:04:05Z07:00"))
	if err := os.WriteFile(filepath.Join(dir, name+reportSuffix), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPhasesAreMeasuredAlike(t *testing.T) {
	dir, w := t.TempDir(), newRecordedTimeline()
	reported(t, dir, "b_first", "scale-out", 2, 0, 10)
	reported(t, dir, "a_second", "drift", 2, 20, 40)
	reported(t, dir, "c_third", "consolidation", 1, 50, 60)
	w.at(2).nodeIs("old", "m5.large", false)
	w.at(3).podIs("a", corev1.PodRunning, false)
	w.at(6).podIs("b", corev1.PodRunning, false)
	w.at(22).nodeIs("new", "m5.xlarge", false)
	w.at(30).nodeIs("old", "m5.large", true)
	w.at(33).nodeIs("more", "m5-large", false)
	all := []Disruption{{"default/a", second(15)}, {"default/b", second(25)}, {"default/c", second(45)}, {"default/d", second(61)}}
	memory := &samples{}
	memory.add(second(5), 48<<20)
	memory.add(second(30), 50<<20)
	phases, err := Measure(dir, w.Timeline, all, memory, map[string]float64{"m5-large": 0.1, "m5-xlarge": 0.2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Phase{
		{Name: "b_first", Kind: "scale-out", Suite: 10, Seconds: 6, Pods: 2, Disrupted: 1, Launched: 1, Nodes: 1, Price: 0.1, Memory: 100, Watcher: 48, CPU: 0.5},
		{Name: "a_second", Kind: "drift", Suite: 20, Seconds: 10, Pods: 2, Disrupted: 2, Launched: 2, Ended: 1, Nodes: 2, Price: 0.2 + 0.1, Memory: 100, Watcher: 50, CPU: 0.5},
		{Name: "c_third", Kind: "consolidation", Suite: 10, Pods: 2, Kept: 2, Nodes: 2, Price: 0.2 + 0.1, Memory: 100, CPU: 0.5},
	} {
		phases[i].Price = float64(int(phases[i].Price*1e6+0.5)) / 1e6
		want.Price = float64(int(want.Price*1e6+0.5)) / 1e6
		if phases[i] != want {
			t.Errorf("%+v\nwant %+v", phases[i], want)
		}
	}
	if _, err := Measure(dir, w.Timeline, all, memory, map[string]float64{"m5-large": 0.1}); err == nil || !strings.Contains(err.Error(), `"m5.xlarge" has no price`) {
		t.Errorf("without a price: %v", err)
	}
	reported(t, dir, "d_fourth", "scale-out", 9, 60, 70)
	if _, err := Measure(dir, w.Timeline, all, memory, map[string]float64{"m5-large": 0.1, "m5-xlarge": 0.2}); err == nil || !strings.Contains(err.Error(), "saw 9 pods run") {
		t.Errorf("of pods that never ran: %v", err)
	}
}

func TestPricesAreThoseOnDemand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "types.json")
	if err := os.WriteFile(path, []byte(`[{"name": "m5-large", "offerings": [
		{"Price": 0.04, "Requirements": [{"key": "karpenter.sh/capacity-type", "values": ["spot"]}]},
		{"Price": 0.096, "Requirements": [{"key": "karpenter.sh/capacity-type", "values": ["on-demand"]}, {"key": "topology.kubernetes.io/zone", "values": ["a"]}]}]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	prices, err := readPrices(path)
	if err != nil || len(prices) != 1 || prices["m5-large"] != 0.096 {
		t.Errorf("%v %v", prices, err)
	}
}
