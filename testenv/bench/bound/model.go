package bound

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// relaxed is what is kept of a problem.
type relaxed struct {
	names     []string  // of the dimensions: resources, then slots
	units     []float64 // amounts are divided by, to be about 1
	offerings []offering
	kinds     []kind
	lost      int // pods that no offering can hold
}

// offering is a way of buying a node that no other is at least as good as.
type offering struct {
	price    float64
	capacity []float64 // by dimension; of a slot, how many pods it has
	admits   []bool    // by selection
}

// kind is pods that nothing of what is kept tells apart.
type kind struct {
	request   []float64 // by dimension
	selection int
	count     float64
}

// fits reports whether one pod of the kind may be on a node of the offering.
func (k *kind) fits(o *offering) bool {
	if !o.admits[k.selection] {
		return false
	}
	for d, amount := range k.request {
		if amount > o.capacity[d]*(1+1e-12) {
			return false
		}
	}
	return true
}

// relax reads a problem.
func relax(p *problem.Problem, emptyHost, everyZone bool) *relaxed {
	r := &relaxed{}
	slots := slotsOf(p, emptyHost)
	names := map[string]bool{}
	for _, pod := range p.Pods {
		for name := range check.Requests(pod) {
			names[name] = true
		}
	}
	r.names = slices.Sorted(maps.Keys(names))
	for _, name := range r.names {
		unit := map[string]float64{model.CPU: 1000, model.Memory: 1 << 30, model.Pods: 10}[name]
		r.units = append(r.units, max(1, unit))
	}
	resources := len(r.names)
	for _, s := range slots {
		r.names, r.units = append(r.names, s.name), append(r.units, 1)
	}
	ways := check.Ways(p)
	var zones map[*corev1.Pod]string
	if everyZone {
		zones = zonesOf(p, ways)
	}
	selections, samples := selectionsOf(p, zones)
	r.readOfferings(ways, samples, resources, slots)
	r.readPods(p, selections, resources, slots)
	return r
}

// readPods groups the pods into kinds, and leaves out those that no offering can hold.
func (r *relaxed) readPods(p *problem.Problem, selections map[*corev1.Pod]int, resources int, slots []slot) {
	index := map[string]int{}
	for i, pod := range p.Pods {
		request := make([]float64, len(r.names))
		for name, amount := range check.Requests(pod) {
			d := slices.Index(r.names[:resources], name)
			request[d] = float64(amount) / r.units[d]
		}
		for s := range slots {
			if slots[s].pods[i] {
				request[resources+s] = 1
			}
		}
		k := kind{request: request, selection: selections[pod], count: 1}
		key := fmt.Sprint(k.request, k.selection)
		if known, seen := index[key]; seen {
			if known >= 0 {
				r.kinds[known].count++
			} else {
				r.lost++
			}
			continue
		}
		if !slices.ContainsFunc(r.offerings, func(o offering) bool { return k.fits(&o) }) {
			index[key] = -1
			r.lost++
			continue
		}
		index[key] = len(r.kinds)
		r.kinds = append(r.kinds, k)
	}
}

// sample is a pod of those that select nodes alike.
type sample struct {
	pod  *corev1.Pod
	zone string // it may be taken to be in; "" = any
}

// selectionsOf numbers the different ways pods select nodes, and returns a sample of each.
func selectionsOf(p *problem.Problem, zones map[*corev1.Pod]string) (map[*corev1.Pod]int, []sample) {
	numbers := map[string]int{}
	byPod := map[*corev1.Pod]int{}
	var samples []sample
	for _, pod := range p.Pods {
		key := fmt.Sprint(zones[pod], pod.Spec.NodeSelector, pod.Spec.Tolerations)
		if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			key += a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.String()
		}
		number, seen := numbers[key]
		if !seen {
			number = len(samples)
			numbers[key] = number
			samples = append(samples, sample{pod, zones[pod]})
		}
		byPod[pod] = number
	}
	return byPod, samples
}

// readOfferings lists what each pool can buy, without offers that another is at least as good as in every way.
func (r *relaxed) readOfferings(ways []check.Way, samples []sample, resources int, slots []slot) {
	slices.SortStableFunc(ways, func(a, b check.Way) int {
		switch {
		case a.Price < b.Price:
			return -1
		case a.Price > b.Price:
			return 1
		}
		return strings.Compare(a.Type, b.Type)
	})
	for _, way := range ways {
		o := offering{price: way.Price.USD()}
		for d, name := range r.names[:resources] {
			o.capacity = append(o.capacity, max(0, float64(way.Room[name]))/r.units[d])
		}
		for _, s := range slots {
			o.capacity = append(o.capacity, s.perNode)
		}
		for _, sample := range samples {
			o.admits = append(o.admits, (sample.zone == "" || sample.zone == way.Zone) && way.Admits(sample.pod))
		}
		if !slices.ContainsFunc(r.offerings, func(other offering) bool { return other.covers(&o) }) {
			r.offerings = append(r.offerings, o)
		}
	}
}

// covers reports whether whoever bought b may as well buy o, which is no more expensive.
func (o *offering) covers(b *offering) bool {
	for d := range o.capacity {
		if o.capacity[d] < b.capacity[d] {
			return false
		}
	}
	for s := range o.admits {
		if b.admits[s] && !o.admits[s] {
			return false
		}
	}
	return true
}

// What names of slots start with.
const (
	aloneSlot  = "alone|"
	spreadSlot = "spread|"
)

// slot is a rule that a node has no more than so many of a set of pods.
type slot struct {
	name    string
	perNode float64
	pods    []bool // by index into Problem.Pods
	size    int    // of pods
}

// slotsOf returns the rules about hosts that hold on every node of every plan.
func slotsOf(p *problem.Problem, emptyHost bool) []slot {
	found := map[string]*slot{}
	matching := map[string]int{} // waiting and bound pods the rule's selector matches, of spread rules
	enter := func(i int, name string, perNode float64, selector *metav1.LabelSelector) bool {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		pod := p.Pods[i]
		if err != nil || !parsed.Matches(labels.Set(pod.Labels)) {
			return false
		}
		s := found[name]
		if s == nil {
			s = &slot{name: name, perNode: perNode, pods: make([]bool, len(p.Pods))}
			found[name] = s
			for _, other := range slices.Concat(p.Pods, p.Bound) {
				if other.Namespace == pod.Namespace && parsed.Matches(labels.Set(other.Labels)) {
					matching[name]++
				}
			}
		}
		if !s.pods[i] {
			s.pods[i] = true
			s.size++
		}
		return true
	}
	nodes := 0 // that every plan has at least
	for i, pod := range p.Pods {
		if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			for _, term := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				name := fmt.Sprint(aloneSlot, pod.Namespace, "|", metav1.FormatLabelSelector(term.LabelSelector))
				if term.TopologyKey == model.LabelHostname && enter(i, name, 1, term.LabelSelector) {
					nodes = max(nodes, found[name].size)
				}
			}
		}
		for _, s := range pod.Spec.TopologySpreadConstraints {
			if s.TopologyKey == model.LabelHostname && s.WhenUnsatisfiable == corev1.DoNotSchedule && len(pod.Spec.NodeSelector) == 0 && pod.Spec.Affinity == nil {
				enter(i, fmt.Sprint(spreadSlot, pod.Namespace, "|", s.MaxSkew, "|", metav1.FormatLabelSelector(s.LabelSelector)), float64(s.MaxSkew), s.LabelSelector)
			}
		}
	}
	var out []slot
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if strings.HasPrefix(name, aloneSlot) || emptyHost || nodes > matching[name] {
			out = append(out, *found[name])
		}
	}
	return out
}

// least returns the lowest of f over the offerings the kind may be on.
func (r *relaxed) least(k *kind, f func(o int) float64) float64 {
	best := math.Inf(1)
	for o := range r.offerings {
		if k.fits(&r.offerings[o]) {
			best = min(best, f(o))
		}
	}
	return best
}
