package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// validator says whether classes are fit to launch from.
type validator struct{ *session }

// trial drafts the launch of one instance of the class: a type its pools may launch, in every zone of the class.
func (r validator) trial(ctx context.Context, class model.Class) (model.Launch, error) {
	catalog, err := r.types(ctx)
	if err != nil {
		return model.Launch{}, err
	}
	pools := poolsOf(r.config.Pools, class.Name)
	picked, found := offering.Trial(class, offering.Catalog(catalog.Types, class, r.offeringSettings()), pools)
	if !found {
		return model.Launch{}, fault.New(fault.NotFound, "", "no instance type in the zones of EC2NodeClass %s boots one of its images", class.Name)
	}
	image, _ := offering.ImageFor(class, picked)
	launch := model.Launch{
		Intent: "trial", Token: "trial-" + digest(class.UID, r.NowUnix()), Cluster: r.reg.Cluster, Class: class, Claims: []string{"trial"}, CapacityType: model.OnDemand,
	}
	var template model.Template
	if len(pools) > 0 {
		launch.Pool, template = pools[0].Name, pools[0].Template
	}
	text, err := r.userData(class, picked, image.Name, launch.Pool, template)
	if err != nil {
		return model.Launch{}, err
	}
	launch.Templates = []model.LaunchTemplate{{ImageID: image.ID, UserData: text, Overrides: overrides(class, picked)}}
	return launch, nil
}

func (r validator) userData(class model.Class, picked model.InstanceType, imageName, pool string, template model.Template) ([]byte, error) {
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[model.LabelCapacityType], labels[model.LabelNodeClass] = model.OnDemand, class.Name
	if pool != "" {
		labels[model.LabelNodePool] = pool
	}
	return userdata.Render(userdata.Input{
		Class: class, Cluster: r.reg.Cluster, Endpoint: r.reg.Endpoint, CA: r.reg.CA, ServiceCIDR: r.reg.ServiceCIDR, ClusterDNS: r.reg.ClusterDNS,
		Labels: labels, Taints: slices.Concat(template.Taints, template.StartupTaints), ImageName: imageName,
		MaxPods: picked.Capacity[model.Pods], KubeReserved: picked.KubeReserved, SystemReserved: picked.SystemReserved,
	})
}

// overrides are the type in each zone of the class, once.
func overrides(class model.Class, picked model.InstanceType) []model.Override {
	seen := map[string]bool{}
	var out []model.Override
	for _, subnet := range class.Status.Subnets {
		if !seen[subnet.Zone] {
			seen[subnet.Zone] = true
			out = append(out, model.Override{InstanceType: picked.Name, Zone: subnet.Zone, SubnetID: subnet.ID})
		}
	}
	return out
}

// poolsOf are the pools that name a class and are not being deleted, by name.
func poolsOf(pools []model.Pool, class string) []model.Pool {
	var out []model.Pool
	for _, pool := range pools {
		if pool.DeletedUnix == 0 && pool.Template.ClassName == class {
			out = append(out, pool)
		}
	}
	return out
}
