package existing

import (
	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/model"
)

// Devices reports whether the existing node's devices suffice for a unit of the pod group, beside those of the pods
// that are placed there.
func (p *Nodes) Devices(s *Node, c *group.PodGroup) bool {
	if len(c.Devices) == 0 {
		return true
	}
	for _, d := range p.devicesOf(s) {
		d = p.Classifier.Devices.Beside(d, s.claiming)
		for _, i := range s.Pods {
			pod := &p.In.Snapshot.Pods[i]
			shape := p.In.Snapshot.ShapeOf(pod)
			if len(shape.DeviceClaims) == 0 {
				continue
			}
			claims, problem := p.Classifier.Devices.ClaimsOf(pod, shape)
			if problem != nil {
				continue
			}
			if d = d.Take(claims); d == nil {
				return false
			}
		}
		if d.TakeAll(c.Devices) == nil {
			return false
		}
	}
	return true
}

// devicesOf returns the devices of an existing node before this plan: of a claim that may become any of several
// instances, those of each of them.
func (p *Nodes) devicesOf(s *Node) []*device.Devices {
	index := p.Classifier.Devices
	switch {
	case s.Number >= 0:
		return []*device.Devices{index.OfNode(s.Name)}
	case s.Market == nil:
		kind, _ := s.Label(model.LabelInstanceType)
		return []*device.Devices{index.OfClaim(s.Name, kind)}
	}
	var out []*device.Devices
	seen := make(map[int]bool)
	for c := s.mask.Next(0); c >= 0; c = s.mask.Next(c + 1) {
		if t := s.Market.Columns[c].Instance; !seen[t] {
			seen[t] = true
			out = append(out, index.OfClaim(s.Name, s.Market.Types[t].Name))
		}
	}
	return out
}
