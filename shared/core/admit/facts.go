package admit

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Facts is what is known beside the object itself.
type Facts struct {
	InstanceTypes []model.InstanceTypeInfo // the region's, by name; nil = not known
	Settings      offering.Settings        // as those who plan have them
	// Objects says that what follows is known of the cluster; else it is not looked at.
	Objects bool
	Pools   []model.Pool
	Classes []model.Class
	Nodes   map[string]int // how many nodes each pool has, by its name
	Budgets []model.PDB
}

// classOf returns the class of that name as its instances are to be looked at, and the finding about it. Where it is
// not there, or has found no subnets yet, it is taken to reach every zone.
func (k *Facts) classOf(field, name string) (model.Class, []model.Finding) {
	bare := k.everywhere(model.Class{Name: name, Family: "AL2023"})
	if !k.Objects {
		return bare, nil
	}
	i := slices.IndexFunc(k.Classes, func(c model.Class) bool { return c.Name == name })
	if i < 0 {
		f := model.Finding{Field: field, Value: name, Message: "there is no EC2NodeClass of this name: nothing is launched until there is", Remedy: "Apply it too, or correct the name."}
		var names []string
		for _, c := range k.Classes {
			names = append(names, c.Name)
		}
		if hint := requirement.Nearest(name, names); hint != "" {
			f.Remedy = "Write " + hint + " if that is meant, or apply it too."
		}
		return bare, []model.Finding{f}
	}
	class := k.Classes[i]
	var said []model.Finding
	if problem := offering.ClassProblem(class); problem != "" {
		said = []model.Finding{{Field: field, Value: name, Message: "the EC2NodeClass is not ready, nothing is launched until it is: " + problem,
			Remedy: "See kubectl describe ec2nodeclass " + name + "."}}
	}
	if len(class.Status.Subnets) == 0 {
		class = k.everywhere(class)
	}
	return class, said
}

// everywhere returns the class as if it had a subnet in every zone of the region, and no images yet.
func (k *Facts) everywhere(class model.Class) model.Class {
	zones := make(map[string]bool)
	class.Status.Subnets, class.Status.Images, class.PlacementGroup, class.Status.PlacementGroup = nil, nil, nil, nil
	for i := range k.InstanceTypes {
		for _, o := range k.InstanceTypes[i].Offerings {
			if !zones[o.Zone] {
				zones[o.Zone] = true
				class.Status.Subnets = append(class.Status.Subnets, model.Subnet{ID: "subnet-" + o.Zone, Zone: o.Zone, ZoneID: o.ZoneID})
			}
		}
	}
	return class
}

// region returns every type of the region with all its offerings, whatever class could buy them.
func (k *Facts) region() []model.InstanceType {
	return offering.Catalog(k.InstanceTypes, k.everywhere(model.Class{Family: "AL2023"}), k.Settings)
}

// buyable returns what the class can buy, types without an offering left out.
func (k *Facts) buyable(class model.Class) []model.InstanceType {
	types := offering.Catalog(k.InstanceTypes, class, k.Settings)
	for i := range types {
		types[i].Offerings = slices.DeleteFunc(types[i].Offerings, func(o model.Offering) bool { return !o.Available })
	}
	return slices.DeleteFunc(types, func(t model.InstanceType) bool { return len(t.Offerings) == 0 })
}
