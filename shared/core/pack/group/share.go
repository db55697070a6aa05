package group

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// findShared counts the waiting pods of each claim whose volume is yet to be made.
func (c *Classifier) findShared(pending []int) {
	for _, i := range pending {
		pod := &c.Snapshot.Pods[i]
		if len(pod.Claims) == 0 || c.of(pod).no != nil {
			continue
		}
		for _, claim := range c.Volumes.UnboundClaims(pod, c.Snapshot.ShapeOf(pod)) {
			if c.shared == nil {
				c.shared = make(map[string]int)
			}
			c.shared[claim]++
		}
	}
}

// sharedBy returns the pod's claims that other waiting pods use too and whose volume is yet to be made.
func (c *Classifier) sharedBy(pod *model.Pod, shape *model.PodShape) []string {
	if len(c.shared) == 0 {
		return nil
	}
	return slices.DeleteFunc(c.Volumes.UnboundClaims(pod, shape), func(claim string) bool { return c.shared[claim] < 2 })
}

// share keeps the pod group in one zone with all pods that use one of the claims: where the first of them goes, the
// volume is made.
func (c *PodGroup) share(rules *PodRules, claims []string) {
	if len(claims) == 0 {
		return
	}
	c.Constraints, c.Contributions = slices.Clone(c.Constraints), slices.Clone(c.Contributions)
	for _, claim := range claims {
		t := rules.topologyGroup(rules.set("claim\x00"+claim, PodSet{}), model.LabelZone, -1)
		c.Constraints = append(c.Constraints, Constraint{Kind: Affinity, TopologyGroup: t, Self: 1, Claim: true, field: "spec.volumes", text: "the pods that share the claim " + claim})
		c.Contributions = append(c.Contributions, Contribution{TopologyGroup: t, Weight: 1})
	}
	if !slices.Contains(c.Keys, model.LabelZone) {
		c.Keys = append(slices.Clone(c.Keys), model.LabelZone)
		slices.Sort(c.Keys)
	}
}
