package world

import (
	"fmt"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// choice is one pool of capacity of a request.
type choice struct {
	offering model.OfferingKey
	subnet   string
	price    model.MicroUSD // now, whatever the request thinks, unless EC2 is to go by what it says
	shallow  bool           // known to hold something, but less than is wanted
	template fleetTemplate
}

// choices returns the pools of a request in the order they are tried: from the cheapest; of spot, those known to hold
// less than is wanted come last. A pool that is quite dry is found out by trying it.
func (f *Fleet) choices(r request) []choice {
	var out []choice
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			c := choice{
				offering: model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType},
				subnet:   o.SubnetID, template: f.templates[t.Name],
			}
			if c.price = f.catalog.Price(c.offering); c.price == 0 || r.Prioritized {
				c.price = o.Price
			}
			left, limited := f.stock[c.offering]
			c.shallow = r.CapacityType == model.Spot && limited && left > 0 && left < r.Count
			out = append(out, c)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].shallow != out[j].shallow {
			return out[j].shallow
		}
		return out[i].price < out[j].price
	})
	return out
}

// allocate tries the pools in order; each that does not give all that is asked of it leaves an error.
func (f *Fleet) allocate(r request) (model.LaunchResult, []*Instance) {
	var started []*Instance
	var result model.LaunchResult
	missing := f.wanted(r.Count)
	for _, c := range f.choices(r) {
		if missing <= 0 {
			break
		}
		give, failure := f.grant(c, missing)
		if failure != nil {
			result.Errors = append(result.Errors, failure.LaunchError)
		}
		missing -= give
		if give > 0 && give+missing >= r.Count {
			give += f.surplus
		}
		for range give {
			m := f.start(r, c)
			started = append(started, m)
			result.Instances = append(result.Instances, m.Instance)
		}
		if failure != nil && failure.alone {
			break
		}
	}
	sort.Slice(result.Instances, func(i, j int) bool { return result.Instances[i].ID < result.Instances[j].ID })
	return result, started
}

// wanted is how many instances a call sets out to give that is asked for n.
func (f *Fleet) wanted(n int) int {
	switch {
	case f.by(f.chances.Partial):
		return n - 1
	case f.by(f.chances.Surplus):
		return n + 1
	}
	return n
}

// shortage is a launch error that may be the only one a call hears of.
type shortage struct {
	model.LaunchError
	alone bool
}

// maxSpread is how many instances a placement group of strategy spread takes in a zone. Source: EC2 user guide.
const maxSpread = 7

// grant takes up to n instances out of a pool, and says why where it gives fewer.
func (f *Fleet) grant(c choice, n int) (give int, failure *shortage) {
	if !f.knows(c.template.profile) {
		return 0, &shortage{LaunchError: model.LaunchError{Code: "InvalidParameterValue", Message: noProfile(c.template.profile), Offering: c.offering, SubnetID: c.subnet}}
	}
	if s := f.short(c); s != nil {
		return 0, &shortage{launchError(c, s.Code), s.OneAtATime}
	}
	if room := f.spreadRoom(c); room < n {
		n, failure = room, &shortage{launchError(c, "InsufficientInstanceCapacity"), false}
		failure.Message = fmt.Sprintf("the spread placement group %s has its maximum of %d running instances in %s", c.template.group, maxSpread, c.offering.Zone)
	}
	if c.offering.CapacityType == model.Reserved {
		give = min(n, f.reserved[c.template.Reservation])
		f.reserved[c.template.Reservation] -= give
		if give < n {
			failure = &shortage{launchError(c, "ReservationCapacityExceeded"), false}
		}
		return give, failure
	}
	left, limited := f.stock[c.offering]
	if !limited {
		return n, failure
	}
	give = min(n, left)
	f.stock[c.offering] = left - give
	if give < n {
		failure = &shortage{launchError(c, "InsufficientInstanceCapacity"), false}
	}
	return give, failure
}

// spreadRoom returns how many more instances the placement group of a pool takes in its zone.
func (f *Fleet) spreadRoom(c choice) int {
	if c.template.strategy != "spread" {
		return int(^uint(0) >> 1)
	}
	room := maxSpread
	for _, m := range f.instances {
		if living(m) && m.PlacementGroup == c.template.group && m.Zone == c.offering.Zone {
			room--
		}
	}
	return max(0, room)
}

// SetReservation says how many instances can still be launched into a reservation. One that was never set has none left; a
// instance that ends does not go back.
func (f *Fleet) SetReservation(id string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved[id] = n
}

func launchError(c choice, code string) model.LaunchError {
	return model.LaunchError{Code: code, Message: fmt.Sprintf("%s: %s %s in %s", code, c.offering.CapacityType, c.offering.InstanceType, c.offering.Zone), Offering: c.offering, SubnetID: c.subnet}
}

// start makes an instance.
func (f *Fleet) start(r request, c choice) *Instance {
	_, limited := f.stock[c.offering]
	m := &Instance{
		Instance: model.Instance{
			ID: f.newInstanceID(), Type: c.offering.InstanceType, Zone: c.offering.Zone, CapacityType: c.offering.CapacityType,
			ImageID: c.template.ImageID, SubnetID: c.subnet, Tags: r.Tags, Reservation: c.template.Reservation,
			SecurityGroups: c.template.groups, Profile: c.template.profile, PlacementGroup: c.template.group,
			Partition: c.template.Partition,
		},
		Cluster: r.Cluster, UserData: c.template.UserData, limited: limited,
	}
	if m.Partition == 0 && c.template.partitions > 0 { // EC2 chooses one
		m.Partition = 1 + int64(len(f.instances))%c.template.partitions
	}
	f.begin(m, c.price)
	return m
}

// newInstanceID returns an id that says nothing of the order instances were launched in, as EC2's do.
func (f *Fleet) newInstanceID() string {
	x := uint64(len(f.instances)+1) * 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return fmt.Sprintf("i-0%016x", x^x>>31)
}

// AddInstance puts an instance into the account that no launch of ours made. Its tags say whose it is; id and type are
// filled in where they are empty. It returns the id.
func (f *Fleet) AddInstance(instance model.Instance) string {
	defer f.enter()()
	if instance.ID == "" {
		instance.ID = f.newInstanceID()
	}
	m := &Instance{Instance: instance, Cluster: instance.Tags["eks:eks-cluster-name"]}
	f.begin(m, f.catalog.Price(model.OfferingKey{InstanceType: instance.Type, Zone: instance.Zone, CapacityType: instance.CapacityType}))
	f.noteStarted([]*Instance{m})
	return m.ID
}

// Retag replaces an instance's tags, as a person may.
func (f *Fleet) Retag(id string, tags map[string]string) {
	defer f.enter()()
	if m := f.byID[id]; m != nil {
		f.byIntent[m.Tags[tagIntent]] = slices.DeleteFunc(f.byIntent[m.Tags[tagIntent]], func(other *Instance) bool { return other == m })
		m.Tags = tags
		f.byIntent[tags[tagIntent]] = append(f.byIntent[tags[tagIntent]], m)
	}
}
