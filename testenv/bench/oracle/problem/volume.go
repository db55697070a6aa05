package problem

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumes gives the workload one or two volumes.
func (m *maker) volumes(w *workload) {
	var makers []func(replica int) corev1.Volume
	for i := range pick(m.die, 1, 1, 2) {
		makers = append(makers, m.volume(w, fmt.Sprintf("%s-data%d", w.name, i), fmt.Sprintf("v%d", i)))
	}
	w.claims = func(replica int) []corev1.Volume {
		var out []corev1.Volume
		for _, next := range makers {
			out = append(out, next(replica))
		}
		return out
	}
}

// volume decides of what kind a volume is, and returns what makes it for a replica.
func (m *maker) volume(w *workload, claim, volume string) func(replica int) corev1.Volume {
	once := corev1.ReadWriteOnce
	if m.chance(10) {
		once = corev1.ReadWriteOncePod
	}
	shared := func(create func()) func(int) corev1.Volume {
		create()
		return func(int) corev1.Volume { return claimVolume(volume, claim) }
	}
	each := func(create func(name string)) func(int) corev1.Volume {
		return func(replica int) corev1.Volume {
			name := fmt.Sprintf("%s-%02d", claim, replica)
			create(name)
			return claimVolume(volume, name)
		}
	}
	switch kind := m.IntN(100); {
	case kind < 12: // one volume that exists, for all of them
		return shared(func() { m.bound(w.namespace, claim, once, pick(m.die, ebs, efs), m.someZones()) })
	case kind < 40: // one that exists for each, in any zone
		return each(func(name string) { m.bound(w.namespace, name, once, ebs, []string{pick(m.die, zones...)}) })
	case kind < 60: // one for each, made where its pod goes
		class := pick(m.die, classWait, classWait, classLimited, classShared)
		return each(func(name string) { m.claim(w.namespace, name, class, once) })
	case kind < 68: // one for all, made where the first goes
		class := pick(m.die, classWait, classLimited)
		return shared(func() { m.claim(w.namespace, claim, class, once) })
	case kind < 90:
		return m.ephemeral(w, volume, once)
	case kind < 94: // waits for nobody and is not there
		return shared(func() { m.claim(w.namespace, claim, classNow, once) })
	case kind < 97: // nobody makes it
		return shared(func() { m.claim(w.namespace, claim, classLocal, once) })
	default: // a claim that does not exist
		return shared(func() {})
	}
}

func (m *maker) someZones() []string {
	if m.chance(50) {
		return []string{pick(m.die, zones...)}
	}
	return some(m.die, zones...)
}

func claimVolume(volume, claim string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

func claimSpec(class string, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: &class,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// claim makes a claim that no volume is bound to.
func (m *maker) claim(namespace, name, class string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: meta(namespace, name), Spec: claimSpec(class, mode)}
	c.Status.Phase = corev1.ClaimPending
	m.Claims = append(m.Claims, c)
	return c
}

// bound makes a claim and the volume bound to it, which can be reached from the zones: by one term that lists them, by a
// term for each, or, for volumes of old, by the volume's label.
func (m *maker) bound(namespace, name string, mode corev1.PersistentVolumeAccessMode, driver string, in []string) {
	class := classWait
	if driver == efs {
		class = classShared
	}
	c := m.claim(namespace, name, class, mode)
	c.Spec.VolumeName = "pv-" + namespace + "-" + name
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	c.Status.Phase = corev1.ClaimBound
	v := &corev1.PersistentVolume{ObjectMeta: meta("", c.Spec.VolumeName), Spec: corev1.PersistentVolumeSpec{
		AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests, StorageClassName: class,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "vol-" + name}},
		ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name, UID: c.UID},
	}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}}
	switch {
	case driver == efs:
	case len(in) == 1 && m.chance(10):
		v.Labels = map[string]string{corev1.LabelTopologyZone: in[0]}
	case m.chance(30):
		for _, zone := range in {
			reachable(v, zone)
		}
	default:
		reachable(v, in...)
	}
	m.Volumes = append(m.Volumes, v)
}

// reachable adds a term: the volume can be used from nodes in the zones.
func reachable(v *corev1.PersistentVolume, in ...string) {
	if v.Spec.NodeAffinity == nil {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
	}
	required := v.Spec.NodeAffinity.Required
	required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: in},
	}})
}

// ephemeral returns what gives each replica a volume that goes with it. Its claim is there already, or not yet.
func (m *maker) ephemeral(w *workload, volume string, mode corev1.PersistentVolumeAccessMode) func(replica int) corev1.Volume {
	class := pick(m.die, classWait, classLimited)
	made := m.chance(50)
	return func(replica int) corev1.Volume {
		pod := fmt.Sprintf("%s-%02d", w.name, replica)
		if made {
			yes := true
			c := m.claim(w.namespace, pod+"-"+volume, class, mode)
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: meta(w.namespace, pod).UID, Controller: &yes}}
		}
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(class, mode)},
		}}}
	}
}

// storable reports whether all volumes of the pod exist and no other pod may mind its using them.
func (m *maker) storable(pod *corev1.Pod) bool {
	found := m.volumesOf(pod)
	for _, v := range found {
		if v.Spec.AccessModes[0] == corev1.ReadWriteOncePod && m.chance(70) {
			return false
		}
	}
	return len(found) == len(pod.Spec.Volumes)
}

// volumesOf returns the volumes bound to the pod's claims.
func (m *maker) volumesOf(pod *corev1.Pod) []*corev1.PersistentVolume {
	var out []*corev1.PersistentVolume
	for _, volume := range pod.Spec.Volumes {
		for _, v := range m.Volumes {
			if c := volume.PersistentVolumeClaim; c != nil && v.Spec.ClaimRef.Namespace == pod.Namespace && v.Spec.ClaimRef.Name == c.ClaimName {
				out = append(out, v)
			}
		}
	}
	return out
}
