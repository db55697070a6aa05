package testcluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Options say what cluster it is.
type Options struct {
	Nodes int       // about as many it has grown to: 50
	Seed  uint64    // 1
	Now   time.Time // when it is looked at first: 2026-11-20 14:30 UTC
	Hours int       // it has been growing for: 24
	Odd   bool      // some pods can be held by nothing
}

// TestCluster is a cluster that changes with each Step. It is a console.Source. It may be used from many goroutines.
type TestCluster struct {
	mu       sync.Mutex
	random   *rand.Rand
	now      int64
	options  Options
	catalogs map[string][]model.InstanceType
	types    map[string]*model.InstanceType
	prices   map[model.OfferingKey]model.MicroUSD
	holds    map[string]model.Resources

	shapes []model.PodShape
	pods   []model.Pod
	nodes  []model.Node
	claims []model.Claim
	going  map[string]int64  // when the nodes of a command go, by claim
	moves  map[string]string // where pods go then, by UID
	seq    int64
	made   int // pods
	named  int // claims
	joined int // nodes
	record console.Records
	shown  *console.Cluster
}

// New grows a cluster.
func New(o Options) (*TestCluster, error) {
	if o.Nodes == 0 {
		o.Nodes = 50
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Hours == 0 {
		o.Hours = 24
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC)
	}
	region, err := catalogfile.BuiltIn()
	if err != nil {
		return nil, err
	}
	t := &TestCluster{random: rand.New(rand.NewPCG(o.Seed, 7)), options: o, going: map[string]int64{}, moves: map[string]string{}, types: map[string]*model.InstanceType{}, holds: map[string]model.Resources{}, prices: map[model.OfferingKey]model.MicroUSD{}}
	t.catalogs = map[string][]model.InstanceType{"default": region.Types(class())}
	for i := range t.catalogs["default"] {
		kind := &t.catalogs["default"][i]
		t.types[kind.Name], t.holds[kind.Name] = kind, kind.Allocatable()
		for _, offering := range kind.Offerings {
			t.prices[model.OfferingKey{InstanceType: kind.Name, Zone: offering.Zone, CapacityType: offering.CapacityType}] = offering.Price
		}
	}
	for i := range apps {
		t.shapes = append(t.shapes, apps[i].shape())
	}
	for i := range odd {
		t.shapes = append(t.shapes, odd[i].shape())
	}
	return t, t.grow()
}

func class() model.Class {
	return model.Class{Name: "default", UID: "class-default", Generation: 1, Family: "AL2023"}
}

// hour is how long a wave of growth takes, before the past is fitted to what the options say.
const hour = 3600

// grow lets the cluster live through its past: apps grow by waves, shrink a little in between, and what is not needed goes.
func (t *TestCluster) grow() error {
	t.now = 1
	wave := 0
	for ; len(t.nodes) < t.options.Nodes; wave++ {
		if wave > 400 {
			return fmt.Errorf("the cluster has %d nodes after %d waves, and is to have %d", len(t.nodes), wave, t.options.Nodes)
		}
		for i := range apps {
			more := float64(apps[i].per100*t.options.Nodes) / 4000 * (0.4 + 1.2*t.random.Float64())
			t.scale(i, int(more+t.random.Float64()))
		}
		if wave%5 == 3 {
			t.shrink(0.12)
			if t.options.Nodes <= 500 { // in a large cluster evaluating takes long
				t.disrupt(true)
			}
		}
		t.provision("batch")
		t.settle()
		t.now += hour
	}
	if t.options.Odd {
		for i := range odd {
			t.scale(len(apps)+i, 1+2*(i%2))
		}
		t.provision("batch")
	}
	t.fit(wave * hour)
	return nil
}

// fit puts a past of so many seconds into the hours before now.
func (t *TestCluster) fit(seconds int) {
	end := t.options.Now.Unix() - 240
	at := func(times ...*int64) {
		for _, time := range times {
			if *time > 0 {
				*time = end - (int64(seconds)-*time)*int64(t.options.Hours)*3600/int64(seconds)
			}
		}
	}
	for i := range t.pods {
		at(&t.pods[i].CreatedUnix, &t.pods[i].StartedUnix)
	}
	for i := range t.nodes {
		at(&t.nodes[i].CreatedUnix, &t.nodes[i].ReadyUnix)
	}
	claim := func(c *model.Claim) {
		at(&c.CreatedUnix, &c.LaunchedUnix, &c.RegisteredUnix, &c.InitializedUnix, &c.GoneUnix)
	}
	for i := range t.claims {
		claim(&t.claims[i])
	}
	for i := range t.record.Removals {
		claim(&t.record.Removals[i].Claim)
		at(&t.record.Removals[i].GoneUnix)
	}
	for i := range t.record.Decisions {
		at(&t.record.Decisions[i].AtUnix)
	}
	for i := range t.record.Disruptions {
		at(&t.record.Disruptions[i].AtUnix)
	}
	t.now = t.options.Now.Unix()
}

// scale adds pods to an app.
func (t *TestCluster) scale(i, n int) {
	of := &odd[max(0, i-len(apps))]
	if i < len(apps) {
		of = &apps[i]
	}
	for range n {
		t.made++
		t.pods = append(t.pods, model.Pod{
			UID: fmt.Sprintf("pod-%d", t.made), Namespace: of.namespace, Name: podName(of, t.made), Shape: i, Unschedulable: true, CreatedUnix: t.now,
		})
	}
}

// shrink ends a share of the pods, of two apps more than of the others.
func (t *TestCluster) shrink(share float64) {
	more := t.random.IntN(len(apps))
	t.pods = slices.DeleteFunc(t.pods, func(p model.Pod) bool {
		limit := share
		if p.Shape == more || p.Shape == (more+4)%len(apps) {
			limit *= 4
		}
		return p.NodeName != "" && t.random.Float64() < limit
	})
}

func (t *TestCluster) snapshot() *model.Snapshot {
	t.seq++
	s := &model.Snapshot{
		Cluster: "harbour", Epoch: 3, Seq: t.seq, AtUnix: t.now, Shapes: t.shapes, Pods: slices.Clone(t.pods), Nodes: slices.Clone(t.nodes), Pools: pools(), Classes: []model.Class{class()},
		Namespaces: []model.Namespace{{Name: "ci"}, {Name: "data"}, {Name: "lab"}, {Name: "ml"}, {Name: "payments"}, {Name: "platform"}, {Name: "shop"}},
	}
	slices.SortFunc(s.Pods, func(a, b model.Pod) int { return cmp.Compare(a.Key(), b.Key()) })
	slices.SortFunc(s.Nodes, func(a, b model.Node) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// provision plans for the pods that wait, binds those that fit what is there, and asks for nodes for the others.
func (t *TestCluster) provision(trigger string) {
	waiting := 0
	for i := range t.pods {
		if t.pods[i].NodeName == "" {
			waiting++
		}
	}
	if waiting == 0 {
		return
	}
	ask := t.ask(t.snapshot())
	plan := pack.Plan(ask)
	at := t.index()
	there := map[string]bool{}
	for i := range t.nodes {
		there[t.nodes[i].Name] = true
	}
	for _, n := range plan.Nominations {
		if there[n.Node] {
			t.bind(at, n.Pods, n.Node)
			continue
		}
		for i := range t.claims {
			if c := &t.claims[i]; c.Name == n.Node {
				c.Pods = n.Pods // all that is to go there, those it was made for included
			}
		}
	}
	if len(plan.Claims) == 0 {
		return
	}
	id := fmt.Sprintf("01KC%022d", t.seq)
	decision := model.Decision{ID: id, Cluster: "harbour", AtUnix: t.now, Trigger: trigger, Epoch: 3, Seq: t.seq, Build: "town", Pending: waiting, Catalog: model.CatalogUse{Source: "s3", Version: "2026-11-20"}, Launched: []string{}}
	round := model.Round{Plan: plan}
	for i := range plan.Claims {
		claim := t.claim(&plan.Claims[i], id)
		round.Launched, decision.Launched = append(round.Launched, claim), append(decision.Launched, claim.Name)
	}
	decision.Rounds = []model.Round{round}
	t.record.Decisions = append(t.record.Decisions, decision)
}

// ask is what the planner is asked now.
func (t *TestCluster) ask(snapshot *model.Snapshot) pack.Input {
	return pack.Input{Snapshot: snapshot, Catalogs: t.catalogs, Claims: t.live(), Usage: map[string]model.Resources{}, ClassProblems: map[string]string{}, NowUnix: t.now, Salt: fmt.Sprint(snapshot.Seq)}
}

// claim records a planned node.
func (t *TestCluster) claim(p *model.PlannedClaim, decision string) model.Claim {
	t.named++
	p.Name = fmt.Sprintf("%s-%05x", p.Pool, (t.named*15485863)&0xfffff)
	c := model.Claim{
		Name: p.Name, Pool: p.Pool, Class: p.Class, State: model.Intended, Version: 1, Requests: p.Requests, InstanceTypes: p.InstanceTypes, Pods: p.Pods,
		Decision: decision, InstanceType: p.Offering.InstanceType, Zone: p.Offering.Zone, CapacityType: p.Offering.CapacityType, Price: p.Price,
		Capacity: t.types[p.Offering.InstanceType].Capacity, Allocatable: t.holds[p.Offering.InstanceType], Labels: p.Labels, Taints: p.Taints, CreatedUnix: t.now,
	}
	c.InstanceID = fmt.Sprintf("i-0%016x", uint64(t.named)*0x9e3779b97f4a7c15)
	t.claims = append(t.claims, c)
	return c
}

func (t *TestCluster) live() []model.Claim { return slices.Clone(t.claims) }

// index returns where each pod is, by UID.
func (t *TestCluster) index() map[string]int {
	out := make(map[string]int, len(t.pods))
	for i := range t.pods {
		out[t.pods[i].UID] = i
	}
	return out
}

func (t *TestCluster) bind(at map[string]int, pods []model.PodRef, node string) {
	for _, pod := range pods {
		if i, ok := at[pod.UID]; ok {
			t.pods[i].NodeName, t.pods[i].Unschedulable, t.pods[i].Phase, t.pods[i].Ready, t.pods[i].StartedUnix = node, false, model.Running, true, t.now
		}
	}
}

// settle brings every claim on its way to its end at once.
func (t *TestCluster) settle() {
	at := t.index()
	for i := range t.claims {
		if c := &t.claims[i]; c.State == model.Intended {
			c.LaunchedUnix = t.now + 2
			t.join(c, t.now+38)
			t.initialize(c, at)
		}
	}
}

// join adds the node of a claim.
func (t *TestCluster) join(c *model.Claim, atUnix int64) {
	kind := t.types[c.InstanceType]
	t.joined++
	n := t.joined
	c.NodeName = fmt.Sprintf("ip-10-%d-%d-%d.us-west-2.compute.internal", 10+n/60000, (n/240)%250, 5+n%240)
	c.State, c.RegisteredUnix = model.Registered, atUnix
	labels := map[string]string{
		model.LabelHostname: c.NodeName, model.LabelZone: c.Zone, model.LabelCapacityType: c.CapacityType, model.LabelNodePool: c.Pool,
		model.LabelRegistered: "true", model.LabelNodeClass: "default",
	}
	for key, values := range kind.Labels {
		if _, decided := labels[key]; !decided && len(values) == 1 {
			labels[key] = values[0]
		}
	}
	c.NodeUID, c.ProviderID = "node-"+c.Name, "aws:///"+c.Zone+"/"+c.InstanceID
	t.nodes = append(t.nodes, model.Node{
		Name: c.NodeName, UID: c.NodeUID, ProviderID: c.ProviderID, Labels: labels, Taints: slices.Clone(c.Taints),
		Capacity: kind.Capacity, Allocatable: kind.Allocatable(), Ready: true, ReadyUnix: atUnix, CreatedUnix: atUnix, Finalizer: true,
	})
}

// initialize makes a node ready and binds what it was made for.
func (t *TestCluster) initialize(c *model.Claim, at map[string]int) {
	c.State, c.InitializedUnix = model.Initialized, c.RegisteredUnix+6
	for i := range t.nodes {
		if node := &t.nodes[i]; node.Name == c.NodeName {
			labels := map[string]string{model.LabelInitialized: "true"}
			for key, value := range node.Labels {
				labels[key] = value
			}
			node.Labels = labels
		}
	}
	for _, pod := range c.Pods {
		if i, ok := at[pod.UID]; ok && t.pods[i].NodeName == "" {
			t.bind(at, []model.PodRef{pod}, c.NodeName)
		}
	}
}

// disrupt decides what can go, and carries the commands out up to the first that needs a replacement: at once, or as Step has it.
// Pods move as the plan says. It returns how many nodes go.
func (t *TestCluster) disrupt(atOnce bool) int {
	snapshot := t.snapshot()
	plan := disruption.Plan(disruption.Input{Snapshot: snapshot, Catalogs: t.catalogs, Claims: t.live(), NowUnix: t.now, Salt: fmt.Sprint(t.seq), Usage: map[string]model.Resources{}})
	if i := slices.IndexFunc(plan.Commands, func(c model.PlannedCommand) bool { return len(c.Replacements) > 0 }); i >= 0 {
		plan.Commands = plan.Commands[:i] // those after it go by what it changes
	}
	if len(plan.Commands) == 0 {
		return 0
	}
	id := fmt.Sprintf("01KD%022d", t.seq)
	committed := []string{}
	at, gone := t.index(), map[string]bool{}
	for i := range plan.Commands {
		command := &plan.Commands[i]
		committed = append(committed, fmt.Sprintf("%s-%d", id, i))
		for _, move := range command.Moves {
			if atOnce {
				t.bind(at, move.Pods, move.Node)
			}
			for _, pod := range move.Pods {
				t.moves[pod.UID] = move.Node
			}
		}
		for _, node := range command.Nodes {
			gone[node] = true
		}
	}
	t.record.Disruptions = append(t.record.Disruptions, model.Disrupted{ID: id, Cluster: "harbour", AtUnix: t.now, Epoch: 3, Seq: t.seq, Build: "town", Plan: plan, Committed: committed})
	for i := range t.claims {
		if c := &t.claims[i]; gone[c.NodeName] {
			c.Command = id // as if its commands were one
			t.taint(c.NodeName)
			t.going[c.Name] = t.now + 4
			if atOnce {
				t.end(c)
			}
		}
	}
	t.resync()
	return len(gone)
}

// taint keeps new pods off a node that is to go.
func (t *TestCluster) taint(name string) {
	for i := range t.nodes {
		if node := &t.nodes[i]; node.Name == name {
			node.Taints = append(slices.Clone(node.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
		}
	}
}

// end takes a claim's node away; what is still on it waits again.
func (t *TestCluster) end(c *model.Claim) {
	c.State, c.GoneUnix = model.Gone, t.now
	t.nodes = slices.DeleteFunc(t.nodes, func(n model.Node) bool { return n.Name == c.NodeName })
	for i := range t.pods {
		pod := &t.pods[i]
		if pod.NodeName != c.NodeName {
			continue
		}
		pod.NodeName, pod.CreatedUnix = t.moves[pod.UID], t.now
		if delete(t.moves, pod.UID); pod.NodeName == "" {
			pod.Phase, pod.Unschedulable = model.Pending, true
		}
	}
}

// resync forgets claims that are gone.
func (t *TestCluster) resync() {
	t.claims = slices.DeleteFunc(t.claims, func(c model.Claim) bool {
		if c.State != model.Gone {
			return false
		}
		delete(t.going, c.Name)
		removal := model.Removal{Cluster: "harbour", Claim: c, Node: c.NodeName, Reason: model.ReasonUnderutilized, By: model.ByJoiner, Command: c.Command, Decision: c.Command, PricePerHour: c.Price, GoneUnix: t.now}
		if c.Command == "" {
			removal.Reason, removal.Message, removal.By, removal.Pods = model.EndedSpotInterrupted, "AWS takes the spot capacity back", model.ByAWS, len(c.Pods)
		}
		t.record.Removals = append(t.record.Removals, removal)
		return true
	})
}

// Now is the cluster's time.
func (t *TestCluster) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Unix(t.now, 0).UTC()
}

// Step lets a second pass: claims get on, nodes of commands drain and go.
func (t *TestCluster) Step() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.shown = nil
	at := t.index()
	for i := range t.claims {
		c := &t.claims[i]
		switch age := t.now - c.CreatedUnix; {
		case c.State == model.Intended && age >= 1:
			c.State, c.LaunchedUnix = model.Launched, t.now
		case c.State == model.Launched && age >= 4+int64(i%3):
			t.join(c, t.now)
		case c.State == model.Registered && t.now-c.RegisteredUnix >= 2:
			t.initialize(c, at)
		}
		if when := t.going[c.Name]; when > 0 && t.now >= when-2 && c.State == model.Initialized {
			c.State = model.Draining
		} else if when > 0 && t.now >= when {
			t.end(c)
		}
	}
	t.resync()
}

// ScaleUp adds n pods to an app of the cluster, such as shop/web, and plans for what waits.
func (t *TestCluster) ScaleUp(name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(apps, func(a app) bool { return a.namespace+"/"+a.name == name })
	if i < 0 {
		return
	}
	t.scale(i, n)
	t.shown = nil
}

// Plan provisions for what waits.
func (t *TestCluster) Plan() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.provision("batch")
	t.shown = nil
}

// ScaleDown ends about a share of all pods.
func (t *TestCluster) ScaleDown(share float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrink(share)
	t.shown = nil
}

// Disrupt decides what can go; its nodes are gone four steps on. It returns how many.
func (t *TestCluster) Disrupt() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.shown = nil }()
	return t.disrupt(false)
}

// Interrupt has AWS take a spot machine back; its pods wait.
func (t *TestCluster) Interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = nil
	spot := func(c model.Claim) bool {
		return c.CapacityType == "spot" && c.State == model.Initialized && c.Command == ""
	}
	if i := slices.IndexFunc(t.claims, spot); i >= 0 {
		t.end(&t.claims[i])
		t.resync()
	}
}

// Shuffle moves n pods to other nodes of the same pool, wherever there is room or not: a step of a busy cluster as far as a page sees it.
func (t *TestCluster) Shuffle(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = nil
	byPool := map[string][]string{}
	of := map[string]string{}
	for i := range t.nodes {
		node := &t.nodes[i]
		byPool[node.Pool()] = append(byPool[node.Pool()], node.Name)
		of[node.Name] = node.Pool()
	}
	for range n {
		pod := &t.pods[t.random.IntN(len(t.pods))]
		if to := byPool[of[pod.NodeName]]; pod.NodeName != "" && len(to) > 0 {
			pod.NodeName = to[t.random.IntN(len(to))]
		}
	}
}

// Size returns how many nodes there are and pods.
func (t *TestCluster) Size() (nodes, pods int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.nodes), len(t.pods)
}

// Read returns the cluster as it is.
func (t *TestCluster) Read(context.Context) (*console.Cluster, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		claims := t.live()
		slices.SortFunc(claims, func(a, b model.Claim) int { return cmp.Compare(a.Name, b.Name) })
		t.shown = console.NewCluster("harbour", "a cluster of testenv", &explain.Cluster{
			Ask:          t.ask(t.snapshot()),
			Installation: &explain.Installation{Ledger: model.Ledger{Claims: claims, NowUnix: t.now, Manifest: &model.Manifest{Cluster: "harbour", HeartbeatAt: t.now}}},
		})
	}
	return t.shown, nil
}

// Records returns what was decided in a span of time.
func (t *TestCluster) Records(_ context.Context, from, to int64) (console.Records, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out console.Records
	for i := range t.record.Decisions {
		if at := t.record.Decisions[i].AtUnix; from <= at && at < to {
			out.Decisions = append(out.Decisions, t.record.Decisions[i])
		}
	}
	for i := range t.record.Disruptions {
		if at := t.record.Disruptions[i].AtUnix; from <= at && at < to {
			out.Disruptions = append(out.Disruptions, t.record.Disruptions[i])
		}
	}
	for i := range t.record.Removals {
		if at := t.record.Removals[i].GoneUnix; from <= at && at < to {
			out.Removals = append(out.Removals, t.record.Removals[i])
		}
	}
	return out, nil
}
