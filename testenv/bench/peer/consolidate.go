package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
)

// converged is what came of a cluster of which everything was given back that Karpenter would: the form in which our own
// runner says it, too.
type converged struct {
	Decisions       int     `json:"decisions"` // looks that led to commands
	Commands        int     `json:"commands"`
	Removed         int     `json:"removed"` // nodes given back
	Added           int     `json:"added"`   // nodes that took their place
	PodsMoved       int     `json:"podsMoved"`
	MedianSeconds   float64 `json:"medianSeconds"` // of the looks that led to commands
	MaxSeconds      float64 `json:"maxSeconds"`    //
	CPUSeconds      float64 `json:"cpuSeconds"`    // the most processor time of any look
	LastSeconds     float64 `json:"lastSeconds"`   // of the check that found nothing; 0 where time was up before
	TotalSeconds    float64 `json:"totalSeconds"`
	TotalCPUSeconds float64 `json:"totalCPUSeconds"` // processor time of all looks
	AllocBytes      uint64  `json:"allocBytes"`      // the most of any look
	PeakBytes       uint64  `json:"peakBytes"`
	PriceFirst      float64 `json:"priceFirst"` // dollars per hour
	PriceLast       float64 `json:"priceLast"`
	NodesFirst      int     `json:"nodesFirst"`
	NodesLast       int     `json:"nodesLast"`
	Finished        bool    `json:"finished"` // there was time for the check that found nothing
}

// unhurried holds every command for good at once: the real validation waits 15 seconds and simulates once more.
type unhurried struct{}

func (unhurried) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// consolidate carries out one decision after the other until there is none, or the time is up. At least one is made.
func consolidate(c *cluster, types []*cloudprovider.InstanceType, limit time.Duration) (*converged, error) {
	out := &converged{PriceFirst: price(c.nodes, types), NodesFirst: len(c.nodes)}
	var checks []float64
	start := time.Now()
	for out.Finished = true; ; {
		l, err := check(c, types)
		if err != nil {
			return nil, err
		}
		out.TotalSeconds += l.seconds
		out.TotalCPUSeconds += l.cpuSeconds
		out.CPUSeconds = max(out.CPUSeconds, l.cpuSeconds)
		out.AllocBytes, out.PeakBytes = max(out.AllocBytes, l.allocBytes), max(out.PeakBytes, l.peakBytes)
		if l.command == nil {
			out.LastSeconds = l.seconds
			break
		}
		checks = append(checks, l.seconds)
		moved, err := c.carryOut(l.command)
		if err != nil {
			return nil, err
		}
		out.Decisions, out.Commands = out.Decisions+1, out.Commands+1
		out.Removed, out.Added, out.PodsMoved = out.Removed+len(l.command.Candidates), out.Added+len(l.command.Replacements), out.PodsMoved+moved
		if time.Since(start) > limit {
			out.Finished = false
			break
		}
	}
	if slices.Sort(checks); len(checks) > 0 {
		out.MedianSeconds, out.MaxSeconds = checks[len(checks)/2], checks[len(checks)-1]
	}
	out.PriceLast, out.NodesLast = price(c.nodes, types), len(c.nodes)
	return out, nil
}

// checked is one decision and what it took.
type checked struct {
	command    *disruption.Command // nil = there is nothing to do
	seconds    float64
	cpuSeconds float64
	allocBytes uint64
	peakBytes  uint64
}

// check asks what the disruption controller asks, one method after the other until one has a command: candidates and budgets
// of each included. Reading the cluster's state in is not measured.
func check(c *cluster, types []*cloudprovider.InstanceType) (checked, error) {
	ctx := injection.WithControllerName(settings(), "disruption")
	e, err := load(ctx, c, types)
	if err != nil {
		return checked{}, err
	}
	now, recorder := clock.RealClock{}, events.NewRecorder(&record.FakeRecorder{})
	queue := disruption.NewQueue(e.kube, recorder, e.known, now, e.provisioner)
	shared := disruption.MakeConsolidation(now, e.known, e.kube, e.provisioner, e.cloud, recorder, queue)
	methods := []disruption.Method{
		disruption.NewEmptiness(shared, disruption.WithValidator(unhurried{})),
		disruption.NewMultiNodeConsolidation(shared, disruption.WithValidator(unhurried{})),
		disruption.NewSingleNodeConsolidation(shared, disruption.WithValidator(unhurried{})),
	}
	var out checked
	var before, after runtime.MemStats
	runtime.GC()
	debug.FreeOSMemory()
	resetPeak()
	runtime.ReadMemStats(&before)
	start, used := time.Now(), cpuSeconds()
	for _, m := range methods {
		candidates, err := disruption.GetCandidates(ctx, e.known, e.kube, recorder, now, e.cloud, m.ShouldDisrupt, m.Class(), queue)
		if err != nil {
			return checked{}, fmt.Errorf("find candidates: %w", err)
		}
		if len(candidates) == 0 {
			continue
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, e.known, now, e.kube, e.cloud, recorder, m.Reason())
		if err != nil {
			return checked{}, fmt.Errorf("count budgets: %w", err)
		}
		commands, err := m.ComputeCommands(ctx, budgets, candidates...)
		if err != nil {
			return checked{}, fmt.Errorf("decide: %w", err)
		}
		if at := slices.IndexFunc(commands, func(c disruption.Command) bool { return c.Decision() != disruption.NoOpDecision }); at >= 0 {
			out.command = &commands[at]
			break
		}
	}
	out.seconds, out.cpuSeconds = time.Since(start).Seconds(), cpuSeconds()-used
	runtime.ReadMemStats(&after)
	out.allocBytes, out.peakBytes = after.TotalAlloc-before.TotalAlloc, peakBytes()
	return out, nil
}

// carryOut makes the cluster what the command makes of it, each pod where the decision thought it would be, and returns how
// many pods moved.
func (c *cluster) carryOut(command *disruption.Command) (moved int, err error) {
	gone := map[string]bool{}
	for _, candidate := range command.Candidates {
		gone[candidate.Name()] = true
	}
	target := map[string]string{} // by pod's UID
	for _, node := range command.Results.ExistingNodes {
		for _, pod := range node.Pods {
			target[string(pod.UID)] = node.Name()
		}
	}
	var made []*corev1.Node
	for _, replacement := range command.Replacements {
		c.launched++
		node, err := launched(replacement, fmt.Sprintf("replacement-%05d", c.launched))
		if err != nil {
			return 0, err
		}
		made = append(made, node)
		for _, pod := range replacement.Pods {
			target[string(pod.UID)] = node.Name
		}
	}
	var kept []*corev1.Pod
	for _, pod := range c.bound {
		switch {
		case !gone[pod.Spec.NodeName]:
			kept = append(kept, pod)
		case isDaemon(pod):
		case target[string(pod.UID)] == "":
			return 0, fmt.Errorf("pod %s/%s of %s has no place in the decision", pod.Namespace, pod.Name, pod.Spec.NodeName)
		default:
			moved++
			there := pod.DeepCopy()
			there.Spec.NodeName = target[string(pod.UID)]
			kept = append(kept, there)
		}
	}
	c.bound = kept
	var nodes []*corev1.Node
	var claims []*karpv1.NodeClaim
	for i, node := range c.nodes {
		if !gone[node.Name] {
			nodes, claims = append(nodes, node), append(claims, c.claims[i])
		}
	}
	for _, node := range made {
		nodes, claims = append(nodes, node), append(claims, claimOf(node))
		c.bound = append(c.bound, c.daemonsOf(node)...)
	}
	c.nodes, c.claims = nodes, claims
	return moved, nil
}
