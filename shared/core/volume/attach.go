package volume

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Attachment is a volume a pod makes its node attach. Pods that use the same volume have equal attachments, which count
// once on a node.
type Attachment struct {
	Driver string
	Handle string // of the volume, whether or not it was made yet
}

// Attachments returns the CSI volumes that the pod makes its node attach, sorted, none twice; nil where there are none.
// What no CSI driver serves, and claims of which no driver is known, do not count.
func (x *Index) Attachments(pod *model.Pod, shape *model.PodShape) []Attachment {
	claims := x.claimsOf(pod, shape)
	if len(claims) == 0 {
		return nil
	}
	var out []Attachment
	for i := range claims {
		c := &claims[i]
		if c.volume == nil && !c.ephemeral {
			continue
		}
		if driver := x.driver(c); driver != "" {
			// A volume has one claim and a claim one volume: the claim's name tells it from the others before it exists
			// too.
			out = append(out, Attachment{Driver: driver, Handle: c.name.String()})
		}
	}
	slices.SortFunc(out, func(a, b Attachment) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Handle, b.Handle))
	})
	return out
}

// Limits returns how many volumes of each driver the node can attach; a driver that is absent is not limited. Nil where
// nothing is known of the node. The map is shared.
func (x *Index) Limits(node string) map[string]int64 { return x.limits[node] }

// ReadWriteOncePodClaims returns the claims of the pod, as namespace/name and sorted, that only one pod at a time may
// use, wherever it runs; nil where there are none. Claims made for the pod are not among them, because nobody else uses
// those.
func (x *Index) ReadWriteOncePodClaims(pod *model.Pod, shape *model.PodShape) []string {
	if pod == nil || len(pod.Claims) == 0 {
		return nil
	}
	var out []string
	for _, c := range x.claimsOf(pod, shape) {
		if !c.ephemeral && c.volume != nil && c.volume.OncePod {
			out = append(out, c.name.String())
		}
	}
	return out
}

// UnboundClaims returns the claims of the pod, as namespace/name and sorted, whose volume is yet to be made, in the
// zone of the first pod that uses it: all pods that share such a claim must run in one zone. Claims made for the pod
// are not among them; nor are those of drivers whose volumes are not known to keep to a zone.
func (x *Index) UnboundClaims(pod *model.Pod, shape *model.PodShape) []string {
	if pod == nil || len(pod.Claims) == 0 {
		return nil
	}
	var out []string
	for _, c := range x.claimsOf(pod, shape) {
		if !c.ephemeral && c.volume != nil && c.volume.VolumeName == "" && x.driver(&c) == ebsDriver {
			out = append(out, c.name.String())
		}
	}
	return out
}
