package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// findShared counts the waiting pods of each claim whose volume is yet to be made.
func (c *classifier) findShared(pending []int) {
	for _, i := range pending {
		pod := &c.snapshot.Pods[i]
		if len(pod.Claims) == 0 || c.of(pod).no != nil {
			continue
		}
		for _, claim := range c.volumes.UnboundClaims(pod, c.snapshot.ShapeOf(pod)) {
			if c.shared == nil {
				c.shared = make(map[string]int)
			}
			c.shared[claim]++
		}
	}
}

// sharedBy returns the pod's claims that other waiting pods use too and whose volume is yet to be made.
func (c *classifier) sharedBy(pod *model.Pod, shape *model.PodShape) []string {
	if len(c.shared) == 0 {
		return nil
	}
	return slices.DeleteFunc(c.volumes.UnboundClaims(pod, shape), func(claim string) bool { return c.shared[claim] < 2 })
}

// share keeps the pod group in one zone with all pods that use one of the claims: where the first of them goes, the volume is
// made.
func (c *podGroup) share(rules *podRules, claims []string) {
	if len(claims) == 0 {
		return
	}
	c.constraints, c.contributions = slices.Clone(c.constraints), slices.Clone(c.contributions)
	for _, claim := range claims {
		t := rules.topologyGroup(rules.set("claim\x00"+claim, podSet{}), model.LabelZone, -1)
		c.constraints = append(c.constraints, constraint{kind: affinity, topologyGroup: t, self: 1, claim: true, field: "spec.volumes", text: "the pods that share the claim " + claim})
		c.contributions = append(c.contributions, contribution{topologyGroup: t, weight: 1})
	}
	if !slices.Contains(c.keys, model.LabelZone) {
		c.keys = append(slices.Clone(c.keys), model.LabelZone)
		slices.Sort(c.keys)
	}
}
