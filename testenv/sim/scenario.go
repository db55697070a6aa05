package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Scenario is the world of a run and what people want in it.
type Scenario struct {
	Length      time.Duration // until everything is healed
	Types       []string      // instance types on sale; nil = all
	Pools       []model.Pool
	Workloads   []world.Workload
	Hasty       bool // the queue shows messages again while they may still be worked on
	Versions    int  // of the functions that are deployed side by side
	Ends        Ends // what has instances end though nothing goes wrong
	Choices     bool // nodes are disrupted voluntarily, as pools say; people change their minds as Edits say
	Edits       []Edit
	Room        []Room     // that CapacityBuffers keep free
	DisruptRuns int        // that are at work at once; 0 = one
	Searched    int        // messages that a receive from a plan queue looks at; 0 = as many as in SQS
	Boot        world.Span // from an instance's launch until its node joins; zero = 20 to 90 s

	// Devices is how long drivers of devices (dynamic resource allocation) take to publish what a node has; nil = there
	// is no driver.
	Devices *world.Span

	Readings *reading.Set // of what AWS leaves open, as far as it reaches the flows (Readings); nil = what the environment says

	// Neighbors are so many clusters attached to the same control plane beside the first: with the same pools, and with the
	// workloads Neighbor returns for the i-th, from 1 on, or with the first's where that is nil. Faults that hit no operation
	// are the first's own.
	Neighbors int
	Neighbor  func(i int) []world.Workload

	// Arrange prepares the world, and has things happen in it some time after the run began; nil = nothing besides.
	Arrange func(w *world.World, at func(after time.Duration, do func()))
}

// Ends are what has instances end without anything going wrong, and what is in the way of it. Pools have expiry and deadlines
// besides, and workloads graces, volumes and do-not-disrupt.
type Ends struct {
	SpotLife time.Duration // mean time until a spot instance is taken away; 0 = never
	People   time.Duration // mean time between two deletions of a node or NodeClaim; 0 = never
	Detach   world.Span    // from when a volume is used no more until it is detached
	Budgets  []model.PDB
	Daemons  []model.PodShape
	Protect  time.Duration // mean time between two times people say that a node is not to be disrupted, for some minutes; 0 = never
	Scarce   time.Duration // from when on there is no capacity in some offers, for good; 0 = there always is
}

// Edit is something people change some time after the run began.
type Edit struct {
	After time.Duration
	Pool  *model.Pool // applied in place of the one of its name
}

// Room is what a CapacityBuffer asks for from some time after the run began on.
type Room struct {
	After time.Duration
	Name  string
	Pods  int32 // −1 = the buffer is deleted
	Shape model.PodShape
}

// DrawRoom returns the run of a seed with CapacityBuffers besides.
func DrawRoom(seed uint64) Config {
	c := Draw(seed)
	d := newDraws(seed, "room")
	for i := range 1 + d.IntN(3) {
		shape := world.Shape(int64(100+d.IntN(1500)), int64(64+d.IntN(2000))<<20)
		for range 1 + d.IntN(4) {
			c.Scenario.Room = append(c.Scenario.Room, Room{After: d.skewed(time.Second, c.Scenario.Length), Name: fmt.Sprintf("room-%d", i), Pods: int32(d.IntN(8)) - 1, Shape: shape})
		}
	}
	return c
}

// DrawDevices returns the run of a seed where types with GPUs are on sale besides, a driver publishes them, and pods
// claim some: by templates, and as an extended resource.
func DrawDevices(seed uint64) Config {
	c := Draw(seed)
	d := newDraws(seed, "devices")
	s := &c.Scenario
	s.Devices = &world.Span{Min: time.Second, Max: d.skewed(5*time.Second, 3*time.Minute)}
	s.Types = slices.Concat(s.Types, [][]string{
		{"g4dn.xlarge", "g5.12xlarge"}, {"g4dn.xlarge", "g4dn.12xlarge", "g5.2xlarge", "g5.12xlarge"},
	}[d.IntN(2)])
	claim := func(w *world.Workload) {
		if d.IntN(4) == 0 {
			w.Shape.Requests = maps.Clone(w.Shape.Requests)
			w.Shape.Requests[world.GPUResource] = int64(1 + d.IntN(2))
			return
		}
		names := []string{world.TemplateOne, world.TemplateOne, world.TemplateTwo, world.TemplateLarge,
			world.TemplateT4, world.TemplateMixed}
		w.Shape.DynamicResource = true
		w.Shape.DeviceClaims = []model.PodClaim{{Name: "gpu", Template: names[d.IntN(len(names))]}}
		if more := d.IntN(len(names)); d.IntN(5) == 0 {
			both := append(slices.Clone(w.Shape.DeviceClaims), model.PodClaim{Name: "more", Template: names[more]})
			if served(s.Types, both) { // two of Turing need a type with several of them
				w.Shape.DeviceClaims = both
			}
		}
	}
	sure := d.IntN(len(s.Workloads))
	for i := range s.Workloads {
		if i == sure || d.IntN(2) == 0 {
			claim(&s.Workloads[i])
		}
	}
	if d.IntN(2) == 0 {
		from := d.between(0, s.Length/2)
		c.Plan = append(c.Plan, Source{Kind: KindDrivers, Rate: 1, From: from,
			Until: min(s.Length, from+d.between(s.Length/10, s.Length/2))})
	}
	return c
}

// served reports whether one of the instance types has devices for the claims.
func served(types []string, claims []model.PodClaim) bool {
	return slices.ContainsFunc(types, func(name string) bool {
		_, suffice := world.Allot(world.DevicesOf(name), func(string) bool { return false },
			world.NeedsOf(&model.PodShape{DeviceClaims: claims}))
		return suffice
	})
}

// Readings returns the ids of the doubts about AWS that reach the flows, and so a world. What the others are about is nothing the world
// has: policies, EKS, and what a request's own fields mean to EC2, SQS and S3, which adapters see to.
func Readings() []string {
	return []string{reading.DescribeLag, reading.EventResource, reading.ProfileLag, reading.TemplateLag, reading.TokenRefused, reading.TokenUnfulfilled}
}

// DrawReadings returns the run of a seed where AWS is read the other way: of each doubt that reaches the world in half of the runs, of one
// at least.
func DrawReadings(seed uint64) Config {
	c := Draw(seed)
	d := newDraws(seed, "readings")
	var other []string
	for _, id := range Readings() {
		if d.IntN(2) == 0 {
			other = append(other, id)
		}
	}
	if len(other) == 0 {
		other = Readings()
	}
	c.Scenario.Readings = reading.Default().With(other...)
	return c
}

// ConvergeWithin is how long after the last fault everything must have come right.
const ConvergeWithin = 5 * time.Minute

// Draw returns the run of a seed.
func Draw(seed uint64) Config {
	c := Config{Seed: seed, Scenario: drawScenario(seed)}
	c.Plan = append(drawPlan(seed, c.Scenario.Length), drawPeople(seed, c.Scenario.Length, c.Scenario.Neighbors)...)
	return c
}

// drawScenario draws a small world.
func drawScenario(seed uint64) Scenario {
	d := newDraws(seed, "scenario")
	s := Scenario{Length: d.skewed(10*time.Minute, 3*time.Hour).Round(time.Second), Hasty: d.IntN(6) == 0, Versions: 1 + d.IntN(2)}
	s.Types = [][]string{
		{"m5.large"}, {"m5.large", "m6g.large", "c5.xlarge"}, {"m5.large", "m6g.large", "c5.xlarge", "m5.2xlarge", "r5.large", "t3.medium", "c6g.2xlarge"},
	}[d.IntN(3)]
	for i := range 1 + d.IntN(3) {
		pool := world.Pool(fmt.Sprintf("pool-%d", i), "default")
		pool.Weight = int32(d.IntN(3) * 10)
		if d.IntN(3) == 0 {
			pool.Template.Requirements = []model.Requirement{world.Need(model.LabelCapacityType, model.OnDemand)}
		}
		if d.IntN(3) == 0 {
			pool.Limits = model.Resources{model.Nodes: int64(1 + d.IntN(12))}
		}
		if d.IntN(4) == 0 {
			pool.Template.StartupTaints = []model.Taint{}
		}
		s.Pools = append(s.Pools, pool)
	}
	for i := range 1 + d.IntN(4) {
		s.Workloads = append(s.Workloads, drawWorkload(d, i, s.Length))
	}
	drawEnds(newDraws(seed, "ends"), &s)
	drawChoices(newDraws(seed, "choices"), &s)
	drawHostile(newDraws(seed, KindHostile), &s)
	drawBeside(newDraws(seed, "beside"), &s)
	return s
}

// drawBeside draws what few worlds have: pods that take a port of their node, and two runs of disruption at work at once.
func drawBeside(d draws, s *Scenario) {
	for i := range s.Workloads {
		if d.IntN(10) == 0 {
			s.Workloads[i].Shape.HostPorts = []model.HostPort{{Port: int32(8080 + d.IntN(2)), Protocol: "TCP"}}
		}
	}
	if d.IntN(8) == 0 {
		s.DisruptRuns = 2
	}
}

// drawEnds draws what has instances end: nothing in a third of the runs.
func drawEnds(d draws, s *Scenario) {
	if d.IntN(3) == 0 {
		return
	}
	seconds := func(low, high time.Duration) *int64 {
		n := int64(d.skewed(low, high) / time.Second)
		return &n
	}
	if d.IntN(2) == 0 {
		s.Ends.SpotLife = d.skewed(10*time.Minute, 3*time.Hour)
	}
	if d.IntN(2) == 0 {
		s.Ends.People = d.skewed(2*time.Minute, 30*time.Minute)
	}
	for i := range s.Pools {
		if d.IntN(3) == 0 {
			s.Pools[i].Template.GraceSeconds = seconds(10*time.Second, 20*time.Minute)
		}
		if d.IntN(4) == 0 {
			s.Pools[i].Template.ExpireAfterSeconds = seconds(8*time.Minute, 90*time.Minute)
		}
	}
	s.Ends.Detach = world.Span{Min: time.Second, Max: d.skewed(2*time.Second, 3*time.Minute)}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.Stores = d.IntN(4) == 0
		if d.IntN(3) == 0 {
			w.Shape.GraceSeconds = *seconds(2*time.Second, 10*time.Minute)
		}
		if d.IntN(6) == 0 {
			w.Shape.DoNotDisrupt = []string{"true", "3m", "40m", "perhaps"}[d.IntN(4)]
		}
		if d.IntN(6) == 0 {
			w.Shape.PriorityClass = "system-cluster-critical"
		}
		for range d.skewedInt(3) {
			budget := model.PDB{Namespace: "default", Name: fmt.Sprintf("%s-%d", w.Name, len(s.Ends.Budgets)), Selector: &model.Selector{MatchLabels: w.Shape.Labels}}
			switch d.IntN(4) {
			case 0:
				budget.MinAvailable = "60%"
			case 1:
				budget.MaxUnavailable = "0"
			default:
				budget.MaxUnavailable = "1"
			}
			s.Ends.Budgets = append(s.Ends.Budgets, budget)
		}
	}
	for i := range d.IntN(3) {
		shape := world.Shape(20, 16<<20)
		shape.GraceSeconds = 5
		if i == 1 {
			shape.PriorityClass = "system-node-critical"
		}
		s.Ends.Daemons = append(s.Ends.Daemons, shape)
	}
}

// drawChoices draws what nodes are disrupted for voluntarily: nothing in half of the runs.
func drawChoices(d draws, s *Scenario) {
	if d.IntN(2) == 0 {
		return
	}
	s.Choices = true
	for i := range s.Pools {
		pool := &s.Pools[i]
		pool.Hash = "1"
		pool.Disruption.Policy = []string{"WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty", "Balanced"}[d.IntN(4)]
		if d.IntN(6) > 0 {
			after := int64(d.skewed(0, 10*time.Minute) / time.Second)
			pool.Disruption.ConsolidateAfterSeconds = &after
		}
		pool.Disruption.Budgets = drawBudgets(d)
		if pool.Template.ExpireAfterSeconds != nil && d.IntN(2) == 0 {
			pool.Annotations = map[string]string{model.AnnotationGentleExpiry: "true"}
		}
		for range d.skewedInt(3) {
			edited := *pool
			edited.Hash = fmt.Sprint(2 + len(s.Edits))
			edited.Template.Labels = map[string]string{"edit": edited.Hash}
			if d.IntN(2) == 0 {
				edited.Hash, edited.Disruption.Budgets = pool.Hash, drawBudgets(d)
			}
			s.Edits = append(s.Edits, Edit{After: d.between(s.Length/10, s.Length), Pool: &edited})
		}
	}
	if d.IntN(4) == 0 {
		s.Pools = append(s.Pools, drawStatic(d, s))
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		self := &model.Selector{MatchLabels: w.Shape.Labels}
		switch d.IntN(8) {
		case 0:
			w.Shape.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 1, Term: model.PodTerm{TopologyKey: model.LabelHostname, Selector: self}}}
		case 1:
			w.Shape.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Anyway: true, Selector: self}}
		}
	}
	if d.IntN(3) == 0 {
		s.Ends.Protect = d.between(5*time.Minute, 40*time.Minute)
	}
	if d.IntN(3) == 0 {
		s.Ends.Scarce = d.between(0, s.Length/2)
	}
}

// drawBudgets draws a pool's budgets: numbers and percentages, of all reasons or some, some of them only at times.
func drawBudgets(d draws) []model.Budget {
	var out []model.Budget
	for range 1 + d.skewedInt(3) {
		b := model.Budget{Nodes: []string{"100%", "50%", "20%", "10%", "1", "2", "0"}[d.skewedInt(7)]}
		if d.IntN(3) == 0 {
			b.Reasons = [][]string{{model.ReasonEmpty}, {model.ReasonDrifted}, {model.ReasonUnderutilized}, {model.ReasonEmpty, model.ReasonUnderutilized}}[d.IntN(4)]
		}
		if d.IntN(3) == 0 {
			b.Schedule = []string{"*/10 * * * *", "*/7 * * * *", "0 * * * *", "30 12 * * *"}[d.IntN(4)]
			b.DurationSeconds = int64(60 * (1 + d.IntN(20)))
		}
		out = append(out, b)
	}
	return out
}

// drawStatic draws a pool of a fixed size, and people who make it smaller and larger.
func drawStatic(d draws, s *Scenario) model.Pool {
	size := func() *int64 { n := int64(d.IntN(5)); return &n }
	pool := world.Pool("static", "default")
	pool.Hash, pool.Replicas = "1", size()
	for range 1 + d.IntN(3) {
		edited := pool
		edited.Replicas = size()
		s.Edits = append(s.Edits, Edit{After: d.between(s.Length/10, s.Length), Pool: &edited})
	}
	return pool
}

// drawWorkload draws one that changes a few times over the length of a run, and no more after it.
func drawWorkload(d draws, i int, length time.Duration) world.Workload {
	w := world.Workload{
		Kind: []string{world.Deployment, world.Deployment, world.StatefulSet, world.Job}[d.IntN(4)], Name: fmt.Sprintf("app-%d", i),
		Shape: world.Shape(50*int64(1+d.IntN(30)), int64(1+d.IntN(12))<<28), Runs: d.between(time.Minute, 20*time.Minute),
	}
	w.Shape.Labels = map[string]string{"app": w.Name}
	self := &model.Selector{MatchLabels: w.Shape.Labels}
	switch d.IntN(8) {
	case 0:
		w.Shape.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: self}}
	case 1:
		w.Shape.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: self}}
	case 2:
		w.Shape.NodeSelector = map[string]string{model.LabelCapacityType: model.OnDemand}
	}
	most := 1 + d.IntN(15)
	if d.IntN(2) == 0 {
		w.Replicas = d.IntN(most + 1)
	}
	steps := 1 + d.IntN(5)
	for j := range steps {
		at := length * time.Duration(j) / time.Duration(steps)
		w.Steps = append(w.Steps, world.Step{At: world.Start.Add(at + d.between(0, length/time.Duration(steps))), Replicas: d.IntN(most + 1)})
	}
	return w
}

// TestCluster is a run of so many deployments of twenty pods each, on instances of about ten pods, that grow and shrink every few
// minutes. Every instance type of the size is on sale.
func TestCluster(seed uint64, deployments int, length time.Duration) Config {
	d := newDraws(seed, "town")
	s := Scenario{Length: length, Pools: []model.Pool{world.Pool("town", "default")}, Versions: 1}
	for _, t := range catalog.Types() {
		if strings.HasSuffix(t.Name, ".xlarge") {
			s.Types = append(s.Types, t.Name)
		}
	}
	for i := range deployments {
		w := world.Workload{
			Kind: world.Deployment, Name: fmt.Sprintf("app-%02d", i), Shape: world.Shape(int64(250+10*d.IntN(20)), int64(4+d.IntN(4))<<28), Replicas: 20,
		}
		for at := d.between(0, 20*time.Minute); at < length; at += d.between(10*time.Minute, 30*time.Minute) {
			w.Steps = append(w.Steps, world.Step{At: world.Start.Add(at), Replicas: 16 + d.IntN(9)})
		}
		s.Workloads = append(s.Workloads, w)
	}
	return Config{Seed: seed, Scenario: s}
}

// worlds makes the worlds of a run's clusters, with their classes, pools and workloads.
func (c *Config) worlds() []*world.World {
	options := world.Options{
		Types: c.Scenario.Types, Scheduler: 50 * time.Millisecond,
		Draws: func(model string) *rand.Rand { return newDraws(c.Seed, "model "+model).Rand },
	}
	options.Fleet.Visibility = world.Span{Min: 200 * time.Millisecond, Max: 5 * time.Second}
	options.Fleet.Pending = world.Span{Min: 2 * time.Second, Max: 15 * time.Second}
	options.Fleet.ShuttingDown = world.Span{Min: 5 * time.Second, Max: time.Minute}
	lags(c.Scenario.Readings, &options.Fleet)
	options.Kubelets = world.KubeletOptions{BootMin: 20 * time.Second, BootMax: 90 * time.Second, Rejoins: c.Seed%2 == 0}
	if boot := c.Scenario.Boot; boot.Max > 0 {
		options.Kubelets.BootMin, options.Kubelets.BootMax = boot.Min, boot.Max
	}
	if c.Scenario.Hasty {
		options.PlanVisibility = 10 * time.Second
	}
	options.PlanSearched = c.Scenario.Searched
	options.Fleet.SpotLife, options.Detach = c.Scenario.Ends.SpotLife, c.Scenario.Ends.Detach
	options.Choices = c.Scenario.Choices
	options.Finalizers, options.Events = true, world.Span{Min: 200 * time.Millisecond, Max: 3 * time.Second}
	worldOptions(c.Plan, &options)
	worlds := []*world.World{world.New(options)}
	c.populate(worlds[0], c.Scenario.Workloads)
	for i := range c.Scenario.Neighbors {
		w, workloads := worlds[0].Attach(Neighbor(i+1)), c.Scenario.Workloads
		if c.Scenario.Neighbor != nil {
			workloads = c.Scenario.Neighbor(i + 1)
		}
		c.populate(w, workloads)
		worlds = append(worlds, w)
	}
	return worlds
}

// lags sets how soon EC2 knows and shows what was made, as readings say, and the readings themselves.
func lags(readings *reading.Set, fleet *world.FleetOptions) {
	fleet.Readings = readings
	if readings.Takes(reading.DescribeLag) {
		fleet.Visibility = world.Span{Min: reading.DescribeDelay, Max: reading.DescribeDelay * 3 / 2}
	}
	if readings.Takes(reading.TemplateLag) {
		fleet.TemplateLag = reading.TemplateDelay
	}
	if readings.Takes(reading.ProfileLag) {
		fleet.ProfileLag = reading.ProfileDelay
	}
}

// Neighbor is the name of the i-th cluster beside the first, from 1 on.
func Neighbor(i int) string { return fmt.Sprintf("neighbour-%02d", i) }

// sideBySide is how many clusters the functions handle at once: 10, or as many as are attached; 0 = no limit, where there is
// only one. The template gives each function that many batches of its queue at once (twice as many to the one that ends
// instances), and reserves a little more than that, so that a tick always finds room. Source: functions in infra/cdk.
func (s *Scenario) sideBySide() int {
	if s.Neighbors == 0 {
		return 0
	}
	return max(10, s.Neighbors+1)
}

// populate makes what people want in a cluster.
func (c *Config) populate(w *world.World, workloads []world.Workload) {
	if c.Scenario.Devices != nil {
		w.Devices.Install(*c.Scenario.Devices)
	}
	w.Cluster.AddClass(world.Class("default"))
	for _, pool := range c.Scenario.Pools {
		w.Cluster.AddPool(pool)
	}
	for _, workload := range workloads {
		w.Workloads.Add(workload)
	}
	for _, budget := range c.Scenario.Ends.Budgets {
		w.Cluster.AddBudget(budget)
	}
	for i, shape := range c.Scenario.Ends.Daemons {
		w.Cluster.AddDaemonSet(fmt.Sprintf("daemon-%d", i), shape)
	}
}

// begin puts on the agenda what the run begins with.
func (e *engine) begin() {
	e.functions = e.deploy()
	for i, w := range e.worlds {
		name := world.Name
		if i > 0 {
			name = Neighbor(i)
		}
		e.watchers = append(e.watchers, &watchers{engine: e, world: w, name: name})
	}
	if e.config.Scenario.Choices {
		e.shelve()
	}
	if mean := e.config.Scenario.Ends.Protect; mean > 0 {
		e.often(newDraws(e.config.Seed, "protect"), mean, world.Start, world.Start.Add(e.config.Scenario.Length), e.protect)
	}
	if from := e.config.Scenario.Ends.Scarce; from > 0 {
		e.world.Fleet.Short(drawShortage(newDraws(e.config.Seed, "scarce"), world.Start.Add(from), world.Start.Add(forever)))
	}
	for _, edit := range e.config.Scenario.Edits {
		e.eventQueue.Add(world.Start.Add(edit.After), func() { e.edit(edit) })
	}
	for _, room := range e.config.Scenario.Room {
		e.eventQueue.Add(world.Start.Add(room.After), func() {
			if room.Pods < 0 {
				e.world.Cluster.DeleteBuffer("default/" + room.Name)
				return
			}
			e.world.Cluster.AddBuffer(room.Name, room.Pods, room.Shape)
		})
	}
	e.misbehave()
	if mean := e.config.Scenario.Ends.People; mean > 0 {
		e.often(newDraws(e.config.Seed, "people"), mean, world.Start, world.Start.Add(e.config.Scenario.Length), e.remove)
	}
	if arrange := e.config.Scenario.Arrange; arrange != nil {
		arrange(e.world, func(after time.Duration, do func()) {
			e.eventQueue.Add(world.Start.Add(after), func() {
				do()
				e.check()
			})
		})
	}
	for _, w := range e.watchers {
		for range replicaCount {
			e.eventQueue.Add(e.now().Add(e.steady.between(0, 3*time.Second)), w.start)
		}
	}
}

// shelve puts the instance catalog where every function finds it, as the pass over the region does each hour.
func (e *engine) shelve() {
	ctx, reg := context.Background(), world.Registration()
	known, revision, err := e.world.RegionCatalogs.Read(ctx, reg)
	if err != nil {
		known, revision = model.InstanceCatalog{}, ""
	}
	market := world.Market{Catalog: e.world.Catalog}
	next, err := market.Refresh(ctx, known, model.CatalogParts{Types: true, Prices: true, Spot: true})
	if err == nil {
		_ = e.world.RegionCatalogs.Write(ctx, reg, next, revision) // the next hour's pass writes what this one could not
	}
	e.eventQueue.Add(e.now().Add(time.Hour), e.shelve)
}

// edit has people change something.
func (e *engine) edit(edit Edit) {
	if edit.Pool != nil {
		e.world.Cluster.AddPool(*edit.Pool)
	}
	e.check()
}

// protect has people say of a node that it is not to be disrupted, and take that back some minutes later.
func (e *engine) protect(d draws) {
	nodes := e.world.Cluster.Nodes()
	if len(nodes) == 0 {
		return
	}
	node := nodes[d.IntN(len(nodes))]
	say := func(value string) {
		patch := model.NodePatch{Name: node.Name, UID: node.UID, Annotations: map[string]string{model.AnnotationNotDisrupt: value}}
		_ = e.world.Cluster.PatchNode(context.Background(), patch) // it may be gone
	}
	say("true")
	e.eventQueue.Add(e.now().Add(d.between(time.Minute, 30*time.Minute)), func() {
		say("")
		e.check()
	})
}
