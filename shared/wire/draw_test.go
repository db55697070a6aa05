package wire

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/draw"
	"pgregory.net/rapid"
)

func drawAny[T any](t *rapid.T, label string) T { return draw.Any[T](t, label, draw.Options{}) }

// drawWhole makes a snapshot that uses every field of every kind.
func drawWhole(t *rapid.T) *model.Snapshot {
	s := drawSnapshot(t)
	for range rapid.IntRange(0, 2).Draw(t, "more shapes") {
		s.Shapes = append(s.Shapes, drawAny[model.PodShape](t, "shape"))
	}
	s.Nodes = drawSorted(t, "nodes", nodeKey, func() model.Node { return named(t, drawAny[model.Node](t, "node")) })
	s.Pools = drawSorted(t, "pools", poolKey, func() model.Pool { return named(t, drawAny[model.Pool](t, "pool")) })
	s.Classes = drawSorted(t, "classes", classKey, func() model.Class { return named(t, drawAny[model.Class](t, "class")) })
	s.Claims = drawSorted(t, "claims", claimKey, func() model.Object { return named(t, drawAny[model.Object](t, "claim")) })
	s.Namespaces = drawSorted(t, "namespaces", namespaceKey, func() model.Namespace { return named(t, drawAny[model.Namespace](t, "namespace")) })
	s.Budgets = drawSorted(t, "budgets", budgetKey, func() model.PDB { return named(t, drawAny[model.PDB](t, "budget")) })
	s.Volumes = drawSorted(t, "volumes", volumeKey, func() model.Volume { return named(t, drawAny[model.Volume](t, "volume")) })
	s.Storage = drawSorted(t, "storage", storageKey, func() model.Storage { return named(t, drawAny[model.Storage](t, "storage")) })
	s.CSINodes = drawSorted(t, "csiNodes", csiNodeKey, func() model.CSINode { return named(t, drawAny[model.CSINode](t, "csiNode")) })
	s.DaemonSets = drawSorted(t, "daemons", daemonSetKey, func() model.DaemonSet {
		d := named(t, drawAny[model.DaemonSet](t, "daemon"))
		d.Shape = rapid.IntRange(0, len(s.Shapes)-1).Draw(t, "shape")
		return d
	})
	s.Buffers = drawSorted(t, "buffers", bufferKey, func() model.Buffer {
		b := named(t, drawAny[model.Buffer](t, "buffer"))
		b.Replicas, b.Shape = int32(rapid.IntRange(0, MaxBufferPods).Draw(t, "replicas")), rapid.IntRange(0, len(s.Shapes)-1).Draw(t, "shape")
		return b
	})
	s.Overlays = drawSorted(t, "overlays", overlayKey, func() model.Overlay {
		return named(t, drawAny[model.Overlay](t, "overlay"))
	})
	s.ResourceClaims = drawSorted(t, "resource claims", resourceClaimKey, func() model.ResourceClaim {
		return named(t, drawAny[model.ResourceClaim](t, "resource claim"))
	})
	s.ResourceClaimTemplates = drawSorted(t, "claim templates", claimTemplateKey, func() model.ResourceClaimTemplate {
		return named(t, drawAny[model.ResourceClaimTemplate](t, "claim template"))
	})
	s.DeviceClasses = drawSorted(t, "device classes", deviceClassKey, func() model.DeviceClass {
		return named(t, drawAny[model.DeviceClass](t, "device class"))
	})
	s.ResourceSlices = drawSorted(t, "slices", sliceKey, func() model.ResourceSlice {
		return named(t, drawAny[model.ResourceSlice](t, "slice"))
	})
	return s
}

// named gives an object a name that differs from others'.
func named[T any](t *rapid.T, object T) T {
	v := reflect.ValueOf(&object).Elem()
	for _, field := range []string{"Name", "Node"} {
		if f := v.FieldByName(field); f.IsValid() {
			f.SetString(drawName(t))
			break
		}
	}
	if f := v.FieldByName("Namespace"); f.IsValid() {
		f.SetString(drawNamespace(t))
	}
	return object
}

func TestEveryFieldOfTheModelSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawWhole(t)
		data, err := EncodeSnapshot(want)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		got, err := DecodeSnapshot(data)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %s\nwant %s", text(got), text(want))
		}
		d := &Delta{Cluster: want.Cluster, Epoch: want.Epoch, Seq: want.Seq + 1, FirstShape: len(want.Shapes), Shapes: want.Shapes,
			Nodes: want.Nodes, Pools: want.Pools, Classes: want.Classes, Claims: want.Claims, DaemonSets: want.DaemonSets,
			Namespaces: want.Namespaces, Budgets: want.Budgets, Volumes: want.Volumes, Storage: want.Storage, CSINodes: want.CSINodes,
			Buffers: want.Buffers, Overlays: want.Overlays, ResourceClaims: want.ResourceClaims,
			ResourceClaimTemplates: want.ResourceClaimTemplates, DeviceClasses: want.DeviceClasses,
			ResourceSlices: want.ResourceSlices}
		if data, err = EncodeDelta(d); err != nil {
			t.Fatalf("encode segment: %v", err)
		}
		read, err := DecodeDelta(data)
		if err != nil {
			t.Fatalf("decode segment: %v", err)
		}
		if !reflect.DeepEqual(read, d) {
			t.Fatalf("got %s\nwant %s", text(read), text(d))
		}
	})
}

// Two shapes that differ in anything are two: a digest that left a field out would give one pod another's needs.
func TestShapesThatDifferAnywhereAreTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawAny[model.PodShape](t, "a"), drawAny[model.PodShape](t, "b")
		if rapid.Bool().Draw(t, "alike but for one field") {
			b = a
			fields := reflect.TypeFor[model.PodShape]().NumField()
			n := rapid.IntRange(0, fields-1).Draw(t, "field")
			draw.Fill(t, "changed", reflect.ValueOf(&b).Elem().Field(n), draw.Options{})
		}
		var shapes Shapes
		first, _ := shapes.Intern(&a)
		second, _ := shapes.Intern(&b)
		if same := reflect.DeepEqual(a, b); same != (first == second) {
			t.Fatalf("equal %v, numbers %d and %d:\n%s\n%s", same, first, second, text(a), text(b))
		}
	})
}
