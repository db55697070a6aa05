package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kwok "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
)

// provider sells a fixed catalog and launches nothing.
type provider struct{ types []*cloudprovider.InstanceType }

var errNothingIsLaunched = errors.New("nothing is launched here")

func (p *provider) Create(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return nil, errNothingIsLaunched
}
func (p *provider) Delete(context.Context, *karpv1.NodeClaim) error { return errNothingIsLaunched }
func (p *provider) Get(context.Context, string) (*karpv1.NodeClaim, error) {
	return nil, cloudprovider.NewNodeClaimNotFoundError(errNothingIsLaunched)
}
func (p *provider) List(context.Context) ([]*karpv1.NodeClaim, error) { return nil, nil }
func (p *provider) GetInstanceTypes(context.Context, *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types, nil
}
func (p *provider) IsDrifted(context.Context, *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}
func (p *provider) RepairPolicies() []cloudprovider.RepairPolicy { return nil }
func (p *provider) Name() string                                 { return "fixed" }
func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&kwok.KWOKNodeClass{}}
}

// settings are those of a default install.
func settings() context.Context {
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(context.Background(), &options.Options{
		BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second, CPURequests: 1000,
		PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict, IgnoreDRARequests: true,
		FeatureGates: options.FeatureGates{ReservedCapacity: true},
	})
	return log.IntoContext(injection.WithControllerName(ctx, "provisioner"), logging.NopLogger)
}

// loaded is a cluster as Karpenter's controllers hold it.
type loaded struct {
	kube        *cached
	cloud       *provider
	known       *state.Cluster
	provisioner *provisioning.Provisioner
}

// load reads the cluster into Karpenter's own state.
func load(ctx context.Context, c *cluster, types []*cloudprovider.InstanceType) (*loaded, error) {
	kube, err := newCached(c.objects())
	if err != nil {
		return nil, err
	}
	cloud := &provider{types}
	now := clock.RealClock{}
	known := state.NewCluster(now, kube, cloud)
	for i := range c.nodes {
		known.UpdateNodeClaim(c.claims[i])
		if err := known.UpdateNode(ctx, c.nodes[i]); err != nil {
			return nil, fmt.Errorf("node %s: %w", c.nodes[i].Name, err)
		}
	}
	for _, pod := range c.bound {
		if err := known.UpdatePod(ctx, pod); err != nil {
			return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	known.SetSynced(true)
	provisioner := provisioning.NewProvisioner(kube, events.NewRecorder(&record.FakeRecorder{}), cloud, known, now, deviceallocation.NewController(kube), &virtualpods.Cache{})
	return &loaded{kube, cloud, known, provisioner}, nil
}

// solve makes the provisioner's decision and measures it. A solve cut short by the timeout is no error: what it left is in
// the answer.
func solve(c *cluster, types []*cloudprovider.InstanceType, timeout time.Duration) (*answer, error) {
	ctx := settings()
	e, err := load(ctx, c, types)
	if err != nil {
		return nil, err
	}
	var before, after runtime.MemStats
	runtime.GC()
	debug.FreeOSMemory()
	resetPeak()
	runtime.ReadMemStats(&before)
	start := time.Now()
	results, err := decide(ctx, e.provisioner, e.known, c.waiting, timeout)
	seconds := time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	peak := peakBytes()
	if err != nil {
		return nil, err
	}
	a := answerOf(results, c.waiting)
	a.Stats = stats{Pods: len(c.waiting), PlanSeconds: seconds, AllocBytes: after.TotalAlloc - before.TotalAlloc, AllocCount: after.Mallocs - before.Mallocs, PeakBytes: peak}
	return a, nil
}

// decide does what the provisioner does for a batch, but for the limit on the time it may take.
func decide(ctx context.Context, p *provisioning.Provisioner, known *state.Cluster, waiting []*corev1.Pod, timeout time.Duration) (scheduling.Results, error) {
	nodes := known.DeepCopyNodes()
	pods := append([]*corev1.Pod{}, waiting...)
	scheduler, err := p.NewScheduler(ctx, pods, nodes.Active(), nil,
		scheduling.DisableReservedCapacityFallback, scheduling.NumConcurrentReconciles(1), scheduling.MinValuesPolicy(options.MinValuesPolicyStrict))
	if err != nil {
		return scheduling.Results{}, fmt.Errorf("build the scheduler: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	results, err := scheduler.Solve(limited, pods)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return scheduling.Results{}, fmt.Errorf("solve: %w", err)
	}
	return results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), nil
}
