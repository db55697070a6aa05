package ec2

import (
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// AddImage adds an image of the account's own, with tags, to the published
// ones, and returns its id. An empty ID, OwnerID, Platform or RootDevice is filled in.
func (m *Model) AddImage(image catalog.Image, tags map[string]string) string {
	m.lock()
	defer m.unlock()
	if image.ID == "" {
		image.ID = m.newID("ami")
	}
	if image.OwnerID == "" {
		image.OwnerID = m.account
	}
	if image.Platform == "" {
		image.Platform = "Linux/UNIX"
	}
	if image.RootDevice == "" {
		image.RootDevice = "/dev/xvda"
	}
	if len(image.Volumes) == 0 {
		image.Volumes = []catalog.Volume{{Device: image.RootDevice, SizeGiB: 8}}
	}
	if image.CreationTime.IsZero() {
		image.CreationTime = m.now()
	}
	m.images = append(m.images, image)
	m.tags.set(image.ID, tags, m.now())
	return image.ID
}

// AddImageOf adds an image of the account's own by its name, an architecture of EC2 and its root device.
func AddImageOf(m *Model, name, architecture, device string, tags map[string]string) string {
	return m.AddImage(catalog.Image{Name: name, Architecture: architecture, RootDevice: device}, tags)
}

// DeprecateImage says when an image, published or the account's own, is or was deprecated; a zero time means never. It
// reports whether there is such an image.
func (m *Model) DeprecateImage(id string, at time.Time) bool {
	m.lock()
	defer m.unlock()
	if _, err := m.image(id); err != nil {
		return false
	}
	m.deprecated[id] = at
	return true
}

// allImages returns the published images and the account's own.
func (m *Model) allImages() []catalog.Image {
	all := append(catalog.Images(), m.images...)
	for i := range all {
		if at, set := m.deprecated[all[i].ID]; set {
			all[i].DeprecatedAt = at
		}
	}
	return all
}

// image finds a published image or one of the account's own.
func (m *Model) image(id string) (catalog.Image, *wire.Error) {
	if image, ok := catalog.LookupImage(id); ok {
		return image, nil
	}
	if i := slices.IndexFunc(m.images, func(i catalog.Image) bool { return i.ID == id }); i >= 0 {
		return m.images[i], nil
	}
	if !strings.HasPrefix(id, "ami-") {
		return catalog.Image{}, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
	}
	return catalog.Image{}, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
}
