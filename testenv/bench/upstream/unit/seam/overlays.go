package seam

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Overlays is what Joiner makes of the NodeOverlays of a cluster.
type Overlays struct {
	Conflicts []string         // names of overlays that are not applied, for they conflict with others
	Invalid   map[string]error // overlays that are not applied for what they say, by name
	Changes   []Change
}

// Change is what overlays change of an instance type for a NodePool.
type Change struct {
	NodePool, Type string
	Prices         map[string]string // dollars an hour, by the requirements of an offering, as text
	Capacity       corev1.ResourceList
}

// What `joiner lint` and `joiner types` write with --output json, as far as it is used.
type (
	linted struct {
		Findings []struct {
			Object  string `json:"object"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"findings"`
	}
	listed struct {
		Name      string              `json:"name"`
		Capacity  corev1.ResourceList `json:"capacity"`
		Offerings []struct {
			Zone         string `json:"zone"`
			CapacityType string `json:"capacityType"`
			Price        int64  `json:"priceMicroUSDPerHour"`
		} `json:"offerings"`
	}
)

// EvaluateOverlays asks `joiner lint` which NodeOverlays are applied, and `joiner types` what each NodePool can buy.
func EvaluateOverlays(ctx context.Context, w World, overlays []v1alpha1.NodeOverlay) Overlays {
	g := gather(ctx, w)
	g.widen()
	for i := range overlays {
		g.add(&overlays[i], nil, w.Clock)
	}
	out := Overlays{Invalid: map[string]error{}}
	var found linted
	must(json.Unmarshal(g.run(ctx, []string{"lint", "--output", "json"}, 1), &found))
	for _, f := range found.Findings {
		name, ok := strings.CutPrefix(f.Object, "NodeOverlay ")
		switch {
		case !ok || f.Reason == "":
		case f.Reason == "Conflict":
			out.Conflicts = append(out.Conflicts, name)
		default:
			out.Invalid[name] = invalid(f.Message)
		}
	}
	for pool, types := range g.types {
		var list []listed
		text := g.run(ctx, []string{"types", "--nodepool", pool, "--output", "json"}, 1)
		if len(text) == 0 {
			continue // it can buy nothing
		}
		must(json.Unmarshal(text, &list))
		for i := range list {
			l := &list[i]
			at := slices.IndexFunc(types, func(t *cloudprovider.InstanceType) bool { return t.Name == l.Name })
			if at >= 0 {
				out.Changes = append(out.Changes, changes(pool, types[at], l))
			}
		}
	}
	return out
}

// widen takes their requirements off the NodePools: `joiner types` lists what a NodePool can buy, and specs look at all
// that is sold to it.
func (g *gathered) widen() {
	every := func(string) bool { return true }
	g.editPools(every, func(spec map[string]any) { delete(spec, "requirements") })
}

// invalid is the message of an overlay.
type invalid string

func (i invalid) Error() string { return string(i) }

// changes are what of a type is not as the provider sells it.
func changes(pool string, sold *cloudprovider.InstanceType, l *listed) Change {
	c := Change{NodePool: pool, Type: sold.Name, Prices: map[string]string{}, Capacity: corev1.ResourceList{}}
	for _, o := range sold.Offerings {
		for _, seen := range l.Offerings {
			same := seen.Zone == o.Zone() && seen.CapacityType == o.CapacityType()
			if same && seen.Price != int64(math.Round(o.Price*1e6)) {
				c.Prices[o.Requirements.String()] = strconv.FormatFloat(float64(seen.Price)/1e6, 'f', -1, 64)
			}
		}
	}
	for name, amount := range l.Capacity {
		if was, there := sold.Capacity[name]; !there && amount.IsZero() {
			continue
		} else if !there || amount.Cmp(was) != 0 {
			c.Capacity[name] = amount
		}
	}
	return c
}
