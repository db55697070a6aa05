package ec2

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// volumeSizes are the least and the largest size of the types of volumes, in GiB. Source: API reference, CreateVolume; user guide, "Amazon EBS
// volume types".
var volumeSizes = map[string][2]int{
	"gp2": {1, 16384}, "gp3": {1, 65536}, "io1": {4, 16384}, "io2": {4, 65536}, "sc1": {125, 16384}, "st1": {125, 16384}, "standard": {1, 1024},
}

// maxVolumes is how many volumes an instance of any type may have. Source: user guide, "Amazon EBS volume limits for Amazon EC2 instances",
// simplified to what most types of Nitro have.
const maxVolumes = 28

type createVolumeInput struct {
	ClientToken        string `json:"-"`
	AvailabilityZone   string
	AvailabilityZoneID string `query:"AvailabilityZoneId"`
	Size               *int   // GiB
	VolumeType         string
	IOPS               *int `query:"Iops"`
	Throughput         *int // MiB per second
	Encrypted          *bool
	KMSKeyID           string `query:"KmsKeyId"`
	MultiAttachEnabled bool
	TagSpecifications  []TagSpecification `query:"TagSpecification"`
}

// createVolume makes an empty volume of the account's own. It can be attached at once; describing shows it later.
func (m *Model) createVolume(_ context.Context, in *createVolumeInput) (*diskVolume, error) {
	m.lock()
	defer m.unlock()
	zone, err := in.zone()
	if err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("CreateVolume", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*diskVolume)
		return out, err
	}
	now := m.now()
	made := detachedVolume{
		volume: volume{id: m.newID("vol"), created: now, shape: m.shapeOf(catalog.Image{}, nil, &EBSBlock{
			Encrypted: in.Encrypted, IOPS: in.IOPS, Throughput: in.Throughput, KMSKeyID: in.KMSKeyID, VolumeSize: in.Size, VolumeType: in.VolumeType,
		})},
		zone: zone, visibleAt: now.Add(m.timing.Visibility),
	}
	m.detached = append(m.detached, made)
	tags := tagsFor("volume", in.TagSpecifications...)
	m.tags.set(made.id, tags, made.visibleAt)
	view := m.viewDisk(made.volume, zone)
	view.Status, view.Tags = "creating", wire.SetOf(tagList(tags)) // the answer itself does not lag
	m.remember("CreateVolume", in.ClientToken, in, &view)
	return &view, nil
}

// zone returns the name of the zone a volume is to be in, having checked the whole request.
func (in *createVolumeInput) zone() (string, error) {
	kind, size := cmp.Or(in.VolumeType, "gp2"), value(in.Size)
	if in.Size == nil {
		return "", wire.Errorf("MissingParameter", "The request must contain the parameter size/snapshot")
	}
	if err := checkVolume(EBSBlock{Encrypted: in.Encrypted, IOPS: in.IOPS, Throughput: in.Throughput, KMSKeyID: in.KMSKeyID, VolumeSize: in.Size, VolumeType: in.VolumeType}, false); err != nil {
		return "", err
	}
	if sizes := volumeSizes[kind]; size < sizes[0] || size > sizes[1] {
		return "", wire.Errorf("InvalidParameterValue", "Volume of %dGiB is not between %d and %d GiB, as %s volumes are.", size, sizes[0], sizes[1], kind)
	}
	if in.MultiAttachEnabled {
		return "", wire.Errorf("UnsupportedOperation", "Volumes of several instances are not modeled")
	}
	if err := checkTagSpecifications(in.TagSpecifications, "volume"); err != nil {
		return "", err
	}
	if (in.AvailabilityZone == "") == (in.AvailabilityZoneID == "") {
		return "", wire.Errorf("InvalidParameterCombination", "Specify one of the parameters AvailabilityZone and AvailabilityZoneId")
	}
	i := slices.IndexFunc(catalog.Zones(), func(z catalog.Zone) bool {
		return z.Name == in.AvailabilityZone || z.ID == in.AvailabilityZoneID
	})
	if i < 0 {
		return "", wire.Errorf("InvalidZone.NotFound", "The zone '%s' does not exist.", in.AvailabilityZone+in.AvailabilityZoneID)
	}
	return catalog.Zones()[i].Name, nil
}

type deleteVolumeInput struct {
	VolumeID string `query:"VolumeId"`
}

// deleteVolume deletes a volume that is attached to nothing.
func (m *Model) deleteVolume(_ context.Context, in *deleteVolumeInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	at, owner, err := m.findVolume(in.VolumeID)
	if err != nil {
		return nil, err
	}
	if owner != nil {
		return nil, wire.Errorf("VolumeInUse", "Volume %s is currently attached to %s", in.VolumeID, owner.facts.ID)
	}
	m.detached = slices.Delete(m.detached, at, at+1)
	delete(m.tags, in.VolumeID)
	return &returnOutput{true}, nil
}

// findVolume returns where a volume is: its place among those of the instance it is attached to, or, where owner is nil, among those that are
// attached to nothing.
func (m *Model) findVolume(id string) (at int, owner *instance, err *wire.Error) {
	switch {
	case id == "":
		return 0, nil, wire.Errorf("MissingParameter", "The request must contain the parameter volumeId")
	case !strings.HasPrefix(id, "vol-"):
		return 0, nil, wire.Errorf("InvalidVolumeID.Malformed", "The volume ID '%s' is malformed", id)
	}
	if at = slices.IndexFunc(m.detached, func(v detachedVolume) bool { return v.id == id }); at >= 0 {
		return at, nil, nil
	}
	for _, i := range m.instances {
		if i.facts.State == Terminated {
			continue
		}
		if at = slices.IndexFunc(i.volumes, func(v volume) bool { return v.id == id }); at >= 0 {
			return at, i, nil
		}
	}
	return 0, nil, wire.Errorf("InvalidVolume.NotFound", "The volume '%s' does not exist.", id)
}

type attachVolumeInput struct {
	VolumeID   string `query:"VolumeId"`
	InstanceID string `query:"InstanceId"`
	Device     string
}

// attachVolume attaches a volume that is attached to nothing to an instance of its zone, at once.
func (m *Model) attachVolume(_ context.Context, in *attachVolumeInput) (*diskAttachment, error) {
	m.lock()
	defer m.unlock()
	at, owner, refusal := m.findVolume(in.VolumeID)
	if refusal != nil {
		return nil, refusal
	}
	if in.InstanceID == "" || in.Device == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameters instanceId and device")
	}
	found, err := m.findInstances([]string{in.InstanceID})
	if err != nil {
		return nil, err
	}
	i := found[0]
	switch {
	case owner != nil:
		return nil, wire.Errorf("VolumeInUse", "%s is already attached to an instance", in.VolumeID)
	case i.facts.State != Running && i.facts.State != Stopped:
		return nil, wire.Errorf("IncorrectState", "Instance '%s' is not 'running'.", in.InstanceID)
	case m.detached[at].zone != i.facts.Zone:
		return nil, wire.Errorf("InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", in.VolumeID, in.InstanceID)
	case slices.ContainsFunc(i.volumes, func(v volume) bool { return v.device == in.Device }):
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for unixDevice. Attachment point %s is already in use", in.Device, in.Device)
	case len(i.volumes) >= maxVolumes:
		return nil, wire.Errorf("AttachmentLimitExceeded", "The instance '%s' has the most volumes it can have: %d.", in.InstanceID, maxVolumes)
	}
	v := m.detached[at].volume
	v.device, v.attached, v.deleteToo = in.Device, m.now(), false
	m.detached = slices.Delete(m.detached, at, at+1)
	i.volumes = append(i.volumes, v)
	return &diskAttachment{v.id, i.facts.ID, v.device, "attaching", wire.Time{Time: v.attached}, v.deleteToo}, nil
}

type detachVolumeInput struct {
	VolumeID   string `query:"VolumeId"`
	InstanceID string `query:"InstanceId"`
	Device     string
	Force      bool
}

// detachVolume takes a volume that is not the root of its instance from that, at once.
func (m *Model) detachVolume(_ context.Context, in *detachVolumeInput) (*diskAttachment, error) {
	m.lock()
	defer m.unlock()
	at, owner, err := m.findVolume(in.VolumeID)
	if err != nil {
		return nil, err
	}
	if owner == nil {
		return nil, wire.Errorf("IncorrectState", "Volume '%s' is in the 'available' state.", in.VolumeID)
	}
	v := owner.volumes[at]
	switch {
	case in.InstanceID != "" && in.InstanceID != owner.facts.ID, in.Device != "" && in.Device != v.device:
		return nil, wire.Errorf("InvalidAttachment.NotFound", "The volume '%s' is not attached to instance '%s' as device '%s'.", in.VolumeID, cmp.Or(in.InstanceID, owner.facts.ID), cmp.Or(in.Device, v.device))
	case v.device == owner.image.RootDevice && owner.facts.State != Stopped:
		return nil, wire.Errorf("OperationNotPermitted", "Unable to detach root volume '%s' from instance '%s'", v.id, owner.facts.ID)
	}
	owner.volumes = slices.Delete(slices.Clone(owner.volumes), at, at+1)
	m.detached = append(m.detached, detachedVolume{volume: v, zone: owner.facts.Zone})
	return &diskAttachment{v.id, owner.facts.ID, v.device, "detaching", wire.Time{Time: v.attached}, v.deleteToo}, nil
}

// detachedVolume is a volume that is attached to nothing: one that was made so, that was detached, or that outlived its instance.
type detachedVolume struct {
	volume
	zone      string
	visibleAt time.Time // describing shows it from then on
}

// leaveVolumes keeps the volumes of an instance that has ended which are not to end with it.
func (m *Model) leaveVolumes(i *instance) {
	for _, v := range i.volumes {
		if v.deleteToo {
			delete(m.tags, v.id)
			continue
		}
		m.detached = append(m.detached, detachedVolume{volume: v, zone: i.facts.Zone})
	}
}
