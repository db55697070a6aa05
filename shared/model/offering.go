package model

// InstanceTypeInfo is one EC2 instance type as the hardware facts say, before any class has a word in it.
type InstanceTypeInfo struct {
	Name             string  `json:"name"`
	Arch             string  `json:"arch"` // amd64, arm64
	VCPUs            int64   `json:"vcpus"`
	MemoryMiB        int64   `json:"memoryMiB"`
	Hypervisor       string  `json:"hypervisor,omitempty"`
	BareMetal        bool    `json:"bareMetal,omitempty"`
	CPUManufacturer  string  `json:"cpuManufacturer,omitempty"` // aws, intel, amd
	ClockSpeedGHz    float64 `json:"clockSpeedGHz,omitempty"`
	Interfaces       int64   `json:"interfaces"`       // on the default network card
	IPv4PerInterface int64   `json:"ipv4PerInterface"` //
	EFAInterfaces    int64   `json:"efaInterfaces,omitempty"`
	NetworkMbps      int64   `json:"networkMbps,omitempty"` // baseline of all cards together; 0 = unknown
	EBSMbps          int64   `json:"ebsMbps,omitempty"`     // maximum of EBS-optimized-by-default types
	LocalNVMeGB      int64   `json:"localNVMeGB,omitempty"` // total, decimal GB
	EncryptedTransit bool    `json:"encryptedTransit,omitempty"`
	NitroEnclaves    bool    `json:"nitroEnclaves,omitempty"`
	// "" where there are several kinds of GPU: they are counted and not described
	GPUName          string   `json:"gpuName,omitempty"`
	GPUManufacturer  string   `json:"gpuManufacturer,omitempty"` // nvidia, amd, habana
	GPUCount         int64    `json:"gpuCount,omitempty"`
	GPUMemoryMiB     int64    `json:"gpuMemoryMiB,omitempty"` // of one GPU
	NeuronName       string   `json:"neuronName,omitempty"`   // "" where there are several kinds
	NeuronCount      int64    `json:"neuronCount,omitempty"`
	NeuronCores      int64    `json:"neuronCores,omitempty"` // of one device
	BranchInterfaces int64    `json:"branchInterfaces,omitempty"`
	UsageClasses     []string `json:"usageClasses,omitempty"` // on-demand, spot
	// interfaces of each network card, by index; empty = one card with Interfaces
	Cards  []int64 `json:"cards,omitempty"`
	ENA    bool    `json:"ena,omitempty"`    // enhanced networking is supported or required
	Nested bool    `json:"nested,omitempty"` // can run virtual machines of its own
	// of placement groups it may be in: cluster, partition, spread
	Strategies      []string  `json:"strategies,omitempty"`
	InstanceStoreGB int64     `json:"instanceStoreGB,omitempty"` // all disks of the instance, NVMe or not; decimal GB
	LearnedMiB      []Learned `json:"learned,omitempty"`         // memory that nodes of the type really had
	// over every zone of the region, by zone then capacity type
	Offerings []Offering `json:"offers"`
}

// Offering is one way of buying an instance type: a zone and a capacity type (and, for reserved capacity, a
// reservation).
type Offering struct {
	Zone                string   `json:"zone"`
	ZoneID              string   `json:"zoneID,omitempty"`
	CapacityType        string   `json:"capacityType"` // spot, on-demand, reserved
	Price               MicroUSD `json:"price"`        // per hour
	Available           bool     `json:"available"`
	ReservationID       string   `json:"reservationId,omitempty"`
	ReservationCapacity int64    `json:"reservationCapacity,omitempty"`
	ReservationBlock    bool     `json:"reservationBlock,omitempty"`         // a capacity block
	Interruptible       bool     `json:"reservationInterruptible,omitempty"` // its owner may take the capacity back
	// of reserved capacity: the on-demand price, by which equals are ordered; 0 = unknown
	ListPrice MicroUSD `json:"listPrice,omitempty"`
	// nothing but that its price is unknown keeps it from being bought
	Unpriced bool `json:"unpriced,omitempty"`
	Overlaid bool `json:"overlaid,omitempty"` // the price is that of a NodeOverlay
}

// Learned is the least memory that nodes of a type were seen to have with a set of images.
type Learned struct {
	Images   string `json:"images"` // ImagesKey of the class's status
	MiB      int64  `json:"mib"`
	SeenUnix int64  `json:"seen,omitempty"` // when a node last showed it
}

// LearnedForSeconds is how long what was learned is good after a node last showed it: 60 days.
const LearnedForSeconds = 60 * 24 * 3600

// Forgotten reports whether no node has shown it for too long.
func (l *Learned) Forgotten(nowUnix int64) bool { return l.SeenUnix+LearnedForSeconds <= nowUnix }

// LearnedOf is what was learned of a type.
type LearnedOf struct {
	InstanceType string `json:"instanceType"`
	Learned
}

// OfferingKey names an offering across instance types.
type OfferingKey struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
}

// InstanceType is a InstanceTypeInfo as nodes of one class see it: the labels they get, what they can hold, how they
// can be bought.
type InstanceType struct {
	Name string `json:"name"`
	// Labels are the values a node of this type can carry, by label key, each list sorted. A key with more than one
	// value is decided by the offering (zone, capacity type, …). A well-known key that is absent means the label does
	// not exist.
	Labels    map[string][]string `json:"labels"`
	Capacity  Resources           `json:"capacity"`
	Overhead  Resources           `json:"overhead,omitempty"` // kube- and system-reserved plus eviction threshold
	Offerings []Offering          `json:"offers"`             // by zone, then capacity type, then reservation

	Extended bool `json:"extended,omitempty"` // NodeOverlays added to its capacity

	// ResourceSlices are what drivers publish on a node of this type (dynamic resource allocation): the spec of each as
	// JSON, without the node. Nil = nothing is known.
	ResourceSlices []string `json:"resourceSlices,omitempty"`

	// What the class's kubelet configuration says is reserved, by resource, expressions worked out for this type: as
	// the kubelet is given ("480m", "640Mi"). Nil where the class says nothing, and the kubelet's own defaults hold.
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
}

// Allocatable returns capacity less overhead, never below zero.
func (t *InstanceType) Allocatable() Resources {
	out := make(Resources, len(t.Capacity))
	for name, amount := range t.Capacity {
		out[name] = max(0, amount-t.Overhead[name])
	}
	return out
}

// KubeletStarts reports whether overhead leaves something of every resource, or nothing. A kubelet that is to reserve
// more than there is does not start.
//
// Source: validateNodeAllocatable of k8s.io/kubernetes/pkg/kubelet/cm.
func (t *InstanceType) KubeletStarts() bool {
	for name, amount := range t.Capacity { // whether any is too little does not depend on the order
		if t.Overhead[name] > max(0, amount) {
			return false
		}
	}
	return true
}

// UnavailableOffering says that an offering failed to give capacity. Until UntilUnix it is left alone by every cluster
// of the account and region. After that it is half open: whoever takes its probe first may try it once, and the others
// go on leaving it alone until that has shown whether there is capacity again. From ForgetUnix on it is as if it had
// never failed.
//
// An empty Zone or InstanceType matches every one: a whole capacity type, or a subnet's zone. An unavailable offering
// of a subnet or of a reservation names that alone, and one with a placement group of nothing outside the group.
type UnavailableOffering struct {
	OfferingKey
	// set = every instance type that counts against this quota (see offering.QuotaGroup)
	Group    string `json:"group,omitempty"`
	SubnetID string `json:"subnetId,omitempty"` // set = this subnet only, not the offering
	// set = this capacity reservation only, until it is looked at again
	Reservation string `json:"reservation,omitempty"`
	// set = the offering as far as launches into this placement group go
	PlacementGroup string `json:"placementGroup,omitempty"`
	// set = everything in the zone of this ID, for a zonal shift of the cluster
	ZoneID     string `json:"zoneID,omitempty"`
	UntilUnix  int64  `json:"until"`
	Reason     string `json:"reason"`             // the EC2 error code
	Failures   int    `json:"failures,omitempty"` // in a row, ≥ 1 where it is known
	AtUnix     int64  `json:"at,omitempty"`       // of the last failure
	ForgetUnix int64  `json:"forget,omitempty"`   // ≥ UntilUnix; 0 = UntilUnix
}

// HalfOpen reports whether the unavailable offering may be probed at nowUnix.
func (m *UnavailableOffering) HalfOpen(nowUnix int64) bool {
	return m.UntilUnix <= nowUnix && nowUnix < m.ForgetUnix
}

// Forgotten reports whether the unavailable offering means nothing any more at nowUnix.
func (m *UnavailableOffering) Forgotten(nowUnix int64) bool {
	return max(m.UntilUnix, m.ForgetUnix) <= nowUnix
}

// About returns the unavailable offering with nothing but what it names: equal for unavailable offerings of which a
// ledger keeps one.
func (m *UnavailableOffering) About() UnavailableOffering {
	if m.SubnetID != "" {
		return UnavailableOffering{SubnetID: m.SubnetID}
	}
	if m.Reservation != "" {
		return UnavailableOffering{Reservation: m.Reservation}
	}
	if m.ZoneID != "" {
		return UnavailableOffering{ZoneID: m.ZoneID}
	}
	return UnavailableOffering{OfferingKey: m.OfferingKey, Group: m.Group, PlacementGroup: m.PlacementGroup}
}
