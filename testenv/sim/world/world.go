package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// Name of the one cluster, and the discovery tag of its network.
const Name = "world"

// Options say how a world differs from the default one.
type Options struct {
	Types      []string      // names of the instance types that can be bought; nil = every one of the sandbox catalog
	Visibility time.Duration // how far Find lags behind Launch
	Boot       time.Duration // from launch until the node joins; 0 = 20 s
	Ready      time.Duration // from then until it is ready; 0 = 5 s

	// Draws returns the random numbers of the model of that name, always the same for the same name; nil leaves nothing to
	// chance.
	Draws     func(model string) *rand.Rand
	Fleet     FleetOptions   // its Rand is set here; its Visibility and Pending are those above where they are zero
	Kubelets  KubeletOptions // its boot and Ready are those above where they are zero
	Scheduler time.Duration  // how long kube-scheduler takes to look after a change
	Detach    Span           // from when a volume is used no more until it is detached
	Events    Span           // from what happens to an instance until AWS's event is in the queue

	Finalizers bool // see Cluster.HoldClaims
	Choices    bool // watches tell of nodes when pods came and went last, and budgets say what they let go: what choices are made by

	PlanVisibility time.Duration // of the plan queue: 0 = 40 s, longer than an invocation can live
	PlanSearched   int           // messages that a receive from a plan queue looks at: 0 = as many as in SQS
}

// World holds everything. Its parts are safe for concurrent use.
type World struct {
	Clock          *clock.Fake
	Log            *Log
	Ledger         *Ledger
	Cluster        *Cluster
	Fleet          *Fleet
	Catalog        *Catalog
	Store          *Store
	RegionCatalogs *Cache
	Plan           HintQueue // of provision, the cluster's own
	Dead           *Queue    // for what was received from it, and from those of other clusters, too often
	Passes         PassQueue // of interruption: looks and drains
	Notices        *Queue    // of interruption: what AWS says of instances
	DisruptHints   PassQueue // of disrupt
	Events         *Events   // on their way there
	Configs        HintQueue // of catalog
	Zones          *Zones    // ARC's
	Alarms         *Alarms   // CloudWatch's
	Profiles       *Profiles
	Ticks          *Schedule // of each minute

	Kubelets  *Kubelets
	Scheduler *Scheduler
	Workloads *Workloads
	Volumes   *Volumes
	Devices   *Devices

	options Options
	name    string                // of the cluster
	stale   time.Duration         // how old what the API server lists is
	lie     func(*model.Snapshot) // what a hostile watcher makes of what it publishes; nil = nothing
	account *account
}

// account is what the worlds of all clusters of an account and region share besides their models.
type account struct {
	ids    atomic.Int64
	timed  []timed           // in the order they run in where several are due at once
	worlds map[string]*World // by the name of the cluster
}

// timed is a model in which things happen by themselves as time passes.
type timed interface {
	// Next returns when something is due next; false where nothing ever is unless somebody does something first.
	Next() (time.Time, bool)
	// Run does everything that is due at now. Afterwards Next is later than now, or false.
	Run(now time.Time)
}

// Start is when every world begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a world with an attached cluster that has nothing in it.
func New(options Options) *World {
	if options.Boot == 0 {
		options.Boot = 20 * time.Second
	}
	if options.Ready == 0 {
		options.Ready = 5 * time.Second
	}
	draws := options.Draws
	if draws == nil {
		draws = func(string) *rand.Rand { return nil }
	}
	if options.PlanVisibility == 0 {
		options.PlanVisibility = InvocationTimeout + 10*time.Second
	}
	fleet, kubelets := options.Fleet, options.Kubelets
	fleet.Rand = draws("fleet")
	if fleet.Visibility == (Span{}) {
		fleet.Visibility = Span{Min: options.Visibility}
	}
	if fleet.Pending == (Span{}) {
		fleet.Pending = Span{Min: options.Boot}
	}
	if kubelets.BootMin == 0 {
		kubelets.BootMin, kubelets.Ready = options.Boot, options.Ready
	}
	w := &World{Clock: clock.NewFake(Start), Profiles: &Profiles{}, options: options, account: &account{worlds: map[string]*World{}}}
	w.Log = NewLog(w.Clock.Now)
	w.Ledger = NewLedger(w.Clock.Now)
	w.Ledger.log = w.Log
	w.Ledger.Tear(draws("ledger"))
	w.Catalog = newCatalog(w.Clock.Now, options.Types)
	w.Catalog.profiles = w.Profiles
	w.Fleet = NewFleet(w.Clock.Now, w.Log, w.Catalog, fleet)
	w.Store = NewStore(w.Clock.Now, draws("store"))
	w.Store.log = w.Log
	w.RegionCatalogs = NewCache(w.Clock.Now)
	w.Dead = NewQueue(w.Clock.Now, w.Log, QueueOptions{Name: "plan-dead", FIFO: true})
	w.Plan = w.newPlan("plan", draws)
	w.Passes = PassQueue{NewQueue(w.Clock.Now, w.Log, QueueOptions{Name: "interruption", Visibility: 40 * time.Second, Rand: draws("looks")})}
	w.DisruptHints = PassQueue{NewQueue(w.Clock.Now, w.Log, QueueOptions{Name: "disruption", Visibility: 40 * time.Second, Rand: draws("judges")})}
	w.Notices = NewQueue(w.Clock.Now, w.Log, QueueOptions{Name: "notices", Visibility: 40 * time.Second, Rand: draws("notices")})
	w.Events = NewEvents(w.Clock.Now, w.Log, w.Notices, draws("events"), EventOptions{
		Account: Registration().Account, Region: Registration().Region, Delay: options.Events, Readings: fleet.Readings,
	})
	w.Fleet.events, w.Fleet.profiles = w.Events, w.Profiles
	w.Configs = HintQueue{NewQueue(w.Clock.Now, w.Log, QueueOptions{Name: "catalog", FIFO: true, Visibility: options.PlanVisibility, Rand: draws("configs")})}
	w.Zones = &Zones{now: w.Clock.Now, announce: w.Events.shifted(Name), send: w.Configs.Send}
	w.Alarms = &Alarms{note: func(name string, on bool) { w.Log.Note(AlarmMoved{Name: name, On: on}) }}
	w.Ticks = NewSchedule(ScheduleOptions{Start: Start.Add(time.Minute), Jitter: Span{Max: 2 * time.Second}, Rand: draws("ticks")})
	w.options.Kubelets, w.options.Draws = kubelets, draws
	w.settle(Name, draws)
	w.account.timed = []timed{
		w.Fleet, &instances{world: w}, w.Workloads, w.Devices, w.Scheduler, w.Volumes, w.Plan, w.Passes, w.DisruptHints,
		w.Events, w.Notices, w.Zones, w.Configs, w.Ticks,
	}
	return w
}

// newPlan makes a cluster's plan queue.
func (w *World) newPlan(name string, draws func(model string) *rand.Rand) HintQueue {
	return HintQueue{NewQueue(w.Clock.Now, w.Log, QueueOptions{
		Name: name, FIFO: true, Visibility: w.options.PlanVisibility, MaxReceives: 3, Dead: w.Dead, Searched: w.options.PlanSearched, Rand: draws("plan"),
	})}
}

// plan puts a hint into its cluster's plan queue. NotFound where the account has no cluster of that name.
func (w *World) plan(ctx context.Context, hint wire.Hint) error {
	of := w.account.worlds[hint.Cluster]
	if of == nil {
		return fault.New(fault.NotFound, "QueueDoesNotExist", "cluster %s has no plan queue", hint.Cluster)
	}
	return of.Plan.Send(ctx, hint)
}

// settle makes the cluster itself, with nothing in it, and attaches it.
func (w *World) settle(name string, draws func(model string) *rand.Rand) {
	w.name = name
	w.Cluster = NewCluster(name, w.Clock.Now, w.Log)
	w.Cluster.HoldClaims(w.options.Finalizers)
	w.Cluster.choices = w.options.Choices
	w.Kubelets = NewKubelets(w.Cluster, w.options.Kubelets, draws("kubelets"), w.room)
	w.Scheduler = NewScheduler(w.Cluster, w.options.Scheduler)
	w.Workloads = NewWorkloads(w.Cluster, draws("workloads"), time.Second)
	w.Volumes = NewVolumes(w.Cluster, draws("volumes"), w.options.Detach)
	w.Devices = NewDevices(w.Cluster, draws("devices"))
	w.account.worlds[name] = w
	if err := w.Ledger.Register(context.Background(), RegistrationOf(name)); err != nil {
		panic(fmt.Sprintf("register the cluster: %v", err)) // an in-memory write of plain data
	}
}

// Registration is how the cluster every world begins with is attached.
func Registration() model.Registration { return RegistrationOf(Name) }

// RegistrationOf is how the cluster of that name is attached.
func RegistrationOf(name string) model.Registration {
	return model.Registration{
		Cluster: name, Account: "123456789012", Region: catalog.Region, Endpoint: "https://world.example", CA: []byte("-----BEGIN CERTIFICATE-----"),
		ServiceCIDR: "172.20.0.0/16", ClusterDNS: "172.20.0.10", Version: "1.36",
	}
}

// Next returns when something happens in the world by itself next; false where nothing does.
func (w *World) Next() (time.Time, bool) {
	var next time.Time
	found := false
	for _, model := range w.account.timed {
		if at, due := model.Next(); due && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// Run does what is due by now: instances join and become ready, kube-scheduler binds what it can, and so on. What one model
// does may make something due in another.
func (w *World) Run() {
	now := w.Clock.Now()
	for {
		next, due := w.Next()
		if !due || next.After(now) {
			return
		}
		for _, model := range w.account.timed {
			if at, due := model.Next(); due && !at.After(now) {
				model.Run(now)
			}
		}
	}
}

// Tick lets d pass, and what happens by itself meanwhile happen at its time.
func (w *World) Tick(d time.Duration) {
	end := w.Clock.Now().Add(d)
	for {
		next, due := w.Next()
		if !due || next.After(end) {
			break
		}
		w.Clock.Advance(max(0, next.Sub(w.Clock.Now())))
		w.Run()
	}
	w.Clock.Advance(end.Sub(w.Clock.Now()))
}

// Stale has the API server list what was so long ago; 0 is now. Watches and writes are not affected.
func (w *World) Stale(ago time.Duration) { w.stale = ago }

// Lie has whoever reads a published snapshot read what lie makes of it, as if a hostile watcher had published that; nil ends it. Lists of
// NodePools and EC2NodeClasses are lie's to write to.
func (w *World) Lie(lie func(snapshot *model.Snapshot)) { w.lie = lie }

// noteRead returns what is read of a published snapshot.
func (w *World) noteRead(snapshot *model.Snapshot, err error) (*model.Snapshot, error) {
	if w.lie == nil || err != nil {
		return snapshot, err
	}
	lied := *snapshot
	lied.Pools, lied.Classes = slices.Clone(snapshot.Pools), slices.Clone(snapshot.Classes)
	w.lie(&lied)
	return &lied, nil
}

// newID returns ids that sort by the order they were asked for in.
func (w *World) newID() string {
	return fmt.Sprintf("01WORLD%019d", w.account.ids.Add(1))
}
