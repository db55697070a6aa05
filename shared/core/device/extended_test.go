package device_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/model"
)

// F095: kube-scheduler takes the newest of the classes that stand for one extended resource, then the first by name.
func TestF095NewestClassStandsForAnExtendedResource(t *testing.T) {
	class := func(name string, created int64) model.DeviceClass {
		return model.DeviceClass{Name: name, Spec: `{"extendedResourceName":"example.com/gpu"}`, CreatedUnix: created}
	}
	for want, classes := range map[string][]model.DeviceClass{
		"new": {class("a", 1), class("new", 2), class("z", 1)},
		"b":   {class("c", 3), class("b", 3), class("a", 2)},
		"a":   {class("b", 0), class("a", 0)}, // of a version that did not note when
	} {
		if got := device.Extended(&model.Snapshot{DeviceClasses: classes})["example.com/gpu"]; got != want {
			t.Errorf("%+v: class %s, want %s", classes, got, want)
		}
	}
}
