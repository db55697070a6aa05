package ekscluster

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// volumes joins PersistentVolumeClaims with the volumes they name: the model has both as one. A change of either is a
// change of the claim.
type volumes struct {
	observe func(wire.Change)

	mu     sync.Mutex // held while a change is handed on, so that changes of one claim come in order
	claims map[objectKey]*corev1.PersistentVolumeClaim
	byName map[string]*corev1.PersistentVolume
	users  map[string]map[objectKey]bool // claims by the volume they name
}

func newVolumes(observe func(wire.Change)) *volumes {
	return &volumes{
		observe: observe, claims: make(map[objectKey]*corev1.PersistentVolumeClaim),
		byName: make(map[string]*corev1.PersistentVolume), users: make(map[string]map[objectKey]bool),
	}
}

func (v *volumes) claim(claim *corev1.PersistentVolumeClaim) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := objectKey{claim.Namespace, claim.Name}
	v.forget(key)
	v.claims[key] = claim
	if name := claim.Spec.VolumeName; name != "" {
		if v.users[name] == nil {
			v.users[name] = make(map[objectKey]bool)
		}
		v.users[name][key] = true
	}
	v.notify(key)
}

func (v *volumes) claimGone(namespace, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.forget(objectKey{namespace, name})
	v.observe(wire.Change{Deleted: true, Volume: &model.Volume{Namespace: namespace, Name: name}})
}

// forget takes a claim out of both indexes.
func (v *volumes) forget(key objectKey) {
	old := v.claims[key]
	if old == nil {
		return
	}
	delete(v.claims, key)
	if users := v.users[old.Spec.VolumeName]; users != nil {
		delete(users, key)
		if len(users) == 0 {
			delete(v.users, old.Spec.VolumeName)
		}
	}
}

func (v *volumes) volume(volume *corev1.PersistentVolume) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byName[volume.Name] = volume
	v.notifyUsers(volume.Name)
}

func (v *volumes) volumeGone(_, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.byName, name)
	v.notifyUsers(name)
}

func (v *volumes) notifyUsers(name string) {
	for key := range v.users[name] {
		v.notify(key)
	}
}

func (v *volumes) notify(key objectKey) {
	claim := v.claims[key]
	v.observe(wire.Change{Volume: ref(translate.Volume(claim, v.byName[claim.Spec.VolumeName]))})
}
