package ec2

import (
	"fmt"
	"strconv"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// launch makes n instances of a spec, for which there is room, in one
// reservation, and returns their ids.
func (m *Model) launch(spec *launchSpec, n int) []string {
	reservation := m.newID("r")
	ids, outside := make([]string, 0, n), 0
	for index := range n {
		i := m.newInstance(spec)
		i.reservationID, i.launchIndex = reservation, index
		m.enterReservation(i, spec)
		m.enterPlacement(i, spec)
		if i.reservation == nil {
			outside++
		}
		m.instances[i.facts.ID] = i
		m.order = append(m.order, i.facts.ID)
		m.tagNew(i, spec)
		m.launches = append(m.launches, Launch{m.snapshot(i), spec.clientToken})
		m.boot(i)
		ids = append(ids, i.facts.ID)
	}
	if left, limited := m.stock[spec.pool]; limited {
		m.stock[spec.pool] = left - outside // what is reserved was never in it
	}
	return ids
}

func (m *Model) newInstance(spec *launchSpec) *instance {
	now, t := m.now(), spec.typ
	i := &instance{
		seq: len(m.launches) + 1, visibleAt: now.Add(m.timing.Visibility),
		clientToken: spec.clientToken, image: spec.image, typ: t, subnet: spec.subnet,
		groups: spec.groups, data: spec.data, profile: spec.profile, market: spec.market, maxPrice: spec.maxPrice,
	}
	id := m.newID("i")
	i.interfaces = m.newInterfaces(spec)
	i.address = i.interfaces[0].address
	i.volumes = m.newVolumes(spec)
	i.naming = spec.naming()
	i.facts = Instance{
		ID: id, Type: t.Name, Region: catalog.Region, Zone: spec.subnet.Zone, ZoneID: catalog.ZoneID(spec.subnet.Zone),
		SubnetID: spec.subnet.ID, CapacityType: spec.pool.CapacityType, ImageID: spec.image.ID, ImageName: spec.image.Name,
		Volumes: volumeBytes(spec), InstanceStoreBytes: int64(t.Disks.TotalGB()) * 1e9,
		Architecture: t.Architecture, VCPUs: t.VCPUs, MemoryBytes: t.MemoryMiB << 20, MaxPods: t.MaxPods(), GPUs: devices(t, i.interfaces),
		PrivateIP: i.address.String(), UserData: spec.userData,
		FleetID: spec.fleetID, LaunchTime: now, State: Pending,
		PriceMicroUSDPerHour: m.priceOf(t, spec.subnet.Zone, spec.pool.CapacityType),
	}
	i.facts.PrivateDNSName = i.hostName()
	if spec.fleetID != "" && !m.reads.Takes(reading.FleetInstanceToken) {
		i.clientToken = fmt.Sprintf("%s-%d", spec.fleetID, i.seq) // the token of the request is the fleet's alone
	}
	if spec.profile != nil {
		i.facts.ProfileARN = spec.profile.ARN
	}
	if spec.version != nil {
		i.facts.LaunchTemplateID = spec.version.template.id
	}
	return i
}

// newVolumes makes the volumes of the image, as the spec changes them, and those it adds.
func (m *Model) newVolumes(spec *launchSpec) []volume {
	now := m.now()
	var out []volume
	mapped := map[string]BlockDeviceMapping{}
	for _, d := range spec.data.BlockDeviceMappings {
		mapped[d.DeviceName] = d
	}
	add := func(device string, ebs *EBSBlock, ofImage *catalog.Volume) {
		deleteToo := ebs == nil || ebs.DeleteOnTermination == nil || *ebs.DeleteOnTermination
		out = append(out, volume{id: m.newID("vol"), device: device, created: now, attached: now, deleteToo: deleteToo, shape: m.shapeOf(spec.image, ofImage, ebs)})
	}
	for _, v := range spec.image.Volumes {
		d, changed := mapped[v.Device]
		if delete(mapped, v.Device); changed && d.NoDevice != nil {
			continue
		}
		add(v.Device, d.EBS, &v)
	}
	for _, device := range sortedKeys(mapped) {
		if d := mapped[device]; d.EBS != nil && d.NoDevice == nil {
			add(device, d.EBS, nil)
		}
	}
	return out
}

// volumeBytes returns the sizes of an instance's volumes by device: what the spec says, else what the image says.
func volumeBytes(spec *launchSpec) map[string]int64 {
	out := map[string]int64{}
	for _, v := range spec.image.Volumes {
		out[v.Device] = int64(v.SizeGiB) << 30
	}
	for _, d := range spec.data.BlockDeviceMappings {
		switch {
		case d.NoDevice != nil:
			delete(out, d.DeviceName)
		case d.EBS != nil && d.EBS.VolumeSize != nil:
			out[d.DeviceName] = int64(*d.EBS.VolumeSize) << 30
		}
	}
	return out
}

// tagNew gives a new instance, its volumes, its interfaces and its spot request the tags of the launch and those
// EC2 adds by itself.
func (m *Model) tagNew(i *instance, spec *launchSpec) {
	m.tags.set(i.facts.ID, spec.instanceTags, i.visibleAt)
	own := map[string]string{}
	if spec.fleetID != "" {
		own["aws:ec2:fleet-id"] = spec.fleetID
	}
	if v := spec.version; v != nil {
		own["aws:ec2launchtemplate:id"] = v.template.id
		own["aws:ec2launchtemplate:version"] = strconv.FormatInt(v.number, 10)
	}
	m.tags.set(i.facts.ID, own, i.visibleAt)
	for _, v := range i.volumes {
		m.tags.set(v.id, spec.volumeTags, i.visibleAt)
	}
	for _, n := range i.interfaces {
		m.tags.set(n.id, spec.interfaceTags, i.visibleAt)
	}
	if spec.pool.CapacityType == Spot {
		m.addRequest(i, spec.requestTags)
	}
}

// book counts what launches of one request would use up, so that all of it can
// be planned before any of it happens.
type book struct {
	stock     map[Pool]int
	vcpus     map[string]int    // by capacity type
	addresses map[string]int    // by subnet
	reserved  map[string]int    // instances, by reservation
	spread    map[string]int    // instances, by placement group and zone
	clusters  map[string]string // zones, by placement group of strategy cluster
}

func newBook() *book {
	return &book{map[Pool]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}}
}

// grant returns how many of want instances of a spec there is room for, notes
// them in the book, and says why not all; the error is nil when all.
func (m *Model) grant(b *book, spec *launchSpec, want int) (int, *wire.Error) {
	if err := m.fault(spec.source()); err != nil {
		return 0, err
	}
	if _, there := m.roles[SpotRole]; m.spotRole && !there && spec.pool.CapacityType == Spot {
		return 0, wire.Errorf("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.")
	}
	n := want
	var refusal *wire.Error
	limit := func(room int, err *wire.Error) {
		if room = max(room, 0); room < n {
			n, refusal = room, err
		}
	}
	how, reserved := spec.pool.CapacityType, m.room(b, spec)
	if left, limited := m.stock[spec.pool]; limited && !spec.reservedOnly {
		limit(reserved+left-b.stock[spec.pool], noCapacity(spec.pool))
	}
	if quota := m.quota.limit(how); quota > 0 && !spec.reservedOnly {
		limit(reserved+max(0, quota-m.vcpusInUse(how)-b.vcpus[how])/spec.typ.VCPUs, overQuota(spec.pool, quota))
	}
	if spec.reservedOnly {
		limit(reserved, noReservedCapacity())
	}
	limit(m.placementRoom(b, spec, want))
	limit((spec.subnet.free()-b.addresses[spec.subnet.ID])/spec.addresses(), wire.Errorf("InsufficientFreeAddressesInSubnet",
		"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", spec.subnet.ID))
	if p := spec.prefixes(); p > 0 {
		limit(spec.subnet.freeBlocks(b.addresses[spec.subnet.ID]+want)/p, wire.Errorf("InsufficientCidrBlocks",
			"There are not enough free cidr blocks in the specified subnet '%s' to satisfy the request.", spec.subnet.ID))
	}
	inside := min(n, reserved)
	m.note(b, spec, inside)
	b.notePlacement(spec, n)
	b.stock[spec.pool] += n - inside
	b.vcpus[how] += (n - inside) * spec.typ.VCPUs
	b.addresses[spec.subnet.ID] += n * spec.addresses()
	return n, refusal
}
