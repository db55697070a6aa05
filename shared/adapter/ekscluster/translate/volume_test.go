package translate

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestVolume(t *testing.T) {
	claim := parse[corev1.PersistentVolumeClaim](t, `{metadata: {namespace: a, name: data, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {storageClassName: gp3, volumeName: pv-1, accessModes: [ReadWriteOncePod]}, status: {phase: Bound}}`)
	volume := parse[corev1.PersistentVolume](t, `{metadata: {name: pv-1}, spec: {csi: {driver: ebs.csi.aws.com, volumeHandle: v}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}}`)
	zone := []model.NodeTerm{{Requirements: []model.Requirement{{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"a"}}}}}
	bound := model.Volume{Namespace: "a", Name: "data", Class: "gp3", Phase: "Bound", VolumeName: "pv-1", Driver: "ebs.csi.aws.com", Affinity: zone, OncePod: true}
	missing := model.Volume{Namespace: "a", Name: "data", Class: "gp3", Phase: "Bound", VolumeName: "pv-1", Missing: true, OncePod: true}
	if got := Volume(claim, volume); !reflect.DeepEqual(got, bound) {
		t.Errorf("bound\n got %+v\nwant %+v", got, bound)
	}
	if got := Volume(claim, nil); !reflect.DeepEqual(got, missing) {
		t.Errorf("missing\n got %+v\nwant %+v", got, missing)
	}
	if got := Volume(StripClaim(claim), StripVolume(volume)); !reflect.DeepEqual(got, bound) {
		t.Errorf("stripped\n got %+v\nwant %+v", got, bound)
	}
}

func TestVolumeOfAClaim(t *testing.T) {
	cases := map[string]struct {
		claim string
		check func(model.Volume) bool
	}{
		"class by annotation":         {`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}}`, func(v model.Volume) bool { return v.Class == "slow" && !v.Missing && !v.Unbound }},
		"annotation before field":     {`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}, spec: {storageClassName: gp3}}`, func(v model.Volume) bool { return v.Class == "slow" }},
		"the default class":           {`{metadata: {name: a}}`, func(v model.Volume) bool { return v.Class == "" }},
		"no class, in so many words":  {`{spec: {storageClassName: ""}}`, func(v model.Volume) bool { return v.Class == model.NoStorageClass }},
		"binding under way":           {`{spec: {volumeName: pv-2}}`, func(v model.Volume) bool { return v.Unbound && v.Missing }},
		"bound":                       {`{metadata: {annotations: {pv.kubernetes.io/bind-completed: ""}}, spec: {volumeName: pv-2}}`, func(v model.Volume) bool { return !v.Unbound }},
		"nothing to bind yet":         {`{metadata: {name: a}}`, func(v model.Volume) bool { return !v.Unbound && v.VolumeName == "" }},
		"lost":                        {`{spec: {volumeName: pv-2}, status: {phase: Lost}}`, func(v model.Volume) bool { return v.Phase == "Lost" }},
		"one pod at a time":           {`{spec: {accessModes: [ReadWriteOnce, ReadWriteOncePod]}}`, func(v model.Volume) bool { return v.OncePod }},
		"one node is not one pod":     {`{spec: {accessModes: [ReadWriteOnce]}}`, func(v model.Volume) bool { return !v.OncePod }},
		"being deleted while in use":  {`{metadata: {deletionTimestamp: "2026-11-20T12:00:00Z"}}`, func(v model.Volume) bool { return v.DeletedUnix > 0 }},
		"its own labels say no place": {`{metadata: {labels: {topology.kubernetes.io/zone: a}}}`, func(v model.Volume) bool { return v.Affinity == nil }},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			claim := parse[corev1.PersistentVolumeClaim](t, tt.claim)
			if got := Volume(StripClaim(claim), nil); !tt.check(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhereAVolumeIs(t *testing.T) {
	at := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: model.In, Values: values}
	}
	cases := map[string]struct {
		volume string
		want   model.Volume
	}{
		"local":                {`{metadata: {name: pv}, spec: {local: {path: SECRET}}}`, model.Volume{Local: true}},
		"a path of the host":   {`{metadata: {name: pv}, spec: {hostPath: {path: SECRET}}}`, model.Volume{Local: true}},
		"in-tree disk":         {`{metadata: {name: pv}, spec: {awsElasticBlockStore: {volumeID: SECRET}}}`, model.Volume{Driver: "ebs.csi.aws.com"}},
		"labels alone":         {`{metadata: {name: pv, labels: {topology.kubernetes.io/zone: a}}, spec: {awsElasticBlockStore: {volumeID: SECRET}}}`, model.Volume{Driver: "ebs.csi.aws.com", Affinity: []model.NodeTerm{{Requirements: []model.Requirement{at("topology.kubernetes.io/zone", "a")}}}}},
		"labels of old":        {`{metadata: {name: pv, labels: {failure-domain.beta.kubernetes.io/zone: a__b, failure-domain.beta.kubernetes.io/region: r}}}`, model.Volume{Affinity: []model.NodeTerm{{Requirements: []model.Requirement{at("failure-domain.beta.kubernetes.io/zone", "a", "b"), at("failure-domain.beta.kubernetes.io/region", "r")}}}}},
		"labels narrow terms":  {`{metadata: {name: pv, labels: {topology.kubernetes.io/zone: a}}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: In, values: [w]}]}, {}]}}}}`, model.Volume{Affinity: []model.NodeTerm{{Requirements: []model.Requirement{at("x", "w"), at("topology.kubernetes.io/zone", "a")}}, {}}}},
		"other labels are not": {`{metadata: {name: pv, labels: {app: db}}}`, model.Volume{}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			claim := parse[corev1.PersistentVolumeClaim](t, `{metadata: {name: data, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: pv}}`)
			volume := parse[corev1.PersistentVolume](t, tt.volume)
			before := volume.DeepCopy()
			tt.want.Name, tt.want.VolumeName = "data", "pv"
			for range 2 { // joining twice says the same, as it writes to no volume
				if got := Volume(claim, StripVolume(volume)); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("\n got %+v\nwant %+v", got, tt.want)
				}
			}
			if !reflect.DeepEqual(before, volume) {
				t.Error("the volume was written to")
			}
		})
	}
}

func TestEphemeralClaims(t *testing.T) {
	pod, shape := Pod(parsePod(t, `
metadata: {name: web-0}
spec:
  containers: []
  volumes:
  - {name: a, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast, accessModes: [ReadWriteOncePod]}}}}
  - {name: b, persistentVolumeClaim: {claimName: data}}
  - {name: c, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}, spec: {}}}}
  - {name: d, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: ""}}}}
  - {name: e, ephemeral: {}}
`))
	want := []model.EphemeralClaim{{Volume: "a", Class: "fast", OncePod: true}, {Volume: "c", Class: "slow"}, {Volume: "d", Class: model.NoStorageClass}, {Volume: "e"}}
	if !reflect.DeepEqual(shape.Ephemeral, want) {
		t.Errorf("\n got %+v\nwant %+v", shape.Ephemeral, want)
	}
	if want := []string{"web-0-a", "data", "web-0-c", "web-0-d", "web-0-e"}; !reflect.DeepEqual(pod.Claims, want) {
		t.Errorf("claims: got %q, want %q", pod.Claims, want)
	}
}

func TestAClaimThatWasNeverStoredGetsTheDefaultClass(t *testing.T) {
	const storage = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: p
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: p
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: a}
provisioner: p
---
apiVersion: v1
kind: PersistentVolumeClaim
`
	for claim, want := range map[string]string{
		`metadata: {namespace: a, name: data}`:                                 "fast",
		`metadata: {namespace: a, name: data, uid: u}`:                         "",
		"metadata: {namespace: a, name: data}\nspec: {storageClassName: a}":    "a",
		"metadata: {namespace: a, name: data}\nspec: {storageClassName: \"\"}": model.NoStorageClass,
		"metadata: {namespace: a, name: data}\nspec: {volumeName: pv}":         "",
	} {
		s := build(t, Builder{}, strings.TrimPrefix(storage, "\n")+claim)
		if got := s.Volumes[0].Class; got != want {
			t.Errorf("%s: got %q, want %q", claim, got, want)
		}
	}
}

func TestStorageClass(t *testing.T) {
	got := StorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: gp3}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: z, values: [a, b]}]}]}`))
	want := model.Storage{Name: "gp3", Provisioner: "ebs.csi.aws.com", AllowedTopologies: []model.NodeTerm{{Requirements: []model.Requirement{{Key: "z", Operator: model.In, Values: []string{"a", "b"}}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if !StorageClass(&storagev1.StorageClass{}).Immediate {
		t.Error("the default is Immediate")
	}
	old := StorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: gp2, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: kubernetes.io/aws-ebs}`))
	if old.Provisioner != "ebs.csi.aws.com" || !old.Default {
		t.Errorf("the in-tree provisioner is the driver's, and the class the default: %+v", old)
	}
	for value, want := range map[string]bool{"true": true, "false": false, "yes": false} {
		class := &storagev1.StorageClass{}
		class.Annotations = map[string]string{"storageclass.beta.kubernetes.io/is-default-class": value}
		if got := StorageClass(class).Default; got != want {
			t.Errorf("annotation %q: got %v, want %v", value, got, want)
		}
	}
}
