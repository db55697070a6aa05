package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// C1, M49: two hundred spot instances are warned in the same moment. Every node is tainted within 20 s of it and 99 of
// 100 within 5 s, and instances of a cluster nobody attached, warned among them, are left alone (B7).
func TestC1TwoHundredWarningsAtOnceTaintTheirNodes(t *testing.T) {
	took := warnAtOnce(t, Options{}, 200, 20)
	timed.Within(t, "99 of 100 nodes are tainted", took[len(took)*99/100-1], 5*time.Second)
	timed.Within(t, "the last node is tainted", took[len(took)-1], 20*time.Second)
}

// A2: in an account with ten executions of functions at once each queue gets two batches, and all of thirty instances, more than such an
// account's quotas of EC2 allow, are heard of. A batch that Lambda has no room for comes again after 40 s.
func TestA2WarningsAreHeardInAnAccountWithTenExecutions(t *testing.T) {
	warnAtOnce(t, Options{Concurrency: 10}, 30, 5)
}

// warnedAhead is how long before their end instances are warned here: longer than EC2 does it, so that a computer that
// is busy with other things taints all nodes before. How soon they are tainted is measured.
const warnedAhead = 10 * time.Minute

// warnAtOnce returns how long after the warnings each node of a cluster was tainted, sorted.
func warnAtOnce(t *testing.T, o Options, instances, strangers int) []time.Duration {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	deliveries := &counter{}
	s, err := Start(t.Context(), Options{
		Watchers: -1, ResyncEvery: time.Hour, OnNotices: deliveries.delivered, Concurrency: o.Concurrency,
		EC2: ec2.Timing{Shutdown: ec2.Delay{Min: time.Second, Max: time.Second}, Gone: time.Hour, Warning: warnedAhead},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	config := rest.CopyConfig(s.Kube.Config())
	config.QPS, config.Burst = 500, 500
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := s.RunForeign(t.Context(), s.Cluster.Name, instances)
	if err != nil {
		t.Fatal(err)
	}
	others, err := s.RunForeign(t.Context(), "nobody", strangers)
	if err != nil {
		t.Fatal(err)
	}
	s.settle(t, client, ids)
	tainted := watchTaints(t, client)

	began := time.Now()
	for _, id := range append(slices.Clone(ids), others...) {
		if !s.EC2.Interrupt(id) {
			t.Fatalf("%s was not interrupted", id)
		}
	}
	var took []time.Duration
	for len(took) < instances && time.Since(began) < warnedAhead-10*time.Second {
		time.Sleep(50 * time.Millisecond)
		took = tainted.since(began)
	}
	if len(took) < instances {
		var said []string
		for _, line := range s.Runtime.Logs(s.FunctionName("Interruption")) {
			said = append(said, fmt.Sprint(line))
		}
		t.Fatalf("%d of %d nodes are tainted; %d deliveries\n%s", len(took), instances, deliveries.count(), strings.Join(said[max(0, len(said)-30):], "\n"))
	}
	t.Logf("tainted: median %v, of 99 in 100 %v, last %v; %d deliveries", took[instances/2], took[instances*99/100-1], took[instances-1], deliveries.count())
	for _, id := range others {
		if i, _ := s.EC2.Lookup(id); i.State != ec2.Running && i.State != ec2.Pending {
			t.Errorf("machine %s, which is nobody's, is %s before it was to end", id, i.State)
		}
	}
	return took
}

// settle records instances as claims whose nodes are there and ready.
func (s *Stack) settle(t *testing.T, client kubernetes.Interface, ids []string) {
	t.Helper()
	var fence model.Fence
	var now int64
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) { // the first tick's look has it
		now = time.Now().Unix()
		var err error
		if fence, err = s.Ledger.AcquireLease(t.Context(), s.Cluster.Name, model.LeaseCollector, "test", now, now+60); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	errs := make(chan error, len(ids))
	work := make(chan string)
	for range 8 {
		go func() {
			for id := range work {
				errs <- s.settleOne(t.Context(), client, fence, id, now)
			}
		}()
	}
	for _, id := range ids {
		work <- id
	}
	close(work)
	for range ids {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Ledger.Release(t.Context(), fence); err != nil {
		t.Fatal(err)
	}
}

func (s *Stack) settleOne(ctx context.Context, client kubernetes.Interface, fence model.Fence, id string, now int64) error {
	instance, _ := s.EC2.Lookup(id)
	provider := "aws:///" + instance.Zone + "/" + id
	name := "node-" + id
	node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{model.LabelNodePool: "default"}},
		Spec:       corev1.NodeSpec{ProviderID: provider},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return s.Ledger.Adopt(ctx, fence, model.Claim{
		Name: "claim-" + id, Pool: "default", Class: "default", State: model.Initialized, Intent: "01TEST", InstanceID: id, ProviderID: provider,
		InstanceType: instance.Type, Zone: instance.Zone, ZoneID: instance.ZoneID, CapacityType: model.Spot, NodeName: name, NodeUID: string(node.UID),
		CreatedUnix: now, LaunchedUnix: now, RegisteredUnix: now, InitializedUnix: now,
	})
}

// counter counts what was delivered.
type counter struct {
	mutex sync.Mutex
	n     int
}

func (c *counter) delivered(eventsource.Delivery) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.n++
}

func (c *counter) count() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.n
}

// taints is when nodes were first seen with the taint of a drain.
type taints struct {
	mutex sync.Mutex
	at    map[string]time.Time
}

// watchTaints notes nodes that are tainted from now on.
func watchTaints(t *testing.T, client kubernetes.Interface) *taints {
	t.Helper()
	watch, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	w := &taints{at: map[string]time.Time{}}
	go func() {
		for event := range watch.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok {
				continue
			}
			is := func(taint corev1.Taint) bool { return taint.Key == "karpenter.sh/disrupted" }
			w.mutex.Lock()
			if _, seen := w.at[node.Name]; !seen && slices.ContainsFunc(node.Spec.Taints, is) {
				w.at[node.Name] = time.Now()
			}
			w.mutex.Unlock()
		}
	}()
	return w
}

// since returns how long after a time each node was tainted, sorted.
func (w *taints) since(began time.Time) []time.Duration {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var took []time.Duration
	for _, at := range w.at {
		took = append(took, at.Sub(began))
	}
	slices.Sort(took)
	return took
}
