package world

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Evict asks for a pod to be evicted, as the Eviction API does: it is deleted with its grace (or graceSeconds, where that
// is not nil) unless a PodDisruptionBudget forbids it (Throttled, as the API's 429) or two of them name it (Internal, as its
// 500). NotFound where the pod is gone, Conflict where the one of that name is another.
func (c *Cluster) Evict(_ context.Context, pod model.PodRef, graceSeconds *int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("evict"); err != nil {
		return err
	}
	stored := c.pods.get(pod.Key())
	if err := evaluated(KindPod, pod.Key(), pod.UID, stored == nil, func() string { return stored.UID }); err != nil {
		return err
	}
	if stored.DeletedUnix != 0 {
		return nil
	}
	if !stored.Terminal() && stored.NodeName != "" {
		var budgets []*model.PDB
		for _, key := range c.budgets.keys {
			if b := c.budgets.get(key); b.Namespace == stored.Namespace && matches(b.Selector, c.shapes[stored.Shape].Labels) {
				budgets = append(budgets, b)
			}
		}
		if len(budgets) > 1 {
			return fault.New(fault.Internal, severalBudgets, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		}
		if len(budgets) == 1 && !c.lets(budgets[0], stored) {
			return fault.New(fault.Throttled, "DisruptionBudget", "Cannot evict pod as it would violate the pod's disruption budget %s.", budgets[0].Name)
		}
	}
	c.deletePod("evict", *stored, graceSeconds)
	return nil
}

// severalBudgets is the code of an eviction that is refused because several budgets name the pod.
const severalBudgets = "TooManyBudgets"

// RemovePod deletes a pod with its grace, or graceSeconds where that is not nil, with errors as of Remove.
func (c *Cluster) RemovePod(_ context.Context, pod model.PodRef, graceSeconds *int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("delete pod"); err != nil {
		return err
	}
	stored := c.pods.get(pod.Key())
	if err := evaluated(KindPod, pod.Key(), pod.UID, stored == nil, func() string { return stored.UID }); err != nil {
		return err
	}
	c.deletePod("delete", *stored, graceSeconds)
	return nil
}

// deletePod marks a pod for deletion; its kubelet ends it. One that is bound to nothing, has ended, or gets no grace, is gone
// at once.
func (c *Cluster) deletePod(verb string, pod model.Pod, graceSeconds *int64) {
	grace := c.graceOf(&pod)
	if graceSeconds != nil {
		grace = *graceSeconds
	}
	until := c.now().Unix() + grace
	if pod.DeletedUnix != 0 && pod.DeletedUnix <= until {
		return
	}
	pod.DeletedUnix = until
	c.putPod(verb, pod)
	if pod.NodeName == "" || pod.Terminal() || grace == 0 {
		c.dropPod(pod.Key())
	}
}

// lets reports whether a budget lets a pod be evicted now. One that is not ready counts for nothing: it may go where the
// others are enough, or always where the budget says so. Source: Kubernetes, unhealthyPodEvictionPolicy.
func (c *Cluster) lets(b *model.PDB, pod *model.Pod) bool {
	allowed := c.allowed(b)
	return allowed > 0 || !pod.Ready && (b.AlwaysEvictUnready || allowed == 0 && c.healthy(b) > 0)
}

// healthy counts a budget's pods that are ready and not going.
func (c *Cluster) healthy(b *model.PDB) int {
	n := 0
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.Namespace == b.Namespace && pod.Ready && !pod.Terminal() && pod.DeletedUnix == 0 && matches(b.Selector, c.shapes[pod.Shape].Labels) {
			n++
		}
	}
	return n
}

// allowed returns how many disruptions a budget allows now, counting the pods there are as those that should be.
func (c *Cluster) allowed(b *model.PDB) int {
	expected, healthy := 0, 0
	for _, key := range c.pods.keys {
		pod := c.pods.get(key)
		if pod.Namespace != b.Namespace || pod.Terminal() || !matches(b.Selector, c.shapes[pod.Shape].Labels) {
			continue
		}
		expected++
		if pod.Ready && pod.DeletedUnix == 0 {
			healthy++
		}
	}
	switch {
	case b.MinAvailable != "":
		return healthy - amount(b.MinAvailable, expected)
	case b.MaxUnavailable != "":
		return healthy - (expected - amount(b.MaxUnavailable, expected))
	}
	return healthy - 1 // neither is set: as minAvailable 1
}

// amount is a number, or a percentage of a whole rounded up.
func amount(text string, whole int) int {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		n, _ := strconv.Atoi(percent)
		return int(math.Ceil(float64(n) * float64(whole) / 100))
	}
	n, _ := strconv.Atoi(text)
	return n
}
