package problem

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// pods emits the waiting pods of the family.
func (g *generator) pods() {
	n := g.spec.Pods
	switch g.spec.Family {
	case "bench", "benchfake":
		g.mix(n)
	case "diverse", "existing", "existingfull":
		g.diverse(n)
	case "homogeneous":
		g.homogeneous(n)
	case "spread", "existingspread":
		g.spreadOut(n)
	case "gpu":
		g.accelerated(n)
	case "prefs":
		g.preferring(n)
	case "backlog":
		g.backlog(n)
	}
}

// shares splits n into parts of equal size, the last taking what is over.
func shares(n, parts int) []int {
	out := make([]int, parts)
	for i := range out {
		out[i] = n / parts
	}
	out[parts-1] += n % parts
	return out
}

// coarse returns one of the few sizes of the peer's benchmark.
func (g *generator) coarse() (cpuMilli, memoryBytes int64) {
	return pick(g, []int64{100, 250, 500, 1000, 1500}), pick(g, []int64{100, 256, 512, 1024, 2048, 4096}) * mib
}

// letter returns a label with one of seven values.
func (g *generator) letter(key string) map[string]string {
	return map[string]string{key: pick(g, []string{"a", "b", "c", "d", "e", "f", "g"})}
}

// mix emits five kinds in equal parts. A spread pod's own label and the one it selects are drawn apart, so that most
// count others and not themselves.
func (g *generator) mix(n int) {
	emit := func(name string, count int, shape func(*workload)) {
		for range count {
			w := workload{name: name, labels: g.letter("my-label")}
			w.cpuMilli, w.memoryBytes = g.coarse()
			if shape != nil {
				shape(&w)
			}
			g.emit(g.pod(w))
		}
	}
	part := shares(n, 5)
	emit("plain", part[4], nil) // the plain ones take what is over
	emit("zones", part[1], func(w *workload) {
		w.spread = []corev1.TopologySpreadConstraint{hardSpread(model.LabelZone, 1, g.letter("my-label"))}
	})
	emit("hosts", part[2], func(w *workload) {
		w.spread = []corev1.TopologySpreadConstraint{hardSpread(model.LabelHostname, 1, g.letter("my-label"))}
	})
	emit("near", part[3], func(w *workload) {
		w.labels = g.letter("my-affinity")
		w.affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{like(w.labels, model.LabelZone)}}}
	})
	emit("alone", part[0], func(w *workload) {
		w.labels = map[string]string{"app": "alone"}
		w.affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{like(w.labels, model.LabelHostname)}}}
	})
}

func hardSpread(key string, skew int32, labels map[string]string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
}

func like(labels map[string]string, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: key}
}

// diverse emits pods that are all different.
func (g *generator) diverse(n int) {
	for i := range n {
		name := fmt.Sprintf("app%03d", i%500)
		w := workload{name: name, labels: map[string]string{"app": name}}
		w.cpuMilli, w.memoryBytes = g.size()
		w.nodeSelector = g.pickiness()
		g.emit(g.pod(w))
	}
}

// pickiness returns a node selector for three pods in ten.
func (g *generator) pickiness() map[string]string {
	if g.random.Float64() >= 0.3 {
		return nil
	}
	switch g.random.IntN(4) {
	case 0:
		return map[string]string{model.LabelZone: pick(g, Zones)}
	case 1:
		return map[string]string{model.LabelArch: pick(g, []string{"amd64", "arm64"})}
	case 2:
		if g.spec.OnDemand {
			return nil // the pool has no choice to offer
		}
		return map[string]string{model.LabelCapacityType: pick(g, []string{model.OnDemand, model.Spot})}
	}
	return map[string]string{model.LabelZone: pick(g, Zones), model.LabelArch: "amd64"}
}

func (g *generator) homogeneous(n int) {
	for d, count := range shares(n, 10) {
		w := workload{name: fmt.Sprintf("web%d", d)}
		w.labels = map[string]string{"app": w.name}
		w.cpuMilli, w.memoryBytes = g.size()
		for range count {
			g.emit(g.pod(w))
		}
	}
}

func (g *generator) spreadOut(n int) {
	for d, count := range shares(n, 20) {
		w := workload{name: fmt.Sprintf("wide%02d", d)}
		w.labels = map[string]string{"app": w.name}
		w.cpuMilli, w.memoryBytes = g.size()
		w.cpuMilli, w.memoryBytes = min(w.cpuMilli, 4000), min(w.memoryBytes, 16*gib)
		w.spread = []corev1.TopologySpreadConstraint{hardSpread(model.LabelZone, 1, w.labels), hardSpread(model.LabelHostname, int32(1+d%3), w.labels)}
		for range count {
			g.emit(g.pod(w))
		}
	}
}

// accelerated emits pods without a GPU, and pods of which some need a whole large machine's.
func (g *generator) accelerated(n int) {
	for range n {
		cpuMilli, memoryBytes := g.size()
		w := workload{name: "cores", labels: map[string]string{"app": "cores"}, cpuMilli: cpuMilli, memoryBytes: memoryBytes}
		if g.random.Float64() >= 0.6 {
			count := pick(g, []int64{1, 1, 1, 2, 4, 8})
			w = workload{name: fmt.Sprintf("gpus%d", count), labels: map[string]string{"app": "gpus"}, cpuMilli: 2000 * count, memoryBytes: 8 * count * gib, gpus: count}
		}
		g.emit(g.pod(w))
	}
}

// preferring emits pods that would rather be in the first zone, in no zone with their like, and on no host with their
// like: the second cannot be had beyond three pods.
func (g *generator) preferring(n int) {
	w := workload{name: "wish", labels: map[string]string{"app": "wish"}}
	w.cpuMilli, w.memoryBytes = g.coarse()
	w.affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: model.LabelZone, Operator: corev1.NodeSelectorOpIn, Values: Zones[:1]}}}}}},
		PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 10, PodAffinityTerm: like(w.labels, model.LabelZone)},
			{Weight: 1, PodAffinityTerm: like(w.labels, model.LabelHostname)},
		}},
	}
	for range n {
		g.emit(g.pod(w))
	}
}

// backlog emits workloads of five pods, each with rules of its own: by turns spread over zones, apart on hosts, both at once, and with
// preferences. It is what a cluster asks for that comes back after an outage.
func (g *generator) backlog(n int) {
	for i := 0; i < n; i += backlogReplicas {
		w := workload{name: fmt.Sprintf("own%05d", i/backlogReplicas)}
		w.labels = map[string]string{"app": w.name}
		w.cpuMilli, w.memoryBytes = g.coarse()
		apart := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{like(w.labels, model.LabelHostname)}}
		standalone := hardSpread(model.LabelZone, 1, w.labels)
		standalone.WhenUnsatisfiable = corev1.ScheduleAnyway
		switch (i / backlogReplicas) % 4 {
		case 0:
			w.spread = []corev1.TopologySpreadConstraint{hardSpread(model.LabelZone, 1, w.labels)}
		case 1:
			w.affinity = &corev1.Affinity{PodAntiAffinity: apart}
		case 2:
			w.spread = []corev1.TopologySpreadConstraint{hardSpread(model.LabelZone, 1, w.labels)}
			w.affinity = &corev1.Affinity{PodAntiAffinity: apart}
		case 3:
			w.spread = []corev1.TopologySpreadConstraint{standalone}
			w.affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 10, PodAffinityTerm: like(w.labels, model.LabelHostname)}}}}
		}
		for range min(backlogReplicas, n-i) {
			g.emit(g.pod(w))
		}
	}
}

// backlogReplicas is how many pods a workload of the backlog has.
const backlogReplicas = 5
