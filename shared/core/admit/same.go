package admit

import (
	"reflect"

	"github.com/joiner-sh/joiner/shared/model"
)

// samePool reports whether two versions of a pool want the same.
func samePool(a, b model.Pool) bool {
	for _, p := range []*model.Pool{&a, &b} {
		p.UID, p.Generation, p.DeletedUnix, p.Annotations = "", 0, 0, nil
	}
	return reflect.DeepEqual(a, b)
}

// sameClass is samePool of classes; what their selectors found does not count.
func sameClass(a, b model.Class) bool {
	for _, c := range []*model.Class{&a, &b} {
		c.UID, c.Generation, c.DeletedUnix, c.Annotations, c.Status = "", 0, 0, nil, model.ClassStatus{}
	}
	return reflect.DeepEqual(a, b)
}
