package problem

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// nowUnix is the time of every problem.
const nowUnix = 1_780_000_000

// Input gives the problem to the planner.
func (p *Problem) Input() pack.Input {
	var b translate.Builder
	p.each(func(object any) { b.Add(object) })
	return pack.Input{Snapshot: b.Snapshot(p.Spec.String(), nowUnix), Catalogs: map[string][]model.InstanceType{className: p.Types}, NowUnix: nowUnix}
}

// Input is Problem.Input without the problem's objects ever being held together. The spec must be valid.
func (s Spec) Input() pack.Input {
	var b translate.Builder
	s.Each(func(object any) { b.Add(object) })
	return pack.Input{Snapshot: b.Snapshot(s.String(), nowUnix), Catalogs: map[string][]model.InstanceType{className: s.Catalog()}, NowUnix: nowUnix}
}

func (p *Problem) each(emit func(object any)) {
	for _, o := range p.Pools {
		emit(o)
	}
	for _, o := range p.DaemonSets {
		emit(o)
	}
	for _, o := range p.Budgets {
		emit(o)
	}
	for _, o := range p.Nodes {
		emit(o)
	}
	for _, o := range p.Bound {
		emit(o)
	}
	for _, o := range p.Pods {
		emit(o)
	}
}

// WriteCluster writes the objects as one List in JSON, as kubectl prints them.
func (p *Problem) WriteCluster(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"apiVersion":"v1","kind":"List","items":[`)
	first := true
	var failed error
	p.each(func(object any) {
		if failed != nil {
			return
		}
		raw, err := json.Marshal(object)
		if err != nil {
			failed = fmt.Errorf("encode %T: %w", object, err)
			return
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteByte('\n')
		out.Write(raw)
	})
	if failed != nil {
		return failed
	}
	fmt.Fprint(out, "\n]}\n")
	return out.Flush()
}

// Catalog is the file `joiner plan provision --catalog` reads.
type Catalog struct {
	InstanceTypes []CatalogType `json:"instanceTypes"`
}

// CatalogType is an instance type of a Catalog. Amounts are Kubernetes quantities.
type CatalogType struct {
	Name      string            `json:"name"`
	Capacity  map[string]string `json:"capacity"`
	Overhead  map[string]string `json:"overhead,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"` // without those the offering decides
	Offerings []CatalogOffering `json:"offers"`
}

// CatalogOffering is one way of buying a CatalogType. A price is dollars.
type CatalogOffering struct {
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
	Available    bool    `json:"available"`
}

// WriteCatalog writes what can be bought as a Catalog.
func (p *Problem) WriteCatalog(w io.Writer) error {
	var file Catalog
	for i := range p.Types {
		t := &p.Types[i]
		out := CatalogType{Name: t.Name, Capacity: quantities(t.Capacity), Overhead: quantities(t.Overhead), Labels: map[string]string{}}
		for key, values := range t.Labels {
			if len(values) == 1 && key != model.LabelZone && key != model.LabelZoneID && key != model.LabelCapacityType {
				out.Labels[key] = values[0]
			}
		}
		for _, o := range t.Offerings {
			out.Offerings = append(out.Offerings, CatalogOffering{o.Zone, o.CapacityType, o.Price.USD(), o.Available})
		}
		file.InstanceTypes = append(file.InstanceTypes, out)
	}
	if err := json.NewEncoder(w).Encode(file); err != nil {
		return fmt.Errorf("encode the catalogue of %s: %w", p.Spec, err)
	}
	return nil
}

func quantities(r model.Resources) map[string]string {
	out := make(map[string]string, len(r))
	for name, amount := range r {
		out[name] = strconv.FormatInt(amount, 10)
		if name == model.CPU {
			out[name] += "m"
		}
	}
	return out
}
