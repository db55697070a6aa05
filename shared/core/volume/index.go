package volume

import (
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Index answers what the volumes of a snapshot's pods ask for. It remembers what it worked out, so that it is for one
// goroutine at a time; the answers do not depend on what was asked before. What it returns is shared and not to be
// written to.
type Index struct {
	volumes      []model.Volume
	claims       map[claimName]*model.Volume // of volumes; nil until the first is looked for
	classes      map[string]*class
	defaultClass string // "" = there is none
	limits       map[string]map[string]int64
	nodes        []model.Node
	hosts        map[string]bool // host names of nodes; nil until the first is looked for

	terms    map[string]*place                     // of bound volumes, by what their terms say
	products map[string][]requirement.Requirements // by the keys of the places that were combined
	scratch  []byte
}

// noProvisioner is the provisioner of classes whose volumes are there, or not, before a pod asks for them.
const noProvisioner = "kubernetes.io/no-provisioner"

type claimName struct{ namespace, name string }

func (n claimName) String() string { return n.namespace + "/" + n.name }

// class is a storage class made ready.
type class struct {
	driver    string
	immediate bool
	static    bool // nothing makes its volumes: people do, or what looks for disks on nodes
	where     *place
}

// New indexes a snapshot, which must not change afterwards.
func New(s *model.Snapshot) *Index {
	x := &Index{
		volumes:  s.Volumes,
		classes:  make(map[string]*class, len(s.Storage)),
		limits:   make(map[string]map[string]int64, len(s.CSINodes)),
		nodes:    s.Nodes,
		terms:    make(map[string]*place),
		products: make(map[string][]requirement.Requirements),
	}
	for i := range s.Storage {
		storage := &s.Storage[i]
		x.classes[storage.Name] = &class{driver: driverOf(storage.Provisioner), immediate: storage.Immediate,
			static: storage.Provisioner == noProvisioner, where: allowed(storage.AllowedTopologies)}
		// Of several defaults the API server takes the newest. Ages are not known here: the first by name, then.
		if storage.Default && (x.defaultClass == "" || storage.Name < x.defaultClass) {
			x.defaultClass = storage.Name
		}
	}
	for i := range s.CSINodes {
		x.limits[s.CSINodes[i].Node] = s.CSINodes[i].Limits
	}
	return x
}

// hostExists reports whether a node has the host name.
func (x *Index) hostExists(name string) bool {
	if x.hosts == nil {
		x.hosts = make(map[string]bool, len(x.nodes))
		for i := range x.nodes {
			host, labeled := x.nodes[i].Labels[model.LabelHostname]
			if !labeled {
				host = x.nodes[i].Name
			}
			x.hosts[host] = true
		}
	}
	return x.hosts[name]
}

// find returns a claim with what is known of it; nil where it does not exist.
func (x *Index) find(name claimName) *model.Volume {
	if x.claims == nil {
		x.claims = make(map[claimName]*model.Volume, len(x.volumes))
		for i := range x.volumes {
			x.claims[claimName{x.volumes[i].Namespace, x.volumes[i].Name}] = &x.volumes[i]
		}
	}
	return x.claims[name]
}

// Problem says why a pod's volumes let it run nowhere.
type Problem struct {
	Claim   string // namespace/name of the PersistentVolumeClaim
	Message string // a sentence that names it
	Remedy  string // what a person can do
}

// Free reports whether the pod has no claim at all, so that volumes need not be looked at.
func Free(pod *model.Pod, shape *model.PodShape) bool {
	return len(shape.Ephemeral) == 0 && (pod == nil || len(pod.Claims) == 0)
}
