package ec2

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// What a gp3 volume has where nothing was said. Source: user guide, "Amazon EBS General Purpose SSD volumes".
const (
	gp3IOPS       = 3000
	gp3Throughput = 125 // MiB per second
)

// shape is what a volume is.
type shape struct {
	sizeGiB, iops, throughput int // iops 0: its type has none; throughput in MiB per second, 0: likewise
	kind                      string
	snapshot                  string // "" when it began empty
	key                       string // ARN of the key it is encrypted with, "" when it is not
}

// shapeOf returns what a mapping makes of a device. ofImage is the disk the image has for it, nil when it has none.
func (m *Model) shapeOf(image catalog.Image, ofImage *catalog.Volume, ebs *EBSBlock) shape {
	set := value(ebs)
	s := shape{sizeGiB: value(set.VolumeSize), iops: value(set.IOPS), throughput: value(set.Throughput), kind: cmp.Or(set.VolumeType, "gp2"), snapshot: set.SnapshotID}
	if ofImage != nil {
		s.sizeGiB, s.kind = cmp.Or(s.sizeGiB, ofImage.SizeGiB), cmp.Or(set.VolumeType, imageVolumeType)
		s.snapshot = cmp.Or(s.snapshot, snapshotOf(image, ofImage.Device))
	}
	switch s.kind {
	case "gp3":
		s.iops, s.throughput = cmp.Or(s.iops, gp3IOPS), cmp.Or(s.throughput, gp3Throughput)
	case "gp2": // three a GiB
		s.iops = min(max(3*s.sizeGiB, 100), 16000)
	}
	if value(set.Encrypted) {
		s.key = set.KMSKeyID
		if !strings.HasPrefix(s.key, "arn:") {
			id := digest(m.account + "/key/" + s.key)
			s.key = "arn:aws:kms:" + catalog.Region + ":" + m.account + ":key/" + id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:32]
		}
	}
	return s
}

type describeVolumesInput struct {
	VolumeIDs  []string `query:"VolumeId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeVolumesOutput struct {
	NextToken string               `xml:"nextToken,omitempty"`
	Volumes   wire.Set[diskVolume] `xml:"volumeSet"`
}

type diskVolume struct {
	VolumeID           string                   `xml:"volumeId"`
	Size               int                      `xml:"size"`
	SnapshotID         string                   `xml:"snapshotId"`
	AvailabilityZone   string                   `xml:"availabilityZone"`
	AvailabilityZoneID string                   `xml:"availabilityZoneId"`
	Status             string                   `xml:"status"`
	CreateTime         wire.Time                `xml:"createTime"`
	Attachments        wire.Set[diskAttachment] `xml:"attachmentSet"`
	VolumeType         string                   `xml:"volumeType"`
	IOPS               int                      `xml:"iops,omitempty"`
	Throughput         int                      `xml:"throughput,omitempty"`
	Encrypted          bool                     `xml:"encrypted"`
	KMSKeyID           string                   `xml:"kmsKeyId,omitempty"`
	MultiAttachEnabled bool                     `xml:"multiAttachEnabled"`
	Tags               wire.Set[Tag]            `xml:"tagSet"`
}

type diskAttachment struct {
	VolumeID            string    `xml:"volumeId"`
	InstanceID          string    `xml:"instanceId"`
	Device              string    `xml:"device"`
	Status              string    `xml:"status"`
	AttachTime          wire.Time `xml:"attachTime"`
	DeleteOnTermination bool      `xml:"deleteOnTermination"`
}

var volumeFields = fields[diskVolume]{
	"attachment.delete-on-termination": func(v diskVolume) []string {
		return ofAttachment(v, func(a diskAttachment) string { return strconv.FormatBool(a.DeleteOnTermination) })
	},
	"attachment.device": func(v diskVolume) []string { return ofAttachment(v, func(a diskAttachment) string { return a.Device }) },
	"attachment.instance-id": func(v diskVolume) []string {
		return ofAttachment(v, func(a diskAttachment) string { return a.InstanceID })
	},
	"attachment.status":    func(v diskVolume) []string { return ofAttachment(v, func(a diskAttachment) string { return a.Status }) },
	"availability-zone":    func(v diskVolume) []string { return one(v.AvailabilityZone) },
	"availability-zone-id": func(v diskVolume) []string { return one(v.AvailabilityZoneID) },
	"create-time":          func(v diskVolume) []string { return one(timeText(v.CreateTime.Time)) },
	"encrypted":            func(v diskVolume) []string { return one(strconv.FormatBool(v.Encrypted)) },
	"size":                 func(v diskVolume) []string { return one(strconv.Itoa(v.Size)) },
	"snapshot-id":          func(v diskVolume) []string { return one(v.SnapshotID) },
	"status":               func(v diskVolume) []string { return one(v.Status) },
	"volume-id":            func(v diskVolume) []string { return one(v.VolumeID) },
	"volume-type":          func(v diskVolume) []string { return one(v.VolumeType) },
}

func ofAttachment(v diskVolume, of func(diskAttachment) string) (values []string) {
	for _, a := range v.Attachments.Items {
		values = append(values, of(a))
	}
	return values
}

// describeVolumes shows the volumes of instances that it shows, and those that are attached to nothing.
func (m *Model) describeVolumes(_ context.Context, in *describeVolumesInput) (*describeVolumesOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.VolumeIDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter volumeIds cannot be used with the parameter maxResults")
	}
	for _, id := range in.VolumeIDs {
		if !strings.HasPrefix(id, "vol-") {
			return nil, wire.Errorf("InvalidVolumeID.Malformed", "The volume ID '%s' is malformed", id)
		}
	}
	views := []diskVolume{}
	for _, i := range m.visible() {
		if i.facts.State == Terminated {
			continue
		}
		for _, v := range i.volumes {
			view := m.viewDisk(v, i.facts.Zone)
			view.Status = "in-use"
			view.Attachments = wire.SetOf([]diskAttachment{{v.id, i.facts.ID, v.device, "attached", wire.Time{Time: v.attached}, v.deleteToo}})
			views = append(views, view)
		}
	}
	for _, v := range m.detached {
		if !v.visibleAt.After(m.now()) {
			views = append(views, m.viewDisk(v.volume, v.zone))
		}
	}
	id := func(v diskVolume) string { return v.VolumeID }
	slices.SortFunc(views, func(a, b diskVolume) int { return strings.Compare(a.VolumeID, b.VolumeID) })
	views, err := pickByID(views, in.VolumeIDs, id, "InvalidVolume.NotFound", "volume")
	if err != nil {
		return nil, err
	}
	if views, err = filter(views, in.Filters, volumeFields, func(v diskVolume) map[string]string { return m.tags.seen(v.VolumeID, m.now()) }); err != nil {
		return nil, err
	}
	views, next, err := page(views, id, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeVolumesOutput{next, wire.SetOf(views)}, nil
}

// viewDisk shows a volume that is attached to nothing.
func (m *Model) viewDisk(v volume, zone string) diskVolume {
	return diskVolume{
		VolumeID: v.id, Size: v.shape.sizeGiB, SnapshotID: v.shape.snapshot, AvailabilityZone: zone, AvailabilityZoneID: catalog.ZoneID(zone), Status: "available",
		CreateTime: wire.Time{Time: v.created}, VolumeType: v.shape.kind, IOPS: v.shape.iops, Throughput: v.shape.throughput,
		Encrypted: v.shape.key != "", KMSKeyID: v.shape.key, Tags: wire.SetOf(tagList(m.tags.seen(v.id, m.now()))),
	}
}
