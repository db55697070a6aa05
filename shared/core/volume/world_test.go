package volume_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// world is the part of a cluster that volumes are about, with one pod, shop/db-0, of one shape.
type world struct {
	snapshot model.Snapshot
	pod      model.Pod
	shape    model.PodShape
}

func newWorld() *world {
	return &world{pod: model.Pod{Namespace: "shop", Name: "db-0"}, shape: model.PodShape{Namespace: "shop"}}
}

// claim gives the pod a claim and, unless change is nil, makes it exist: bound to the volume pv-<name> of the EBS driver.
func (w *world) claim(name string, change func(*model.Volume)) *world {
	w.pod.Claims = append(w.pod.Claims, name)
	if change != nil {
		v := model.Volume{Namespace: "shop", Name: name, Class: "standard", Phase: "Bound", VolumeName: "pv-" + name, Driver: "ebs.csi.aws.com"}
		change(&v)
		w.snapshot.Volumes = append(w.snapshot.Volumes, v)
	}
	return w
}

func (w *world) ephemeral(volume, class string) *world {
	w.shape.Ephemeral = append(w.shape.Ephemeral, model.EphemeralClaim{Volume: volume, Class: class})
	w.pod.Claims = append(w.pod.Claims, w.pod.Name+"-"+volume)
	return w
}

func (w *world) class(name string, change func(*model.Storage)) *world {
	s := model.Storage{Name: name, Provisioner: "ebs.csi.aws.com"}
	if change != nil {
		change(&s)
	}
	w.snapshot.Storage = append(w.snapshot.Storage, s)
	return w
}

func (w *world) node(name string) *world {
	w.snapshot.Nodes = append(w.snapshot.Nodes, model.Node{Name: name, Labels: map[string]string{model.LabelHostname: name}})
	return w
}

func (w *world) alternatives() ([]requirement.Requirements, *volume.Problem) {
	return volume.New(&w.snapshot).NewNodeAlternatives(&w.pod, &w.shape)
}

func (w *world) existing() ([]requirement.Requirements, *volume.Problem) {
	return volume.New(&w.snapshot).ExistingNodeAlternatives(&w.pod, &w.shape)
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func term(list ...model.Requirement) model.NodeTerm { return model.NodeTerm{Requirements: list} }

func zone(names ...string) model.NodeTerm { return term(in(model.LabelZone, names...)) }

func host(names ...string) model.Requirement { return in(model.LabelHostname, names...) }

// bound puts the volume where any of the terms holds.
func bound(terms ...model.NodeTerm) func(*model.Volume) {
	return func(v *model.Volume) { v.Affinity = terms }
}

func local(terms ...model.NodeTerm) func(*model.Volume) {
	return func(v *model.Volume) { v.Affinity, v.Local, v.Driver = terms, true, "" }
}

func unbound(class string) func(*model.Volume) {
	return func(v *model.Volume) { v.Phase, v.VolumeName, v.Driver, v.Class = "Pending", "", "", class }
}

func topologies(terms ...model.NodeTerm) func(*model.Storage) {
	return func(s *model.Storage) { s.AllowedTopologies = terms }
}

// expect holds an answer to what the requirements, each written as a list, say; none = anywhere.
func expect(t *testing.T, what string, got []requirement.Requirements, problem *volume.Problem, want ...[]model.Requirement) {
	t.Helper()
	if problem != nil {
		t.Errorf("%s: %s", what, problem.Message)
		return
	}
	var list []requirement.Requirements
	for _, w := range want {
		r, err := requirement.From(w)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if volume.AlternativesKey(got) != volume.AlternativesKey(list) || len(want) == 0 && got != nil {
		t.Errorf("%s = %s, want %s", what, volume.AlternativesKey(got), volume.AlternativesKey(list))
	}
}
