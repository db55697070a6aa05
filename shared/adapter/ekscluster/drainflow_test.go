package ekscluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// book is a ledger, queues and a fleet in memory with one claim, for drains of a real API server.
type book struct {
	interruption.Claims // what a drain does not call panics
	interruption.Fleet

	mu         sync.Mutex
	claim      model.Claim
	terminated bool
	site       interruption.Clients
}

func (b *book) Clusters(context.Context) ([]model.Registration, error) { return nil, nil }

func (b *book) Cluster(context.Context, string) (model.Registration, error) {
	return model.Registration{Cluster: clusterName}, nil
}

func (b *book) AcquireLease(_ context.Context, cluster, lease, owner string, _, until int64) (model.Fence, error) {
	return model.Fence{Cluster: cluster, Lease: lease, Token: 1}, nil
}

func (b *book) Release(context.Context, model.Fence) error { return nil }

func (b *book) Records(context.Context, model.Registration) (model.ClusterRecords, error) {
	return model.ClusterRecords{}, nil
}

func (b *book) Ending(context.Context, model.Registration) (model.DrainInput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return model.DrainInput{Claims: []model.Claim{b.claim}, Notes: model.Notes{Replaced: []string{b.claim.Name}}, NowUnix: time.Now().Unix()}, nil
}

func (b *book) PutCollectorState(context.Context, model.Fence, model.CollectorState) (model.CollectorState, error) {
	return model.CollectorState{}, nil
}

func (b *book) Advance(_ context.Context, _ string, claim model.Claim) (model.Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if claim.Version != b.claim.Version {
		return claim, fault.New(fault.Conflict, "", "claim %s is at version %d", claim.Name, b.claim.Version)
	}
	claim.Version++
	b.claim = claim
	return claim, nil
}

func (b *book) PutRemoval(context.Context, model.Removal) error { return nil }
func (b *book) AddRemoval(context.Context, model.Removal) error { return nil }

func (b *book) CloseClaim(context.Context, model.Fence, model.Claim, int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claim.State = model.Gone
	return nil
}

func (b *book) Plan(context.Context, string, string) error                 { return nil }
func (b *book) Drain(context.Context, string, string, time.Duration) error { return nil }

func (b *book) Connect(context.Context, model.Registration) (interruption.Clients, error) {
	return b.site, nil
}

func (b *book) DescribeInstances(context.Context, []string) ([]model.Instance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := "running"
	if b.terminated {
		state = "terminated"
	}
	return []model.Instance{{ID: b.claim.InstanceID, State: state, Tags: map[string]string{
		"kubernetes.io/cluster/" + clusterName: "owned", model.LabelNodePool: "general", "joiner.sh/intent": "intent",
	}}}, nil
}

func (b *book) Terminate(_ context.Context, _ string, ids []string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.terminated = true
	return ids, nil
}

func (b *book) state() (model.Claim, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claim, b.terminated
}

// The whole end of a node on a real API server, with the permissions we ship: it is tainted at once, a budget that allows nothing
// holds the drain up and events say so, its pods leave by the Eviction API alone, the instance outlives its volumes, which
// detach slowly, and node and NodeClaim stay until it has ended.
func TestF109F110F116ANodeIsDrainedOnARealAPIServer(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("whole")
	began := time.Now().Add(-time.Millisecond)
	made, claim := createNode(t, name), launched(name)
	finalize(t, c, name, string(made.UID))
	claim.ObjectUID = put(t, connect(t), claim)
	data := unique("data")
	_, attachment := attach(t, name, data)
	pod := podOn(t, name, "db", func(p *corev1.Pod) {
		uses(data)(p)
		p.Spec.Tolerations = []corev1.Toleration{{Effect: corev1.TaintEffectNoExecute, Operator: corev1.TolerationOpExists}} // not that of a drain
	})
	held := budget(t, "holds", pod.Labels["app"], 1, 1)
	attacher, err := machine.StartAttacher(t.Context(), machine.AttacherOptions{Config: plane(t).Config(), Detach: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer attacher.Stop()

	claim.State, claim.InstanceID, claim.NodeName, claim.NodeUID = model.Draining, "i-"+name, name, string(made.UID)
	claim.FailureCode, claim.FailureMessage, claim.Version = model.EndedExpired, "it is too old", 1
	claim.Drain = &model.Drain{SinceUnix: time.Now().Unix()}
	b := &book{claim: claim}
	b.site = interruption.Clients{Cluster: c, Objects: c, Pods: c, Reporter: c, Fleet: b}
	flow := &interruption.Flow{
		Registry: b, Leases: b, Collector: b, Claims: b, Removals: b, Connector: b, Steps: b, RequestPlan: b.Plan, RequestDrain: b.Drain, Now: time.Now,
		Settings: interruption.Settings{ReportSeconds: 1},
	}
	drain := func(ctx context.Context) {
		out, err := flow.Drain(ctx, interruption.Request{Cluster: clusterName, Owner: "test", Deadline: time.Now().Add(30 * time.Second)})
		if err != nil || len(out.Problems) > 0 {
			t.Errorf("%+v, %v", out, err)
		}
	}
	until := func(what string, try func() error) {
		t.Helper()
		eventually(t, what, func() error { drain(t.Context()); return try() })
	}
	node := func() *corev1.Node {
		got, err := admin(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	// 1. Tainted, out of load balancers, deleted and held.
	drain(t.Context())
	if got := node(); got.Labels[model.LabelExcludeBalancers] != model.ExcludedForDrain || !slices.ContainsFunc(got.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == model.TaintDisrupted && t.Effect == corev1.TaintEffectNoSchedule
	}) || got.DeletionTimestamp == nil {
		t.Errorf("after the first run: %+v %+v", got.ObjectMeta, got.Spec)
	}

	// 2. The budget holds.
	until("the budget refuses", func() error {
		if now, _ := b.state(); len(now.Drain.Refused) != 1 || now.Drain.Refused[0].Code != CodeDisruptionBudget || now.Drain.Refused[0].Tries < 2 {
			return fmt.Errorf("%+v", now.Drain)
		}
		return nil
	})
	if readPod(t, pod.Name).DeletionTimestamp != nil || conditionOf(readClaim(t, c, name), apiv1.ConditionDrained).Reason != apiv1.ReasonDraining {
		t.Errorf("the pod or its claim: %+v", readClaim(t, c, name).Status.Conditions)
	}
	until("people are told", func() error {
		reported := ""
		events, err := admin(t).CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			reported += e.Reason + ": " + e.Message + "\n"
		}
		if !strings.Contains(reported, "FailedDraining") || !strings.Contains(reported, held) {
			return fmt.Errorf("they are told %q", reported)
		}
		return nil
	})

	// 3. It allows one: the pod leaves, and its kubelet, which is us, ends it.
	less := []byte(`{"spec":{"minAvailable":0}}`)
	if _, err := admin(t).PolicyV1().PodDisruptionBudgets("default").Patch(t.Context(), held, types.MergePatchType, less, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until("the pod leaves", func() error {
		if readPod(t, pod.Name).DeletionTimestamp == nil {
			return errors.New("it stays")
		}
		return nil
	})
	now := int64(0)
	if err := admin(t).CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}

	// 4. The instance outlives the volume, which is asked to detach and takes its time.
	until("the node is empty", func() error {
		if now, _ := b.state(); now.Drain.EmptyUnix == 0 || time.Now().Unix()-now.Drain.EmptyUnix < 7 {
			return fmt.Errorf("%+v", now.Drain)
		}
		return nil
	})
	if now, terminated := b.state(); terminated || now.State != model.Draining ||
		conditionOf(readClaim(t, c, name), apiv1.ConditionVolumesDetached).Reason != apiv1.ReasonAwaitingVolumeDetachment {
		t.Fatalf("terminated %v: %+v, %+v", terminated, now.Drain, readClaim(t, c, name).Status.Conditions)
	}
	if err := admin(t).StorageV1().VolumeAttachments().Delete(t.Context(), attachment, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	detaching := time.Now()
	until("the machine ends", func() error {
		if _, terminated := b.state(); !terminated {
			return errors.New("it runs")
		}
		return nil
	})
	if took := time.Since(detaching); took < 2900*time.Millisecond {
		t.Errorf("the machine ended %s after the volume was asked to detach", took)
	}

	// 5. And takes its objects with it.
	until("the claim is gone", func() error {
		if now, _ := b.state(); now.State != model.Gone {
			return fmt.Errorf("it is %s", now.State)
		}
		return nil
	})
	if _, err := admin(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node: %v", err)
	}
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the NodeClaim: %v", err)
	}
	audit, err := plane(t).Audit(began)
	if err != nil {
		t.Fatal(err)
	}
	ours := audit.By("joiner:interruption")
	if deleted := ours.PodDeletions(); len(deleted) != 0 {
		t.Errorf("pods were deleted past their budget: %v", deleted)
	}
	for _, e := range ours.Evictions() {
		if e.Name != pod.Name || e.UID() != pod.UID {
			t.Errorf("somebody else was asked to leave: %s", e.String())
		}
	}
}
