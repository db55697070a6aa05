package seam

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// What `joiner plan provision --help` says that "instanceTypes" of a catalog has.
type (
	instanceType struct {
		Name      string            `json:"name"`
		Capacity  map[string]string `json:"capacity"`
		Overhead  map[string]string `json:"overhead,omitempty"`
		Labels    map[string]string `json:"labels,omitempty"`
		Offerings []offering        `json:"offers"`

		ResourceSlices []resourcev1.ResourceSliceSpec `json:"resourceSlices,omitempty"`
	}
	offering struct {
		Zone                string  `json:"zone"`
		CapacityType        string  `json:"capacityType"`
		PricePerHour        float64 `json:"pricePerHour"`
		Available           bool    `json:"available"`
		ReservationID       string  `json:"reservationId,omitempty"`
		ReservationCapacity int     `json:"reservationCapacity,omitempty"`
	}
)

// sell writes what the provider sells to the NodePools as one catalog. The command's catalog is the same for every pool: a pool that
// cannot buy all of it gets a requirement that says so, and where one name means two things the spec cannot be put as a question.
func (g *gathered) sell(ctx context.Context, w World) {
	all := map[string][]byte{}
	mine := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(g.pools)) {
		types, err := w.Provider.GetInstanceTypes(ctx, g.pools[name])
		if err != nil {
			continue // it can buy nothing
		}
		g.types[name] = types
		for _, t := range types {
			if len(t.Offerings) == 0 {
				continue // nor can anybody buy this
			}
			text, err := json.Marshal(typeOf(t))
			must(err)
			if there, twice := all[t.Name]; twice && !bytes.Equal(there, text) {
				ginkgo.Skip("not runnable: instance type " + t.Name + " is one thing to a NodePool and another to the next; a catalogue of `joiner plan` is for all")
			}
			all[t.Name] = text
			mine[name] = append(mine[name], t.Name)
		}
	}
	out := bytes.NewBufferString(`{"instanceTypes":[`)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(all[name])
	}
	out.WriteString(`]}`)
	g.catalog = json.RawMessage(toOurs.Replace(out.String()))
	for name := range g.pools {
		if len(slices.Compact(slices.Sorted(slices.Values(mine[name])))) < len(all) {
			g.restrict(name, append(mine[name], "joiner-sells-nothing-of-this-name"))
		}
	}
	if len(all) == 0 { // a catalog has something in it
		g.catalog = json.RawMessage(`{"instanceTypes":[{"name":"none","capacity":{"cpu":"1","memory":"1Gi","pods":"1"},"offers":[{"zone":"none","capacityType":"on-demand","pricePerHour":1,"available":false}]}]}`)
	}
}

// restrict has a NodePool buy only the types named.
func (g *gathered) restrict(pool string, types []string) {
	g.editPools(func(name string) bool { return name == pool }, func(spec map[string]any) {
		requirements, _ := spec["requirements"].([]any)
		only := map[string]any{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": types}
		spec["requirements"] = append(requirements, only)
	})
}

// editPools changes spec.template.spec of the NodePools whose names are chosen.
func (g *gathered) editPools(chosen func(name string) bool, change func(spec map[string]any)) {
	for i, text := range g.objects {
		var o unstructured.Unstructured
		must(json.Unmarshal(text, &o.Object))
		if o.GetKind() != "NodePool" || !chosen(o.GetName()) {
			continue
		}
		change(o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any))
		changed, err := json.Marshal(o.Object)
		must(err)
		g.objects[i] = changed
	}
}

// typeOf writes a type as the catalog does. Prices are rounded to what Joiner reckons in: the fake provider adds them up in the order of
// a map, so that the same type costs more in its last digits the next time.
func typeOf(t *cloudprovider.InstanceType) instanceType {
	out := instanceType{Name: t.Name, Capacity: amounts(t.Capacity), Labels: map[string]string{}, Offerings: []offering{}}
	if t.Overhead != nil {
		out.Overhead = amounts(t.Overhead.Total())
	}
	out.ResourceSlices = published(t)
	for key, r := range t.Requirements {
		switch v := values(r); {
		case len(v) == 1:
			out.Labels[key] = v[0]
		case key == corev1.LabelOSStable && slices.Contains(v, string(corev1.Linux)):
			// A machine of EC2 has the operating system of its NodeClass's image; the fake provider's types have several.
			out.Labels[key] = string(corev1.Linux)
		case len(v) > 1:
			out.Labels[key] = v[0]
		}
	}
	for _, o := range t.Offerings {
		if len(o.CapacityOverride) > 0 || o.OverheadOverride != nil {
			ginkgo.Skip("not runnable: an offering with a capacity or an overhead of its own, which Joiner's instance types do not have")
		}
		sold := offering{
			Zone: o.Zone(), CapacityType: o.CapacityType(), PricePerHour: math.Round(o.Price*1e6) / 1e6, Available: o.Available,
		}
		for key, r := range o.Requirements {
			switch key {
			case corev1.LabelTopologyZone, v1.CapacityTypeLabelKey:
			case cloudprovider.ReservationIDLabel:
				if sold.CapacityType == v1.CapacityTypeReserved {
					sold.ReservationID, sold.ReservationCapacity = o.ReservationID(), o.ReservationCapacity
				}
			default:
				if v := values(r); len(v) > 0 {
					ginkgo.Skip("not runnable: an offering with a label of its own (" + key + "), which a catalogue of `joiner plan` cannot say")
				}
			}
		}
		// specs that launch nothing name none
		if sold.CapacityType == v1.CapacityTypeReserved && sold.ReservationID == "" {
			sold.ReservationID, sold.ReservationCapacity = "cr-"+t.Name+"-"+sold.Zone, 1
		}
		out.Offerings = append(out.Offerings, sold)
	}
	delete(out.Labels, corev1.LabelTopologyZone) // offers say
	delete(out.Labels, v1.CapacityTypeLabelKey)
	delete(out.Labels, cloudprovider.ReservationIDLabel)
	return out
}

func values(r *scheduling.Requirement) []string {
	if r.Operator() != corev1.NodeSelectorOpIn {
		return nil
	}
	return slices.Sorted(slices.Values(r.Values()))
}

func amounts(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, amount := range list {
		out[string(name)] = amount.String()
	}
	return out
}
