package offering

import "github.com/joiner-sh/joiner/shared/model"

// ImageFor returns the first image, in status order, that the type can boot; false where there is none. A label the type
// does not have counts as absent: an image that asks for a GPU does not fit a type without.
func ImageFor(class model.Class, t model.InstanceType) (model.Image, bool) {
	for _, image := range class.Status.Images {
		if bootsOn(image, t) {
			return image, true
		}
	}
	return model.Image{}, false
}

func bootsOn(image model.Image, t model.InstanceType) bool {
	for _, r := range image.Requirements {
		if len(t.Labels[r.Key]) == 0 {
			if !meets(r, "", false) {
				return false
			}
			continue
		}
		if len(valuesMeeting(&t, r.Key, image.Requirements)) == 0 {
			return false
		}
	}
	return true
}
