package ec2

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// imageName is what an image may be called. Source: API reference, CreateImage, whose names are of the same kind.
var imageName = regexp.MustCompile(`^[A-Za-z0-9()\[\] ./'@_-]{3,128}$`)

type copyImageInput struct {
	ClientToken       string `json:"-"`
	Name              string
	Description       string
	SourceImageID     string `query:"SourceImageId"`
	SourceRegion      string
	CopyImageTags     bool
	TagSpecifications []TagSpecification `query:"TagSpecification"`
}

type copyImageOutput struct {
	ImageID string `xml:"imageId"`
}

// copyImage makes an image of the account's own of any that it can see. The copy can be launched from at once, and is not
// deprecated whatever its source is.
func (m *Model) copyImage(_ context.Context, in *copyImageInput) (*copyImageOutput, error) {
	m.lock()
	defer m.unlock()
	if err := in.check(); err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("CopyImage", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*copyImageOutput)
		return out, err
	}
	image, err := m.image(in.SourceImageID)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	if in.CopyImageTags && image.OwnerID == m.account { // tags of other accounts are theirs
		tags = m.tags.seen(image.ID, m.now())
	}
	for key, value := range tagsFor("image", in.TagSpecifications...) {
		tags[key] = value
	}
	image.ID, image.OwnerID, image.OwnerAlias = m.newID("ami"), m.account, ""
	image.Name, image.Description = in.Name, cmp.Or(in.Description, image.Description)
	image.CreationTime, image.DeprecatedAt = m.now(), time.Time{}
	m.images = append(m.images, image)
	m.copies[image.ID] = in.SourceImageID
	m.tags.set(image.ID, tags, m.now())
	out := &copyImageOutput{image.ID}
	m.remember("CopyImage", in.ClientToken, in, out)
	return out, nil
}

func (in *copyImageInput) check() error {
	switch {
	case in.Name == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter Name")
	case in.SourceImageID == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter SourceImageId")
	case in.SourceRegion == "":
		return wire.Errorf("MissingParameter", "The request must contain the parameter SourceRegion")
	case !imageName.MatchString(in.Name):
		return wire.Errorf("InvalidAMIName.Malformed", "AMI names must be between 3 and 128 characters long, and may contain letters, numbers, spaces and only the following characters: ( ) [ ] . / - ' @ _")
	case in.SourceRegion != catalog.Region:
		return wire.Errorf("UnsupportedOperation", "Copying images of other regions is not modelled: '%s'", in.SourceRegion)
	}
	return checkTagSpecifications(in.TagSpecifications, "image", "snapshot")
}

// maxDeprecateYears is how long from now a deprecation may be. Source: API reference, EnableImageDeprecation.
const maxDeprecateYears = 10

type enableImageDeprecationInput struct {
	ImageID     string `query:"ImageId"`
	DeprecateAt time.Time
}

// enableImageDeprecation says when an image of the account's own is deprecated, to the nearest minute. It may be repeated.
func (m *Model) enableImageDeprecation(_ context.Context, in *enableImageDeprecationInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	image, err := m.ownImage(in.ImageID)
	if err != nil {
		return nil, err
	}
	at, now := in.DeprecateAt.Round(time.Minute), m.now()
	switch {
	case in.DeprecateAt.IsZero():
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter DeprecateAt")
	case at.Before(now.Truncate(time.Minute)):
		return nil, wire.Errorf("InvalidParameterValue", "The value '%s' for DeprecateAt is in the past. Specify a date and time in the future.", timeText(in.DeprecateAt))
	case at.After(now.AddDate(maxDeprecateYears, 0, 0)):
		return nil, wire.Errorf("InvalidParameterValue", "The value '%s' for DeprecateAt is more than %d years from now.", timeText(in.DeprecateAt), maxDeprecateYears)
	}
	m.deprecated[image.ID] = at
	return &returnOutput{true}, nil
}

// ownImage finds an image of the account's own; those of others cannot be changed.
func (m *Model) ownImage(id string) (catalog.Image, error) {
	if id == "" {
		return catalog.Image{}, wire.Errorf("MissingParameter", "The request must contain the parameter ImageId")
	}
	image, err := m.image(id)
	if err != nil {
		return catalog.Image{}, err
	}
	if image.OwnerID != m.account {
		return catalog.Image{}, wire.StatusErrorf(http.StatusForbidden, "AuthFailure", "Not authorized for image:%s", id)
	}
	return image, nil
}
