package volume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// lost is the phase of a claim whose volume was deleted under it.
const lost = "Lost"

// claim is one claim of a pod with what is known of it.
type claim struct {
	name      claimName
	volume    *model.Volume // nil where the claim does not exist
	ephemeral bool          // made for the pod: it may not exist yet
	class     string        // of one made for the pod
}

// claimsOf returns the pod's claims, each once, sorted by name.
func (x *Index) claimsOf(pod *model.Pod, shape *model.PodShape) []claim {
	if Free(pod, shape) {
		return nil
	}
	claims := 0
	if pod != nil {
		claims = len(pod.Claims)
	}
	out := make([]claim, 0, max(claims, len(shape.Ephemeral)))
	for i := range shape.Ephemeral {
		e := &shape.Ephemeral[i]
		c := claim{name: claimName{shape.Namespace, e.Volume}, ephemeral: true, class: e.Class}
		if pod != nil {
			c.name = claimName{pod.Namespace, pod.Name + "-" + e.Volume}
			c.volume = x.find(c.name)
		}
		out = append(out, c)
	}
	made := len(out)
	if pod != nil {
		for _, name := range pod.Claims {
			c := claim{name: claimName{pod.Namespace, name}}
			if slices.ContainsFunc(out[:made], func(o claim) bool { return o.name == c.name }) {
				continue
			}
			c.volume = x.find(c.name)
			out = append(out, c)
		}
	}
	if len(out) > 1 {
		slices.SortFunc(out, func(a, b claim) int { return strings.Compare(a.name.name, b.name.name) })
		out = slices.CompactFunc(out, func(a, b claim) bool { return a.name == b.name })
	}
	return out
}

// bound reports whether the claim has a volume that exists.
func (c *claim) bound() bool {
	return c.volume != nil && c.volume.VolumeName != "" && !c.volume.Missing
}

// className returns the name of the claim's storage class; "" where it has none.
func (x *Index) className(c *claim) string {
	switch {
	case c.volume != nil:
		return c.volume.Class
	case c.class == "":
		return x.defaultClass
	default:
		return c.class
	}
}

// driver returns the CSI driver that serves the claim, bound or not; "" where none does or none is known.
func (x *Index) driver(c *claim) string {
	if c.bound() {
		return c.volume.Driver
	}
	if known := x.classes[x.className(c)]; known != nil {
		return known.driver
	}
	return ""
}

// problem returns why kube-scheduler would refuse a pod with the claim on every node; nil where it would not.
func (x *Index) problem(c *claim) *Problem {
	v := c.volume
	switch {
	case v == nil && !c.ephemeral:
		return c.complain("create the claim, or correct its name in the pod", "does not exist")
	case v == nil:
		return x.classProblem(c)
	case v.DeletedUnix != 0:
		return c.complain("wait until it is deleted and created again, or delete the pod", "is being deleted")
	case v.Phase == lost:
		return c.complain("delete the claim and restore its data into a new one", "has lost its volume %s", v.VolumeName)
	case v.VolumeName == "":
		return x.classProblem(c)
	case v.Missing:
		return c.complain("restore the volume, or delete the claim", "is bound to the volume %s, which does not exist", v.VolumeName)
	case v.Unbound:
		return c.complain("wait; if it lasts, see the events of the claim", "names the volume %s and is not bound to it yet", v.VolumeName)
	}
	return nil
}

// classProblem returns what keeps a claim without a volume from getting one where its pod goes.
func (x *Index) classProblem(c *claim) *Problem {
	name := x.className(c)
	known := x.classes[name]
	switch {
	case name == "":
		return c.complain("set storageClassName, or bind a volume to the claim", "has no volume and names no storage class")
	case known == nil:
		return c.complain("create the storage class, or name one that exists", "names the storage class %s, which does not exist", name)
	case known.static && !known.immediate:
		return c.complain("create a volume by hand that fits the claim, or use a class with a provisioner",
			"has no volume, and its storage class %s has no provisioner", name)
	case known.immediate:
		return c.complain("see the events of the claim, or use a class with volumeBindingMode WaitForFirstConsumer",
			"has no volume, and its storage class %s creates one without waiting for a pod", name)
	}
	return nil
}

func (c *claim) complain(remedy, format string, args ...any) *Problem {
	return &Problem{Claim: c.name.String(), Message: "claim " + c.name.String() + " " + fmt.Sprintf(format, args...), Remedy: remedy}
}
