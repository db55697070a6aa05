package ec2

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// State is where an instance is in its life.
type State string

// The states an instance goes through, in order. Few are stopped, and none is started again.
const (
	Pending      State = "pending"
	Running      State = "running"
	Stopping     State = "stopping"
	Stopped      State = "stopped"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
)

// requestID is the id of its spot request, "" when it has none.
func (i *instance) requestID() string {
	if i.spotRequest == nil {
		return ""
	}
	return i.spotRequest.id
}

// code is the number EC2 gives a state.
func (s State) code() int {
	switch s {
	case Running:
		return 16
	case Stopping:
		return 64
	case Stopped:
		return 80
	case ShuttingDown:
		return 32
	case Terminated:
		return 48
	}
	return 0
}

// Capacity types, as EC2 calls the lifecycle of fleet instances.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// Instance are the facts of an instance, as a value: what an instance needs to
// know about itself, and a test about a launch.
type Instance struct {
	ID           string // "i-…"
	Type         string // "m7g.large"
	Region       string
	Zone, ZoneID string // "us-west-2a", "usw2-az1"
	SubnetID     string
	CapacityType string // OnDemand or Spot
	ImageID      string
	ImageName    string
	Architecture string // catalog.X86_64 or catalog.ARM64
	VCPUs        int
	MemoryBytes  int64
	MaxPods      int            // that the VPC CNI can address
	GPUs         map[string]int // devices by extended resource name, e.g. "nvidia.com/gpu"; nil when none

	Volumes            map[string]int64 // bytes by device
	InstanceStoreBytes int64            // of all local disks together

	PrivateIP      string // "10.0.1.23"
	PrivateDNSName string // "ip-10-0-1-23.us-west-2.compute.internal", or "i-….us-west-2.compute.internal" where the subnet says so
	UserData       []byte // decoded; empty when the template has none
	ProfileARN     string // of the instance profile; "" when none

	FleetID              string // "" when launched by RunInstances
	LaunchTemplateID     string // "" when launched without one
	State                State
	LaunchTime           time.Time
	PriceMicroUSDPerHour int64             // at launch
	ReservationID        string            // capacity reservation it runs in; "" when none
	PlacementGroupID     string            // "" when in none
	Partition            int               // of its placement group, from 1; 0 when that has none
	Tags                 map[string]string // all of them, however young
}

// Launch is one entry of the record of everything ever launched.
type Launch struct {
	Instance           // as it was when launched
	ClientToken string // of the request; "" when it had none
}

// instance is an Instance with what only EC2 knows.
type instance struct {
	facts Instance
	seq   int // launches are numbered from 1

	visibleAt     time.Time // describing shows it from then on
	runningAt     time.Time // zero until it runs
	terminatedAt  time.Time // zero until it is terminated
	reservationID string
	launchIndex   int
	clientToken   string
	spotRequest   *spotRequest // nil unless spot
	maxPrice      string       // what its spot request would pay at most; "" when that is no limit
	image         catalog.Image
	typ           catalog.Type
	subnet        *subnet
	naming        naming
	address       netip.Addr
	groups        []*securityGroup
	data          LaunchTemplateData
	interfaces    []networkInterface
	volumes       []volume
	profile       *Profile
	market        string          // OnDemand, Spot, marketBlock or marketInterruptible
	reservation   *reservation    // nil when in none
	placement     *placementGroup // nil when in none
	partition     int             // from 1; 0 when the group has none

	warned   bool                // it was told that it will be taken back
	impaired map[Check]time.Time // status checks that fail, since when
	events   []scheduledEvent    // by when they were announced

	stateReasonCode, stateReason string // "" while nothing ended it
	transitionReason             string
	stopTimer                    func() bool // of boot or shutdown
}

type networkInterface struct {
	id, attachmentID, mac, kind string
	card, device                int
	description                 string
	address                     netip.Addr     // invalid for efa-only
	public                      netip.Addr     // invalid when it has none
	prefixes                    []netip.Prefix // IPv4, /28
	addresses6                  []netip.Addr
	prefixes6                   []netip.Prefix // /80
	primary6                    bool
	tracking                    *ConnectionTracking // nil when nothing was asked for
	groups                      []*securityGroup
}

type volume struct {
	id, device        string
	created, attached time.Time
	deleteToo         bool // with the instance
	shape             shape
}

// snapshot returns the facts as a value nobody else holds.
func (m *Model) snapshot(i *instance) Instance {
	facts := i.facts
	facts.UserData = slices.Clone(facts.UserData)
	facts.Tags = m.tags.all(facts.ID)
	return facts
}

// efaResource is how a device plugin names EFA devices, of which an interface of either EFA kind is one.
const efaResource = "vpc.amazonaws.com/efa"

// devices returns the accelerators of a type and the EFA devices of an instance as device plugins name them; nil when there are none.
func devices(t catalog.Type, interfaces []networkInterface) map[string]int {
	out := gpuResources(t)
	for _, n := range interfaces {
		if n.kind != efaInterface && n.kind != efaOnly {
			continue
		}
		if out == nil {
			out = map[string]int{}
		}
		out[efaResource]++
	}
	return out
}

// gpuResources returns the accelerators of a type as a device plugin names them.
func gpuResources(t catalog.Type) map[string]int {
	switch {
	case t.GPU != nil && t.GPU.Manufacturer == "NVIDIA":
		return map[string]int{"nvidia.com/gpu": t.GPU.Count}
	case t.GPU != nil && t.GPU.Manufacturer == "AMD":
		return map[string]int{"amd.com/gpu": t.GPU.Count}
	case t.GPU != nil && t.GPU.Manufacturer == "Habana":
		return map[string]int{"habana.ai/gaudi": t.GPU.Count}
	case t.Neuron != nil:
		return map[string]int{
			"aws.amazon.com/neuron":     t.Neuron.Count,
			"aws.amazon.com/neuroncore": t.Neuron.Count * t.Neuron.CoresPerDevice,
		}
	}
	return nil
}

// OnRunning registers f to be called each time an instance starts to run.
// Hooks are called one after the other, in the order of what happens, and may
// call the model; register them before anything is launched.
func (m *Model) OnRunning(f func(Instance)) {
	m.lock()
	defer m.unlock()
	m.onRunning = append(m.onRunning, f)
}

// OnTerminated registers f to be called each time an instance is terminated:
// its instance is off and its address free.
func (m *Model) OnTerminated(f func(Instance)) {
	m.lock()
	defer m.unlock()
	m.onTerminated = append(m.onTerminated, f)
}

// OnStateChange registers f to be called at every change of state, Pending included.
func (m *Model) OnStateChange(f func(Instance)) {
	m.lock()
	defer m.unlock()
	m.onState = append(m.onState, f)
}

// enter moves an instance to a state and queues the hooks for it.
func (m *Model) enter(i *instance, s State) {
	i.facts.State = s
	facts := m.snapshot(i)
	hooks := slices.Clone(m.onState)
	switch s {
	case Running:
		hooks = append(hooks, m.onRunning...)
	case Terminated:
		hooks = append(hooks, m.onTerminated...)
	}
	for _, f := range hooks {
		m.after = append(m.after, func() { f(facts) })
	}
	m.sendState(i)
}

// boot starts the clock of a new instance.
func (m *Model) boot(i *instance) {
	m.enter(i, Pending)
	delay := m.timing.Boot.of(fmt.Sprintf("boot/%d/%s", m.seed, i.facts.ID))
	i.stopTimer = m.clock.AfterFunc(delay, func() {
		m.lock()
		defer m.unlock()
		if i.facts.State == Pending {
			i.runningAt = m.now()
			m.enter(i, Running)
		}
	})
}

// Causes of termination, as EC2 words them in the state reason.
const (
	reasonUser        = "Client.UserInitiatedShutdown"
	reasonSpot        = "Server.SpotInstanceTermination"
	reasonReservation = "Server.CapacityReservationEnded"
)

// terminate begins the end of an instance, unless it has begun.
func (m *Model) terminate(i *instance, code string) {
	if i.ending() {
		return
	}
	m.closeRequest(i, code)
	i.stopTimer()
	text := "User initiated shutdown"
	switch code {
	case reasonSpot:
		text = "Spot instance termination"
	case reasonReservation:
		text = "Capacity Reservation ended"
	}
	i.stateReasonCode, i.stateReason = code, code+": "+text
	i.transitionReason = fmt.Sprintf("%s (%s)", strings.TrimSuffix(text, " shutdown"), m.now().UTC().Format("2006-01-02 15:04:05 GMT"))
	m.enter(i, ShuttingDown)
	delay := m.timing.Shutdown.of(fmt.Sprintf("shutdown/%d/%s", m.seed, i.facts.ID))
	i.stopTimer = m.clock.AfterFunc(delay, func() {
		m.lock()
		defer m.unlock()
		m.terminated(i)
	})
}

func (m *Model) terminated(i *instance) {
	i.terminatedAt = m.now()
	for _, n := range i.interfaces {
		n.freeAddresses(i.subnet)
		delete(m.tags, n.id)
	}
	m.leaveVolumes(i)
	m.enter(i, Terminated)
	m.dropRequest(i)
	if r := i.reservation; r != nil && r.lentBy != nil {
		m.settle(r.lentBy)
	}
	m.clock.AfterFunc(m.timing.Gone, func() {
		m.lock()
		defer m.unlock()
		delete(m.instances, i.facts.ID)
		delete(m.tags, i.facts.ID)
		m.order = slices.DeleteFunc(m.order, func(id string) bool { return id == i.facts.ID })
	})
}

// Instances returns every instance that still exists, terminated ones for an
// hour, by time of launch. Unlike describing, it shows them at once.
func (m *Model) Instances() []Instance {
	m.lock()
	defer m.unlock()
	var out []Instance
	for _, id := range m.order {
		out = append(out, m.snapshot(m.instances[id]))
	}
	return out
}

// Lookup returns an instance, and false when there is none or it is gone.
func (m *Model) Lookup(id string) (Instance, bool) {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok {
		return Instance{}, false
	}
	return m.snapshot(i), true
}

// Launches returns every launch there ever was, in order.
func (m *Model) Launches() []Launch {
	m.lock()
	defer m.unlock()
	return slices.Clone(m.launches)
}

// PricePerHour returns what pending and running instances cost, in micro-dollars.
func (m *Model) PricePerHour() (microUSD int64) {
	m.lock()
	defer m.unlock()
	for _, i := range m.instances {
		if i.facts.State == Pending || i.facts.State == Running {
			microUSD += i.facts.PriceMicroUSDPerHour
		}
	}
	return microUSD
}
