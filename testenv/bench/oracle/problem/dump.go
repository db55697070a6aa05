package problem

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// kinds knows the kinds of all objects of a problem.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two types of one name: a bug in what is imported
		}
	}
	return s
}()

// YAML returns the objects as a file that `joiner plan provision -f` reads.
func (p *Problem) YAML() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Seed %d, features %v.\n", p.Seed, p.Features)
	for _, object := range p.Objects() {
		known, _, err := kinds.ObjectKinds(object)
		if err != nil {
			return nil, fmt.Errorf("name the kind of %T: %w", object, err)
		}
		object = object.DeepCopyObject()
		object.GetObjectKind().SetGroupVersionKind(known[0])
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write %T: %w", object, err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}

// CatalogJSON returns what can be bought as a file that `joiner plan provision --catalog` reads.
func (p *Problem) CatalogJSON() ([]byte, error) {
	type offering struct {
		Zone         string  `json:"zone"`
		CapacityType string  `json:"capacityType"`
		PricePerHour float64 `json:"pricePerHour"`
		Available    bool    `json:"available"`
	}
	type instanceType struct {
		Name      string            `json:"name"`
		Capacity  map[string]string `json:"capacity"`
		Overhead  map[string]string `json:"overhead"`
		Labels    map[string]string `json:"labels"`
		Offerings []offering        `json:"offers"`
	}
	var file struct {
		InstanceTypes []instanceType `json:"instanceTypes"`
	}
	for i := range p.Catalog {
		t := &p.Catalog[i]
		out := instanceType{Name: t.Name, Capacity: texts(t.Capacity), Overhead: texts(t.Overhead), Labels: map[string]string{}}
		for key, values := range t.Labels {
			if len(values) == 1 {
				out.Labels[key] = values[0]
			}
		}
		for _, o := range t.Offerings {
			out.Offerings = append(out.Offerings, offering{o.Zone, o.CapacityType, o.Price.USD(), o.Available})
		}
		file.InstanceTypes = append(file.InstanceTypes, out)
	}
	return json.MarshalIndent(file, "", "  ")
}

func texts(amounts model.Resources) map[string]string {
	out := make(map[string]string)
	for name, q := range List(amounts) {
		out[string(name)] = q.String()
	}
	return out
}
