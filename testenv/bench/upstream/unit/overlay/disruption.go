//go:build ignore

package disruption

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	corev1 "k8s.io/api/core/v1"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	seam "sigs.k8s.io/karpenter/pkg/joiner"
	"sigs.k8s.io/karpenter/pkg/metrics"
)

// disrupt asks Joiner which nodes are given back for a method's reason, and has Karpenter carry that out. A method that checks its commands
// once more after some time has Joiner asked once more then.
func (c *Controller) disrupt(ctx context.Context, m Method) (bool, error) {
	// What budgets allow is Karpenter's own count, which sets gauges that specs read. Joiner's plan is held against it.
	allowed, err := BuildDisruptionBudgetMapping(ctx, c.cluster, c.clock, c.kubeClient, c.cloudProvider, silent{}, m.Reason())
	if err != nil {
		return false, err
	}
	_, static := m.(*StaticDrift)
	_, several := m.(*MultiNodeConsolidation)
	world := seam.World{Client: c.kubeClient, Cluster: c.cluster, Provider: c.cloudProvider, Clock: c.clock, Recorder: c.recorder}
	wanted := seam.Wanted{Reason: string(m.Reason()), Static: static, Several: several, Allowed: allowed}
	commands, eligible := seam.Disrupt(ctx, world, wanted)
	EligibleNodes.Set(float64(eligible), map[string]string{metrics.ReasonLabel: strings.ToLower(string(m.Reason()))})
	if len(commands) > 0 && validates(m) {
		select {
		case <-ctx.Done():
			return false, errors.New("interrupted")
		case <-c.clock.After(commandValidationDelay):
		}
		again, _ := seam.Disrupt(ctx, world, wanted)
		commands = seam.Still(commands, again)
	}
	_, types, err := BuildNodePoolMap(ctx, c.kubeClient, c.cloudProvider)
	if err != nil {
		return false, err
	}
	done := false
	for _, d := range commands {
		cmd := Command{Method: m, CreationTimestamp: c.clock.Now(), ID: uuid.New(), Results: d.Results, Replacements: replacementsFromNodeClaims(d.Replacements...)}
		for i, n := range d.Nodes {
			candidate := &Candidate{StateNode: n, NodePool: d.Pools[i], zone: n.Labels()[corev1.LabelTopologyZone], capacityType: n.Labels()[v1.CapacityTypeLabelKey]}
			candidate.instanceType = types[d.Pools[i].Name][n.Labels()[corev1.LabelInstanceTypeStable]]
			candidate.Price = resolveNodePrice(n, candidate.instanceType)
			cmd.Candidates = append(cmd.Candidates, candidate)
		}
		if err := c.queue.StartCommand(ctx, &cmd); err != nil {
			return false, err
		}
		done = true
	}
	return done, nil
}

// validates reports whether a method checks its commands once more. Most specs give theirs a validator that does nothing.
func validates(m Method) bool {
	var by Validator
	switch m := m.(type) {
	case *Emptiness:
		by = m.validator
	case *MultiNodeConsolidation:
		by = m.validator
	case *SingleNodeConsolidation:
		by = m.validator
	}
	switch by.(type) {
	case *EmptinessValidator, *ConsolidationValidator:
		return true
	}
	return false
}

// silent publishes nothing.
type silent struct{}

func (silent) Publish(...events.Event) {}
