package ec2

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// launchSpec is what one kind of instance is launched from: every reference of
// a request resolved.
type launchSpec struct {
	pool          Pool
	typ           catalog.Type
	subnet        *subnet
	image         catalog.Image
	groups        []*securityGroup
	profile       *Profile
	data          LaunchTemplateData
	userData      []byte
	version       *templateVersion // nil when launched without a template
	fleetID       string           // "" when not of a fleet
	clientToken   string
	instanceTags  map[string]string
	volumeTags    map[string]string
	requestTags   map[string]string // of the spot request
	interfaceTags map[string]string
	maxPrice      string           // of a spot instance; "" when that is no limit
	metadata      *MetadataOptions // that condition keys name; nil when they name none
	overridden    fleetOverride    // what the request of a fleet says itself, and not the template

	market       string          // OnDemand, Spot, marketBlock or marketInterruptible
	reservations []*reservation  // that it may use, in order
	reservedOnly bool            // it may use nothing else
	placement    *placementGroup // nil when in none
}

// source is the pool a launch fails with, as FailPool has it.
func (s *launchSpec) source() Pool {
	p := s.pool
	if s.reservedOnly {
		p.CapacityType = Reserved
	}
	return p
}

// tenancy returns "default" or "dedicated".
func (s *launchSpec) tenancy() string {
	if p := s.data.Placement; p != nil && p.Tenancy != "" {
		return p.Tenancy
	}
	return "default"
}

// launchRequest names what to launch: what it leaves empty the template data says.
type launchRequest struct {
	capacityType       string // OnDemand or Spot
	market             string // "" means as the capacity type says
	instanceType       string
	subnetID           string
	zone, zoneID       string
	imageID            string
	maxPrice           string
	mappings           []BlockDeviceMapping
	version            *templateVersion
	data               LaunchTemplateData
	tags               []TagSpecification // of the request; they win over the template's
	refusesWrongZoneAs string             // error code for a type that is not offered in the zone
}

// resolve looks up everything a launch refers to and refuses what EC2 refuses
// before it looks for capacity.
func (m *Model) resolve(r launchRequest) (launchSpec, *wire.Error) {
	spec := launchSpec{data: r.data, version: r.version, market: cmp.Or(r.market, r.capacityType)}
	if err := m.resolvePlace(r, &spec); err != nil {
		return spec, err
	}
	if err := m.resolveType(r, &spec); err != nil {
		return spec, err
	}
	if err := m.resolveImage(r, &spec); err != nil {
		return spec, err
	}
	if err := m.resolveSecurity(&spec); err != nil {
		return spec, err
	}
	if err := checkInterfaces(spec.typ, spec.subnet, spec.data.NetworkInterfaces); err != nil {
		return spec, err
	}
	if err := checkProcessor(spec.typ, spec.data); err != nil {
		return spec, err
	}
	if err := m.resolvePlacement(&spec); err != nil {
		return spec, err
	}
	if err := m.resolveReservations(&spec); err != nil {
		return spec, err
	}
	userData, err := spec.data.decodedUserData()
	if err != nil {
		return spec, wire.AsError(err)
	}
	spec.userData = userData
	return spec, m.resolveMarket(r, &spec)
}

// resolvePlace finds the subnet: the one named, or the default one of the zone named.
func (m *Model) resolvePlace(r launchRequest, spec *launchSpec) *wire.Error {
	zone := r.zone
	if zone == "" && r.zoneID != "" {
		i := slices.IndexFunc(catalog.Zones(), func(z catalog.Zone) bool { return z.ID == r.zoneID })
		if i < 0 {
			return wire.Errorf("InvalidParameterValue", "Invalid availability zone id: [%s]", r.zoneID)
		}
		zone = catalog.Zones()[i].Name
	}
	if zone == "" && r.data.Placement != nil {
		zone = r.data.Placement.AvailabilityZone
	}
	if zone != "" && catalog.ZoneID(zone) == "" {
		return wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	}
	id := r.subnetID
	if id == "" {
		id = r.data.subnetID()
	}
	if id == "" {
		if spec.subnet = m.defaultSubnet(zone); spec.subnet == nil {
			return wire.Errorf("MissingInput", "No default subnet for availability zone: '%s'.", zone)
		}
		return nil
	}
	if spec.subnet = m.subnet(id); spec.subnet == nil {
		return wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	}
	if zone != "" && zone != spec.subnet.Zone {
		return wire.Errorf("InvalidParameterValue", "The availability zone '%s' does not match the subnet '%s' in '%s'", zone, id, spec.subnet.Zone)
	}
	return nil
}

func (m *Model) resolveType(r launchRequest, spec *launchSpec) *wire.Error {
	name := r.instanceType
	if name == "" {
		name = r.data.InstanceType
	}
	if name == "" {
		return wire.Errorf("MissingParameter", "The request must contain the parameter InstanceType")
	}
	spec.pool = Pool{name, spec.subnet.Zone, r.capacityType}
	t, ok := m.types[name]
	if !ok || !t.OfferedIn(spec.subnet.Zone) || t.NoSpot && r.capacityType == Spot {
		return wire.Errorf(r.refusesWrongZoneAs, "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", name, spec.subnet.Zone)
	}
	spec.typ = t
	return nil
}

func (m *Model) resolveImage(r launchRequest, spec *launchSpec) *wire.Error {
	id := r.imageID
	if id == "" {
		id = r.data.ImageID
	}
	if id == "" {
		return wire.Errorf("MissingParameter", "The request must contain the parameter ImageId")
	}
	image, err := m.image(id)
	if err != nil {
		return err
	}
	if image.Architecture != spec.typ.Architecture {
		return wire.Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.", spec.typ.Architecture, image.Architecture)
	}
	if len(r.mappings) > 0 {
		spec.data.BlockDeviceMappings = r.mappings
	}
	for _, mapping := range spec.data.BlockDeviceMappings {
		if err := checkMapping(mapping, image); err != nil {
			return err
		}
	}
	spec.image = image
	return nil
}

// checkMapping refuses a disk that EC2 could not make.
func checkMapping(mapping BlockDeviceMapping, image catalog.Image) *wire.Error {
	if mapping.EBS == nil {
		return nil
	}
	i := slices.IndexFunc(image.Volumes, func(v catalog.Volume) bool { return v.Device == mapping.DeviceName })
	size := mapping.EBS.VolumeSize
	switch {
	case i >= 0 && size != nil && *size < image.Volumes[i].SizeGiB:
		return wire.Errorf("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot of '%s', expect size>= %dGB", *size, image.ID, image.Volumes[i].SizeGiB)
	case i < 0 && size == nil && mapping.EBS.SnapshotID == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter size or snapshotId")
	}
	return checkVolume(*mapping.EBS, i >= 0)
}

// volumeTypes are the kinds of EBS volumes.
var volumeTypes = []string{"", "standard", "io1", "io2", "gp2", "gp3", "sc1", "st1"}

// checkVolume refuses settings a kind of volume has not; ofImage tells that an image brings its snapshot. Source: API
// reference, EbsBlockDevice; user guide, "Amazon EBS volume types".
func checkVolume(v EBSBlock, ofImage bool) *wire.Error {
	iops, throughput, rate := value(v.IOPS), value(v.Throughput), value(v.VolumeInitializationRate)
	provisioned := v.VolumeType == "io1" || v.VolumeType == "io2"
	switch {
	case !slices.Contains(volumeTypes, v.VolumeType):
		return wire.Errorf("InvalidParameterValue", "Value (%s) for parameter volumeType is invalid.", v.VolumeType)
	case provisioned && v.IOPS == nil:
		return wire.Errorf("MissingParameter", "The request must contain the parameter iops for volumes of the type %s", v.VolumeType)
	case v.IOPS != nil && !provisioned && v.VolumeType != "gp3":
		return wire.Errorf("InvalidParameterCombination", "The parameter iops is not supported for %s volumes.", cmp.Or(v.VolumeType, "gp2"))
	case v.VolumeType == "gp3" && v.IOPS != nil && (iops < 3000 || iops > 80000):
		return wire.Errorf("InvalidParameterValue", "Volume iops of %d is not between 3000 and 80000 for gp3 volumes.", iops)
	case v.Throughput != nil && v.VolumeType != "gp3":
		return wire.Errorf("InvalidParameterCombination", "The parameter throughput is not supported for %s volumes.", cmp.Or(v.VolumeType, "gp2"))
	case v.Throughput != nil && (throughput < 125 || throughput > 2000):
		return wire.Errorf("InvalidParameterValue", "Throughput of %d MiB/s is not between 125 and 2000.", throughput)
	case v.VolumeInitializationRate != nil && v.SnapshotID == "" && !ofImage:
		return wire.Errorf("InvalidParameterCombination", "The parameter volumeInitializationRate needs a snapshot.")
	case v.VolumeInitializationRate != nil && (rate < 100 || rate > 300):
		return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter volumeInitializationRate is invalid. It must be between 100 and 300.", rate)
	case v.KMSKeyID != "" && !value(v.Encrypted):
		return wire.Errorf("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")
	}
	return nil
}

func (m *Model) resolveSecurity(spec *launchSpec) *wire.Error {
	for _, id := range spec.data.groupIDs() {
		g := m.group(id)
		if g == nil {
			return wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
		if g.VPCID != spec.subnet.VPCID {
			return wire.Errorf("InvalidParameter", "Security group %s and subnet %s belong to different networks.", id, spec.subnet.ID)
		}
		spec.groups = append(spec.groups, g)
	}
	var err *wire.Error
	spec.profile, err = m.profile(spec.data.IamInstanceProfile)
	return err
}

func (m *Model) resolveMarket(r launchRequest, spec *launchSpec) *wire.Error {
	all := append(slices.Clone(spec.data.TagSpecifications), r.tags...)
	if r.capacityType == OnDemand && len(tagsFor("spot-instances-request", all...)) > 0 {
		return wire.Errorf("InvalidParameterValue", "You cannot specify tags for Spot instances requests if there are no Spot instances requests being created by the request.")
	}
	spec.instanceTags, spec.volumeTags = tagsFor("instance", all...), tagsFor("volume", all...)
	spec.requestTags, spec.interfaceTags = tagsFor("spot-instances-request", all...), tagsFor("network-interface", all...)
	price := r.maxPrice
	if price == "" && r.data.InstanceMarketOptions != nil && r.data.InstanceMarketOptions.SpotOptions != nil {
		price = r.data.InstanceMarketOptions.SpotOptions.MaxPrice
	}
	if r.capacityType != Spot || price == "" {
		return nil
	}
	spec.maxPrice = price
	limit, err := microUSD(price)
	if err != nil {
		return wire.AsError(err)
	}
	if now := m.spotPriceOf(spec.typ, spec.subnet.Zone, m.now()).microUSD; limit < now {
		return wire.Errorf("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %s.", dollars(limit), dollars(now))
	}
	return nil
}

// value returns what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
