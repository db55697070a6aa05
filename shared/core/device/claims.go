package device

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// Wants reports whether devices are to be allocated for the pod.
func (c *Claims) Wants() bool { return len(c.wanted) > 0 }

// Classes returns the DeviceClasses that the claims name, sorted.
func (c *Claims) Classes() []string {
	var out []string
	for _, w := range c.wanted {
		for i := range w.claim.Spec.Devices.Requests {
			r := &w.claim.Spec.Devices.Requests[i]
			if r.Exactly != nil {
				out = append(out, r.Exactly.DeviceClassName)
			}
			for j := range r.FirstAvailable {
				out = append(out, r.FirstAvailable[j].DeviceClassName)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ClaimsOf returns what the pod claims; a problem where its claims let it run nowhere.
func (x *Index) ClaimsOf(pod *model.Pod, shape *model.PodShape) (*Claims, *Problem) {
	x.prepare()
	if x.blind {
		return nil, &Problem{fieldOf(shape.DeviceClaims) + ": no object of resource.k8s.io/v1 is known",
			"use Kubernetes 1.34 or newer, upgrade the chart so that its objects can be read, and install the driver"}
	}
	out := &Claims{Field: fieldOf(shape.DeviceClaims)}
	var text strings.Builder
	made, extended := x.madeFor(pod) != nil, false // one claim is made for all extended resources, and counted once
	for i := range shape.DeviceClaims {
		c := &shape.DeviceClaims[i]
		if c.Spec != "" && made {
			if extended {
				continue
			}
			extended = true
		}
		if problem := x.claim(out, &text, pod, c); problem != nil {
			return nil, problem
		}
	}
	out.Text = text.String()
	if known := x.made[out.Text]; known != nil {
		return known, nil
	}
	for _, class := range out.Classes() {
		if _, err := x.classes.Get(class); err != nil {
			return nil, &Problem{fmt.Sprintf("%s: %v", out.Field, err),
				"install the driver's DeviceClass, or name another"}
		}
	}
	out.number = len(x.made) + 1
	x.made[out.Text] = out
	return out, nil
}

// fieldOf names the field of the pod that the claims are in.
func fieldOf(list []model.PodClaim) string {
	if slices.ContainsFunc(list, func(c model.PodClaim) bool { return c.Spec == "" }) || len(list) == 0 {
		return "spec.resourceClaims"
	}
	return "spec.containers[].resources.requests[" + list[0].Name + "]"
}

// claim adds one of the pod's claims.
func (x *Index) claim(out *Claims, text *strings.Builder, pod *model.Pod, c *model.PodClaim) *Problem {
	var source *model.ResourceClaim
	spec, key := "", ""
	switch {
	case c.Claim != "":
		key = pod.Namespace + "/" + c.Claim
		if source = x.claims[key]; source == nil {
			return at(c, "create the ResourceClaim", "ResourceClaim %s does not exist", key)
		}
		if source.PodUID != "" && source.PodUID != pod.UID {
			return at(c, "name a ResourceClaim of its own", "ResourceClaim %s was made for another pod", key)
		}
	case c.Template != "":
		if source = x.ofPods[podClaim{pod.UID, c.Name}]; source == nil || pod.UID == "" {
			t := x.templates[pod.Namespace+"/"+c.Template]
			if t == nil {
				return at(c, "create the ResourceClaimTemplate", "ResourceClaimTemplate %s/%s does not exist",
					pod.Namespace, c.Template)
			}
			source, spec = nil, t.Spec
		}
	case c.Spec != "":
		if source = x.madeFor(pod); source == nil {
			spec = c.Spec
		}
	default:
		return nil // a later Kubernetes may know more
	}
	if source != nil {
		if problem := x.usable(pod, source); problem != nil {
			return problem
		}
		if !x.free(source) && !x.lost(pod, source) {
			if len(source.Affinity) > 0 {
				out.Pins = append(out.Pins, source.Affinity)
				fmt.Fprintf(text, "at %v\x00", source.Affinity)
			}
			return nil
		}
		spec = source.Spec
	}
	read, err := x.spec(spec)
	if err != nil {
		return at(c, "correct the claim", "the claim cannot be read: %v", err)
	}
	out.wanted = append(out.wanted, wanted{key, &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: c.Name}, Spec: *read}})
	if key != "" {
		out.Shared = append(out.Shared, key)
	}
	fmt.Fprintf(text, "%s=%s\x00", key, spec)
	return nil
}

// madeFor returns the claim that kube-scheduler made for the pod's extended resources, all in one; nil where there is
// none.
func (x *Index) madeFor(pod *model.Pod) *model.ResourceClaim {
	if pod.UID == "" {
		return nil
	}
	return x.ofPods[podClaim{pod.UID, ""}]
}

// at says what is wrong with an entry of spec.resourceClaims.
func at(c *model.PodClaim, remedy, format string, args ...any) *Problem {
	return &Problem{fmt.Sprintf("spec.resourceClaims[%s]: %s", c.Name, fmt.Sprintf(format, args...)), remedy}
}

// usable returns why the pod may not use the claim.
func (x *Index) usable(pod *model.Pod, c *model.ResourceClaim) *Problem {
	name := c.Namespace + "/" + c.Name
	switch {
	case c.DeletedUnix != 0:
		return &Problem{"ResourceClaim " + name + " is being deleted", "wait until it is gone, and create it again"}
	case len(c.ReservedFor) >= resourceapi.ResourceClaimReservedForMaxSize && !slices.Contains(c.ReservedFor, pod.UID):
		return &Problem{fmt.Sprintf("ResourceClaim %s is used by %d pods, and no more may use it", name,
			len(c.ReservedFor)), "use another ResourceClaim"}
	}
	return nil
}

// lost reports whether what is allocated for the claim is on a node that is gone, and for the pod alone: kube-scheduler
// allocates it anew then.
func (x *Index) lost(pod *model.Pod, c *model.ResourceClaim) bool {
	alone := len(c.ReservedFor) == 0 || len(c.ReservedFor) == 1 && c.ReservedFor[0] == pod.UID
	if c.Others || pod.NodeName != "" || !alone || len(c.Affinity) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.Affinity, func(t model.NodeTerm) bool {
		return names(t) == nil || slices.ContainsFunc(names(t), func(name string) bool { return x.nodes[name] != nil })
	})
}
