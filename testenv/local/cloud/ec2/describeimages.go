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

type describeImagesInput struct {
	ImageIDs          []string `query:"ImageId"`
	Owners            []string `query:"Owner"`
	ExecutableBy      []string
	Filters           []Filter `query:"Filter"`
	IncludeDeprecated bool
	IncludeDisabled   bool
	NextToken         string
	MaxResults        *int
}

type describeImagesOutput struct {
	NextToken string              `xml:"nextToken,omitempty"`
	Images    wire.Set[imageView] `xml:"imagesSet"`
}

type imageView struct {
	ImageID            string                    `xml:"imageId"`
	ImageLocation      string                    `xml:"imageLocation"`
	State              string                    `xml:"imageState"`
	OwnerID            string                    `xml:"imageOwnerId"`
	OwnerAlias         string                    `xml:"imageOwnerAlias,omitempty"`
	CreationDate       string                    `xml:"creationDate"`
	IsPublic           bool                      `xml:"isPublic"`
	Architecture       string                    `xml:"architecture"`
	ImageType          string                    `xml:"imageType"`
	Platform           string                    `xml:"platform,omitempty"`
	PlatformDetails    string                    `xml:"platformDetails"`
	Name               string                    `xml:"name"`
	Description        string                    `xml:"description"`
	RootDeviceName     string                    `xml:"rootDeviceName"`
	RootDeviceType     string                    `xml:"rootDeviceType"`
	Volumes            wire.Set[imageVolumeView] `xml:"blockDeviceMapping"`
	VirtualizationType string                    `xml:"virtualizationType"`
	Hypervisor         string                    `xml:"hypervisor"`
	ENASupport         bool                      `xml:"enaSupport"`
	IMDSSupport        string                    `xml:"imdsSupport,omitempty"`
	DeprecationTime    string                    `xml:"deprecationTime,omitempty"`
	SourceImageID      string                    `xml:"sourceImageId,omitempty"`
	SourceImageRegion  string                    `xml:"sourceImageRegion,omitempty"`
	Tags               wire.Set[Tag]             `xml:"tagSet"`
}

type imageVolumeView struct {
	DeviceName string   `xml:"deviceName"`
	EBS        EBSBlock `xml:"ebs"`
}

var imageFields = fields[imageView]{
	"architecture":        func(i imageView) []string { return one(i.Architecture) },
	"creation-date":       func(i imageView) []string { return one(i.CreationDate) },
	"description":         func(i imageView) []string { return one(i.Description) },
	"image-id":            func(i imageView) []string { return one(i.ImageID) },
	"image-type":          func(i imageView) []string { return one(i.ImageType) },
	"is-public":           func(i imageView) []string { return one(strconv.FormatBool(i.IsPublic)) },
	"name":                func(i imageView) []string { return one(i.Name) },
	"owner-alias":         func(i imageView) []string { return one(i.OwnerAlias) },
	"owner-id":            func(i imageView) []string { return one(i.OwnerID) },
	"platform":            func(i imageView) []string { return one(i.Platform) },
	"root-device-name":    func(i imageView) []string { return one(i.RootDeviceName) },
	"root-device-type":    func(i imageView) []string { return one(i.RootDeviceType) },
	"state":               func(i imageView) []string { return one(i.State) },
	"virtualization-type": func(i imageView) []string { return one(i.VirtualizationType) },
}

// describeImages hides deprecated images of others unless they are asked for
// by id or with IncludeDeprecated.
func (m *Model) describeImages(_ context.Context, in *describeImagesInput) (*describeImagesOutput, error) {
	m.lock()
	defer m.unlock()
	for _, id := range in.ImageIDs {
		if _, err := m.image(id); err != nil {
			return nil, err
		}
	}
	views := []imageView{}
	for _, image := range m.allImages() {
		deprecated := !image.DeprecatedAt.IsZero() && !image.DeprecatedAt.After(m.now())
		named := slices.Contains(in.ImageIDs, image.ID)
		switch {
		case len(in.ImageIDs) > 0 && !named:
		case len(in.Owners) > 0 && !m.ownedBy(image, in.Owners):
		case deprecated && !named && !in.IncludeDeprecated && image.OwnerID != m.account:
		default:
			views = append(views, m.viewImage(image))
		}
	}
	tags := func(i imageView) map[string]string { return m.tags.seen(i.ImageID, m.now()) }
	views, err := filter(views, in.Filters, imageFields, tags)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(views, func(a, b imageView) int { return strings.Compare(a.ImageID, b.ImageID) })
	views, next, err := page(views, func(i imageView) string { return i.ImageID }, pages{1, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeImagesOutput{next, wire.SetOf(views)}, nil
}

func (m *Model) ownedBy(image catalog.Image, owners []string) bool {
	return slices.ContainsFunc(owners, func(owner string) bool {
		return owner == image.OwnerID || owner == "self" && image.OwnerID == m.account || owner != "" && owner == image.OwnerAlias
	})
}

func (m *Model) viewImage(image catalog.Image) imageView {
	v := imageView{
		ImageID: image.ID, ImageLocation: cmp.Or(image.OwnerAlias, image.OwnerID) + "/" + image.Name, State: "available",
		OwnerID: image.OwnerID, OwnerAlias: image.OwnerAlias, CreationDate: timeText(image.CreationTime),
		IsPublic: image.OwnerID != m.account, Architecture: image.Architecture, ImageType: "machine",
		PlatformDetails: image.Platform, Name: image.Name, Description: image.Description,
		RootDeviceName: image.RootDevice, RootDeviceType: "ebs", VirtualizationType: "hvm", Hypervisor: "xen", ENASupport: true,
		Tags: wire.SetOf(tagList(m.tags.seen(image.ID, m.now()))),
	}
	if image.Platform == windows {
		v.Platform = "windows"
	}
	if source := m.copies[image.ID]; source != "" {
		v.SourceImageID, v.SourceImageRegion = source, catalog.Region
	}
	if image.RequiresIMDSv2 {
		v.IMDSSupport = "v2.0"
	}
	if !image.DeprecatedAt.IsZero() {
		v.DeprecationTime = timeText(image.DeprecatedAt)
	}
	for _, vol := range image.Volumes {
		size, yes := vol.SizeGiB, true
		v.Volumes.Items = append(v.Volumes.Items, imageVolumeView{vol.Device, EBSBlock{
			DeleteOnTermination: &yes, SnapshotID: snapshotOf(image, vol.Device), VolumeSize: &size, VolumeType: imageVolumeType,
		}})
	}
	return v
}

// imageVolumeType is the type of every volume an image declares.
const imageVolumeType = "gp3"

// snapshotOf returns the snapshot that an image has for a device.
func snapshotOf(image catalog.Image, device string) string {
	return "snap-0" + digest(image.ID + device)[:16]
}
