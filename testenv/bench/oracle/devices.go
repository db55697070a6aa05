package oracle

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// Devices compares what we say of pods that claim devices with what kube-scheduler's plugin for dynamic resource
// allocation says.
type Devices struct {
	Claims int    // to be compared, at least
	First  uint64 // seed
}

// DevicesReport is what came of it.
type DevicesReport struct {
	Claims   int // of pods that were compared
	Extended int // resources that pods request and that classes stand for, compared as claims are
	Pairs    int // of pod and node
	Accept   int // pairs that both accept
	Placed   int // pods that a plan put on a node, and that were bound there in a random order
	New      int // of those, on nodes that were made for them
	Order    int // clusters that were not bound in a random order, but in some other order of each node
	Findings []string
}

// Failed reports whether we and kube-scheduler differ anywhere.
func (r *DevicesReport) Failed() bool { return len(r.Findings) > 0 }

// Write says what was compared, and the first so many findings.
func (r *DevicesReport) Write(out io.Writer, show int) {
	fmt.Fprintf(out,
		"devices: %d claims, %d extended resources, %d pairs of pod and node, %d of them accepted by both; "+
			"of %d pods that plans placed, %d of them on new nodes, kube-scheduler bound all, "+
			"in %d clusters not in a random order; %d findings\n",
		r.Claims, r.Extended, r.Pairs, r.Accept, r.Placed, r.New, r.Order, len(r.Findings))
	for _, finding := range r.Findings[:min(len(r.Findings), show)] {
		fmt.Fprintln(out, finding)
	}
}

// Run compares clusters until there are enough claims.
func (d Devices) Run() (*DevicesReport, error) {
	out := &DevicesReport{}
	for seed := d.First; out.Claims < d.Claims; seed++ {
		w := drawDevices(seed)
		if err := w.compare(out); err != nil {
			return out, fmt.Errorf("seed %d: %w", seed, err)
		}
		if err := w.bind(out); err != nil {
			return out, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return out, nil
}

// compare looks at every pair of pod and node.
func (w *deviceWorld) compare(out *DevicesReport) error {
	c, err := scheduler.New(w.objects()...)
	if err != nil {
		return err
	}
	defer c.Close()
	in := w.input()
	fit := pack.NewFitChecker(in)
	for i := range in.Snapshot.Pods {
		pod := w.podNamed(in.Snapshot.Pods[i].Name)
		if pod.Spec.NodeName != "" {
			continue
		}
		out.Claims += len(pod.Spec.ResourceClaims)
		out.Extended += extendedOf(pod)
		theirs, err := c.Devices(pod)
		if err != nil {
			return err
		}
		for _, node := range w.nodes {
			no, err := theirs.On(node.Name)
			if err != nil {
				return err
			}
			codes := fit.Check(i, node.Name)
			out.Pairs++
			if no == "" && len(codes) == 0 {
				out.Accept++
			}
			if (no == "") != (len(codes) == 0) {
				out.Findings = append(out.Findings,
					fmt.Sprintf("seed %d: pod %s on node %s: we say %v, they say %q", w.seed, pod.Name,
						node.Name, codes, no))
			}
		}
	}
	return nil
}

// bind lets the scheduler bind the pods of a plan to where the plan puts them: in a random order, and where that fails
// node by node in any order. Which devices are left for a pod may depend on what others took before it.
func (w *deviceWorld) bind(out *DevicesReport) error {
	plan := pack.Plan(w.input())
	fresh := *w
	pods := make(map[string][]string) // by node
	for _, n := range plan.Nominations {
		for _, pod := range n.Pods {
			pods[n.Node] = append(pods[n.Node], pod.Name)
		}
	}
	for i := range plan.Claims {
		name := fmt.Sprintf("new-%d", i)
		fresh.addNode(name, plan.Claims[i].Offering.InstanceType)
		for _, pod := range plan.Claims[i].Pods {
			pods[name] = append(pods[name], pod.Name)
			out.New++
		}
	}
	var steps []deviceStep
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		for _, pod := range pods[node] {
			steps = append(steps, deviceStep{pod, node})
		}
	}
	out.Placed += len(steps)
	random := slices.Clone(steps)
	rand.New(rand.NewPCG(w.seed, 2)).Shuffle(len(random), func(i, j int) {
		random[i], random[j] = random[j], random[i]
	})
	no, err := fresh.bound(random)
	if err != nil || no == "" {
		return err
	}
	out.Order++
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		if no, err = fresh.boundAnyhow(node, pods[node]); err != nil {
			return err
		} else if no != "" {
			out.Findings = append(out.Findings, no)
		}
	}
	return nil
}

// deviceStep is a pod and the node that it is bound to.
type deviceStep struct{ pod, node string }

// bound binds pods one after the other. It returns why one cannot be bound; "" where all can.
func (w *deviceWorld) bound(steps []deviceStep) (string, error) {
	c, err := scheduler.New(w.objects()...)
	if err != nil {
		return "", err
	}
	defer c.Close()
	for _, s := range steps {
		theirs, err := c.Devices(w.podNamed(s.pod))
		if err != nil {
			return "", err
		}
		if no, err := theirs.On(s.node); err != nil || no != "" {
			return fmt.Sprintf("seed %d: pod %s on node %s, where the plan puts it: %s", w.seed, s.pod, s.node,
				no), err
		}
		if err := theirs.Take(s.node); err != nil {
			return "", err
		}
	}
	return "", nil
}

// boundAnyhow binds pods to a node in one order after the other, until one binds all. It returns why none does.
func (w *deviceWorld) boundAnyhow(node string, pods []string) (string, error) {
	var last string
	for order := range permutations(len(pods)) {
		var steps []deviceStep
		for _, i := range order {
			steps = append(steps, deviceStep{pods[i], node})
		}
		no, err := w.bound(steps)
		if err != nil || no == "" {
			return no, err
		}
		last = no
	}
	return last, nil
}

// permutations yields the numbers below n in every order.
func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		var from func(k int) bool
		from = func(k int) bool {
			if k == n {
				return yield(order)
			}
			for i := k; i < n; i++ {
				order[k], order[i] = order[i], order[k]
				if !from(k + 1) {
					return false
				}
				order[k], order[i] = order[i], order[k]
			}
			return true
		}
		from(0)
	}
}

// deviceWorld is a cluster with devices.
type deviceWorld struct {
	seed    uint64
	kinds   [][]*resourceapi.ResourceSlice // by instance type: what its nodes publish
	nodes   []*corev1.Node
	slices  []*resourceapi.ResourceSlice
	classes []*resourceapi.DeviceClass
	claims  []*resourceapi.ResourceClaim
	pods    []*corev1.Pod
}

func (w *deviceWorld) objects() []runtime.Object {
	var out []runtime.Object
	for _, o := range w.nodes {
		out = append(out, o)
	}
	for _, o := range w.slices {
		out = append(out, o)
	}
	for _, o := range w.classes {
		out = append(out, o)
	}
	for _, o := range w.claims {
		out = append(out, o)
	}
	for _, o := range w.pods {
		out = append(out, o)
	}
	return out
}

func (w *deviceWorld) podNamed(name string) *corev1.Pod {
	for _, pod := range w.pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// input is the cluster as we see it.
func (w *deviceWorld) input() pack.Input {
	b := translate.Builder{AbsentConditionIsPending: true}
	for _, object := range w.objects() {
		switch object.(type) {
		case *corev1.Pod, *corev1.Node:
			b.Add(object)
		default:
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				panic(err)
			}
			if known, err := b.AddUnstructured(&unstructured.Unstructured{Object: content}); err != nil || !known {
				panic(fmt.Sprintf("%T: known %v: %v", object, known, err))
			}
		}
	}
	snapshot := b.Snapshot("oracle", deviceNow)
	snapshot.Pools = []model.Pool{{Name: "pool", UID: "pool", Template: model.Template{ClassName: "default"}}}
	var types []model.InstanceType
	for i := range w.kinds {
		types = append(types, model.InstanceType{Name: kindName(i), Labels: map[string][]string{
			model.LabelInstanceType: {kindName(i)}, model.LabelZone: {"a"}, model.LabelCapacityType: {model.OnDemand},
			model.LabelArch: {"amd64"}, model.LabelOS: {"linux"}},
			Capacity: model.Resources{model.CPU: 64000, model.Memory: 256 << 30, model.Pods: 100},
			Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand,
				Price: model.MicroUSD(100_000 * (i + 1)), Available: true}}})
	}
	return pack.Input{Snapshot: snapshot, Catalogs: map[string][]model.InstanceType{"default": types},
		NowUnix: deviceNow}
}

// deviceNow is when all this is.
const deviceNow = 1_780_000_000

func kindName(i int) string { return fmt.Sprintf("g%d.large", i) }

// addNode adds a node of an instance type with what such a node publishes.
func (w *deviceWorld) addNode(name, kind string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
		CreationTimestamp: metav1.Unix(deviceNow-7200, 0),
		Labels: map[string]string{model.LabelInstanceType: kind, model.LabelHostname: name,
			model.LabelInitialized: "true"}}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: amount("64"),
		corev1.ResourceMemory: amount("256Gi"), corev1.ResourcePods: amount("100")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.nodes = append(w.nodes, node)
	for i := range w.kinds {
		if kindName(i) != kind {
			continue
		}
		for n, published := range w.kinds[i] {
			slice := published.DeepCopy()
			slice.Name, slice.Spec.NodeName = fmt.Sprintf("%s-%d", name, n), &node.Name
			slice.Spec.Pool.Name += name
			w.slices = append(w.slices, slice)
		}
	}
}
