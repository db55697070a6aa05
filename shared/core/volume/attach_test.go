package volume_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestAttachments(t *testing.T) {
	ebs := func(handle string) volume.Attachment {
		return volume.Attachment{Driver: "ebs.csi.aws.com", Handle: handle}
	}
	tests := []struct {
		name  string
		world *world
		want  []volume.Attachment
	}{
		{"no claim", newWorld(), nil},
		{"bound", newWorld().claim("data", bound()), []volume.Attachment{ebs("shop/data")}},
		{"several, sorted by driver and then by handle", newWorld().claim("logs", bound()).claim("data", bound()).claim("shared", func(v *model.Volume) { v.Driver = "a.csi" }),
			[]volume.Attachment{{Driver: "a.csi", Handle: "shop/shared"}, ebs("shop/data"), ebs("shop/logs")}},
		{"one claim in two volumes", newWorld().claim("data", bound()).claim("data", nil), []volume.Attachment{ebs("shop/data")}},
		{"no CSI driver", newWorld().claim("data", local()), nil},
		{"unbound, by its class", newWorld().class("standard", nil).claim("data", unbound("standard")), []volume.Attachment{ebs("shop/data")}},
		{"unbound, by the class of the driver once built in", newWorld().class("gp2", func(s *model.Storage) { s.Provisioner = "kubernetes.io/aws-ebs" }).claim("data", unbound("gp2")), []volume.Attachment{ebs("shop/data")}},
		{"its volume missing, by its class", newWorld().class("standard", nil).claim("data", func(v *model.Volume) { v.Missing, v.Driver = true, "" }), []volume.Attachment{ebs("shop/data")}},
		{"unbound, class missing", newWorld().claim("data", unbound("fast")), nil},
		{"claim missing", newWorld().class("standard", func(s *model.Storage) { s.Default = true }).claim("data", nil), nil},
		{"of its own, not there yet", newWorld().class("standard", func(s *model.Storage) { s.Default = true }).ephemeral("scratch", ""), []volume.Attachment{ebs("shop/db-0-scratch")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := volume.New(&test.world.snapshot).Attachments(&test.world.pod, &test.world.shape)
			if !slices.Equal(got, test.want) {
				t.Errorf("Attachments = %v, want %v", got, test.want)
			}
		})
	}
}

func TestADaemonIsKnownByItsShapeOnly(t *testing.T) {
	w := newWorld().class("zonal", topologies(zone("a"))).ephemeral("scratch", "zonal")
	index := volume.New(&w.snapshot)
	got, problem := index.NewNodeAlternatives(nil, &w.shape)
	expect(t, "Alternatives", got, problem, both(in(model.LabelZone, "a")))
	if got := index.Attachments(nil, &w.shape); len(got) != 1 || index.ReadWriteOncePodClaims(nil, &w.shape) != nil {
		t.Errorf("Attachments = %v", got)
	}
	if volume.Free(nil, &w.shape) || !volume.Free(nil, &model.PodShape{}) || volume.Free(&w.pod, &model.PodShape{}) {
		t.Error("Free is wrong about who has claims")
	}
}

func TestOncePodNamesClaimsOthersMayWant(t *testing.T) {
	once := func(v *model.Volume) { v.OncePod = true }
	w := newWorld().claim("logs", once).claim("data", once).claim("shared", bound()).claim("gone", nil)
	w.ephemeral("scratch", "standard").claim("db-0-scratch", once)
	w.shape.Ephemeral[0].OncePod = true
	got := volume.New(&w.snapshot).ReadWriteOncePodClaims(&w.pod, &w.shape)
	if want := []string{"shop/data", "shop/logs"}; !slices.Equal(got, want) {
		t.Errorf("OncePod = %v, want %v", got, want)
	}
}

func TestLimits(t *testing.T) {
	limits := map[string]int64{"ebs.csi.aws.com": 25}
	index := volume.New(&model.Snapshot{CSINodes: []model.CSINode{{Node: "n1", Limits: limits}}})
	if got := index.Limits("n1"); !maps.Equal(got, limits) {
		t.Errorf("Limits = %v", got)
	}
	if got := index.Limits("n2"); got != nil {
		t.Errorf("Limits of a node nothing is known of = %v", got)
	}
}
