package translate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestVolumesThatAreStillAttachedCountAgainstTheLimit(t *testing.T) {
	const node = `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1}
spec: {drivers: [{name: ebs.csi.aws.com, nodeID: x, allocatable: {count: 3}}, {name: other, nodeID: x, allocatable: {count: 9}}]}
`
	volume := func(name string) string {
		return `
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ` + name + `}
spec: {csi: {driver: ebs.csi.aws.com, volumeHandle: ` + name + `}}
`
	}
	attached := func(name, volume, node string) string {
		return `
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: ` + name + `}
spec: {attacher: ebs.csi.aws.com, nodeName: ` + node + `, source: {persistentVolumeName: ` + volume + `}}
`
	}
	used := func(phase string) string {
		return `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: a, name: data, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: pv-1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: a, name: db}
spec: {nodeName: node-1, containers: [], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
status: {phase: ` + phase + `}
`
	}
	cases := map[string]struct {
		objects string
		want    int64
	}{
		"nothing attached":                {volume("pv-1"), 3},
		"attached and nobody's":           {volume("pv-1") + attached("x", "pv-1", "node-1"), 2},
		"attached and used":               {volume("pv-1") + attached("x", "pv-1", "node-1") + used("Running"), 3},
		"used by a pod that has ended":    {volume("pv-1") + attached("x", "pv-1", "node-1") + used("Failed"), 2},
		"attached elsewhere":              {volume("pv-1") + attached("x", "pv-1", "node-2"), 3},
		"told twice":                      {volume("pv-1") + attached("x", "pv-1", "node-1") + attached("z", "pv-1", "node-1"), 2},
		"a volume that is not there":      {attached("x", "pv-1", "node-1"), 3},
		"more than the limit":             {volume("a") + volume("b") + volume("c") + volume("d") + attached("a", "a", "node-1") + attached("b", "b", "node-1") + attached("c", "c", "node-1") + attached("d", "d", "node-1"), 0},
		"one of another driver":           {volume("pv-1") + strings.Replace(attached("x", "pv-1", "node-1"), "ebs.csi.aws.com", "none", 1), 3},
		"a disk that is named in the pod": {strings.Replace(attached("x", "pv-1", "node-1"), "persistentVolumeName: pv-1", "inlineVolumeSpec: {}", 1), 3},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := build(t, Builder{}, strings.TrimPrefix(node, "\n")+tt.objects)
			want := []model.CSINode{{Node: "node-1", Limits: map[string]int64{"ebs.csi.aws.com": tt.want, "other": 9}}}
			if !reflect.DeepEqual(s.CSINodes, want) {
				t.Errorf("got %+v, want %+v", s.CSINodes, want)
			}
		})
	}
}
