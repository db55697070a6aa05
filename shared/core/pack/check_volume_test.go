package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// claimedVolume is one claim of a pod with what is known of it.
type claimedVolume struct {
	name   string
	id     string // equal for the same volume
	driver string
	once   bool
	// terms of which one must hold on the node, none = anywhere
	terms []model.NodeTerm
	// local volumes name the node they are on, which says nothing of a new one
	local bool
	// wrong says why kube-scheduler will not bind a pod with it anywhere
	wrong string
}

// volumesOf reads what a pod's volumes ask for.
func (c *checker) volumesOf(r finalPod) []claimedVolume {
	if r.pod == nil {
		return nil
	}
	var out []claimedVolume
	names := slices.Clone(r.pod.Claims)
	for _, e := range r.shape.Ephemeral {
		if name := r.pod.Name + "-" + e.Volume; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		out = append(out, c.volume(r, name))
	}
	return out
}

func (c *checker) volume(r finalPod, name string) claimedVolume {
	v := claimedVolume{name: r.pod.Namespace + "/" + name, id: r.pod.Namespace + "/" + name}
	class := ""
	i := slices.IndexFunc(c.in.Snapshot.Volumes, func(x model.Volume) bool { return x.Namespace == r.pod.Namespace && x.Name == name })
	e := slices.IndexFunc(r.shape.Ephemeral, func(e model.EphemeralClaim) bool { return r.pod.Name+"-"+e.Volume == name })
	switch {
	case i >= 0:
		x := &c.in.Snapshot.Volumes[i]
		v.once, class = x.OncePod, x.Class
		if x.VolumeName != "" {
			v.driver, v.id, v.terms, v.local = x.Driver, "volume/"+x.VolumeName, x.Affinity, x.Local
		}
		switch {
		case x.DeletedUnix != 0 || x.Phase == "Lost" || x.Missing || x.Unbound:
			v.wrong = "deleting, lost, without its volume, or half bound"
			return v
		case x.VolumeName != "":
			return v
		}
	case e >= 0:
		v.once, class = r.shape.Ephemeral[e].OncePod, r.shape.Ephemeral[e].Class
	default:
		v.wrong = "not there"
		return v
	}
	k := slices.IndexFunc(c.in.Snapshot.Storage, func(s model.Storage) bool { return s.Name == class || class == "" && s.Default })
	switch {
	case k < 0:
		v.wrong = "of a class that is not there"
	case c.in.Snapshot.Storage[k].Immediate && e < 0:
		v.wrong = "not bound, though its class binds at once"
	default:
		v.driver, v.terms = c.in.Snapshot.Storage[k].Provisioner, c.in.Snapshot.Storage[k].AllowedTopologies
	}
	return v
}

// volumes checks where the volumes of a host's planned pods may be and how many of them a node that exists can attach.
func (c *checker) volumes(h *finalNode) {
	attached, added := make(map[string]map[string]bool), make(map[string]bool)
	attach := func(v claimedVolume) bool {
		if attached[v.driver] == nil {
			attached[v.driver] = make(map[string]bool)
		}
		known := attached[v.driver][v.id]
		attached[v.driver][v.id] = true
		return !known
	}
	for _, r := range h.pods {
		if r.planned {
			continue
		}
		for _, v := range c.volumesOf(r) {
			attach(v)
		}
	}
	for _, r := range h.pods {
		if !r.planned {
			continue
		}
		for _, v := range c.volumesOf(r) {
			if v.wrong != "" {
				c.failf("pod %s is placed and its volume %s is %s", r.key, v.name, v.wrong)
			}
			for _, labels := range h.variants {
				if !v.reaches(labels, h.claim) {
					c.failf("pod %s on %s with %v cannot have its volume %s, which asks for %v", r.key, h.name, labels, v.name, v.terms)
				}
			}
			added[v.driver] = attach(v) || added[v.driver]
		}
	}
	i := slices.IndexFunc(c.in.Snapshot.CSINodes, func(n model.CSINode) bool { return n.Node == h.name })
	if i < 0 {
		return
	}
	for driver, limit := range c.in.Snapshot.CSINodes[i].Limits {
		if added[driver] && int64(len(attached[driver])) > limit {
			c.failf("node %s attaches %d volumes of %s, its limit is %d", h.name, len(attached[driver]), driver, limit)
		}
	}
}

// reaches reports whether a node with the labels can have the volume.
func (v *claimedVolume) reaches(labels map[string]string, isNew bool) bool {
	if len(v.terms) == 0 {
		return true
	}
	return slices.ContainsFunc(v.terms, func(term model.NodeTerm) bool {
		for _, r := range term.Requirements {
			if v.local && isNew && r.Key == model.LabelHostname {
				continue
			}
			value, has := labels[r.Key]
			if !has && r.Key == "topology.ebs.csi.aws.com/zone" {
				value, has = labels[model.LabelZone]
			}
			if !meets(r, value, has) {
				return false
			}
		}
		return true
	})
}

// oncePod checks that a ReadWriteOncePod claim has one pod.
func (c *checker) oncePod(hosts []*finalNode) {
	users, planned := make(map[string][]string), make(map[string]bool)
	for _, h := range hosts {
		for _, r := range h.pods {
			for _, v := range c.volumesOf(r) {
				if v.once {
					users[v.name] = append(users[v.name], r.key)
					planned[v.name] = planned[v.name] || r.planned
				}
			}
		}
	}
	for name, pods := range users {
		if len(pods) > 1 && planned[name] {
			slices.Sort(pods)
			c.failf("claim %s is for one pod and has %v", name, pods)
		}
	}
}
