package disrupt_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const (
	cluster = "shop"
	began   = int64(1_900_000_000)
)

// house is every port the disruption function needs: the ledger that is held to the same contract as the real one, an API server, a watcher,
// and a provision function that launches what commands ask for. Each operation fails as it is set to, by its name.
type house struct {
	t          *testing.T
	now        int64
	ledger     *world.Ledger
	nodes      map[string]*model.Occupied
	objects    map[string]*condition // NodeClaims by name
	budgets    []model.PDB
	published  *model.Snapshot
	frozen     bool // the watcher lives, and shows what was
	blind      bool // the watcher publishes nothing and shows no heartbeat
	errs       map[string]error
	before     func(op, about string)
	hints      []hint
	drains     []string
	replaces   []string
	events     []model.Event
	decisions  []model.Disrupted
	plan       func(disruption.Input) model.DisruptPlan
	holds      func(disruption.Input, *model.Command) []model.KeptReason
	plans      int // how often it was planned
	quieted    int // how often it was said whether a node is quiet
	podEvents  int // how often it was said when a pod last came to a node or left it
	barren     bool
	boots      int64 // seconds until an instance is initialized
	settings   disrupt.Settings
	ids, runs  int
	log        []string
	lost       string          // the operation whose first answer is lost
	rewound    *model.Manifest // what the ledger says of the manifest instead; nil = what is so
	parallel   func(n int, do func(i int))
	outcome    disrupt.Outcome
	dueReplace bool

	annotations map[string]string           // of the NodePool
	classes     []model.Class               // the first one is the NodePool's
	alarms      map[string]model.AlarmState // in CloudWatch
	mutex       sync.Mutex                  // held by operations that steps ask for side by side
}

// condition is what a NodeClaim shows.
type condition struct {
	uid, reason, quiet string
	podEvent           int64
}

// hint is one that was sent, and arrives when it is due.
type hint struct {
	key string
	due int64
}

// newHouse returns a cluster of a pool web with as many initialized nodes: n0, n1, …
func newHouse(t *testing.T, nodes int) *house {
	t.Helper()
	h := &house{t: t, now: began, nodes: map[string]*model.Occupied{}, objects: map[string]*condition{}, errs: map[string]error{}, boots: 30}
	h.ledger = world.NewLedger(func() time.Time { return time.Unix(h.now, 0) })
	must(t, h.ledger.Register(t.Context(), model.Registration{Cluster: cluster, Account: "123456789012", Region: "eu-central-1"}))
	for i := range nodes {
		h.join(fmt.Sprintf("n%d", i))
	}
	h.publish()
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// join adds a node with a pod, and its initialized claim: c-<node>.
func (h *house) join(name string) {
	h.t.Helper()
	claim := model.Claim{
		Name: "c-" + name, Pool: "web", PoolUID: "u-web", Class: "default", State: model.Initialized, InstanceID: "i-" + name, ProviderID: "aws:///a/i-" + name,
		InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand, NodeName: name, NodeUID: "u-" + name, ObjectUID: "o-" + name, Price: 96_000,
		InitializedUnix: h.now - 3600, LaunchedUnix: h.now - 3700, RegisteredUnix: h.now - 3650, CreatedUnix: h.now - 3710,
	}
	h.adopt(claim)
	h.addNode(claim)
	h.addPod(name, "p-"+name)
}

func (h *house) addNode(claim model.Claim) {
	h.nodes[claim.NodeName] = &model.Occupied{Node: model.Node{
		Name: claim.NodeName, UID: claim.NodeUID, ProviderID: claim.ProviderID, Ready: true,
		Labels: map[string]string{model.LabelNodePool: claim.Pool, model.LabelRegistered: "true", model.LabelInitialized: "true"},
	}}
}

func (h *house) addPod(node, name string) *model.Occupant {
	o := h.nodes[node]
	o.Pods = append(o.Pods, model.Occupant{PodRef: model.PodRef{Namespace: "default", Name: name, UID: "u-" + name}, Phase: model.Running, OwnerKind: "ReplicaSet", Ready: true,
		Labels: map[string]string{"app": "web"}, StartedUnix: h.now - 600})
	return &o.Pods[len(o.Pods)-1]
}

// adopt writes a live claim into the ledger.
func (h *house) adopt(claim model.Claim) {
	h.t.Helper()
	fence, err := h.ledger.AcquireLease(h.t.Context(), cluster, model.LeaseCollector, "collector", h.now, h.now+1)
	must(h.t, err)
	must(h.t, h.ledger.Adopt(h.t.Context(), fence, claim))
	h.objects[claim.Name] = &condition{uid: claim.ObjectUID}
}

// change rewrites a claim, as others do.
func (h *house) change(name string, change func(*model.Claim)) {
	h.t.Helper()
	claim := h.claim(name)
	change(&claim)
	_, err := h.ledger.Advance(h.t.Context(), cluster, claim)
	must(h.t, err)
}

func (h *house) reg() model.Registration {
	reg, err := h.ledger.Cluster(h.t.Context(), cluster)
	must(h.t, err)
	return reg
}

func (h *house) load() model.Ledger {
	h.t.Helper()
	ledger, err := h.ledger.Load(h.t.Context(), h.reg())
	must(h.t, err)
	return ledger
}

func (h *house) claim(name string) model.Claim {
	h.t.Helper()
	for _, claim := range h.load().Claims {
		if claim.Name == name {
			return claim
		}
	}
	h.t.Fatalf("there is no claim %s", name)
	return model.Claim{}
}

func (h *house) command() model.Command {
	h.t.Helper()
	commands := h.load().Commands
	if len(commands) != 1 {
		h.t.Fatalf("%d commands, want one: %+v", len(commands), commands)
	}
	return commands[0]
}

// publish has the watcher show the cluster as it is.
func (h *house) publish() {
	h.t.Helper()
	if h.blind {
		return
	}
	if h.frozen {
		_, err := h.ledger.Heartbeat(h.t.Context(), cluster, 1, h.now)
		must(h.t, err)
		return
	}
	pool := model.Pool{Name: "web", UID: "u-web", Annotations: h.annotations}
	if len(h.classes) > 0 {
		pool.Template.ClassName = h.classes[0].Name
	}
	next := &model.Snapshot{Cluster: cluster, Epoch: 1, Seq: 1, Pools: []model.Pool{pool}, Classes: h.classes,
		Shapes: []model.PodShape{{Namespace: "default"}}}
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		o := h.nodes[name]
		node := o.Node
		node.Taints = slices.Clone(node.Taints)
		next.Nodes = append(next.Nodes, node)
		for _, pod := range o.Pods {
			next.Pods = append(next.Pods, model.Pod{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, NodeName: name, Phase: pod.Phase, StartedUnix: pod.StartedUnix})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.objects)) {
		next.Claims = append(next.Claims, model.Object{Name: name, UID: h.objects[name].uid,
			Quiet: h.objects[name].quiet == "True", PodEventUnix: h.objects[name].podEvent})
	}
	if h.published != nil {
		next.Seq = h.published.Seq
		if next.AtUnix = h.published.AtUnix; !reflect.DeepEqual(next, h.published) {
			next.Seq++
		}
	}
	if h.published == nil || next.Seq != h.published.Seq {
		next.AtUnix = h.now
		h.published = next
	}
	_, err := h.ledger.AdvanceManifest(h.t.Context(), model.Manifest{Cluster: cluster, Epoch: 1, HeadSeq: h.published.Seq, SnapshotKey: "k", WrittenUnix: h.published.AtUnix, HeartbeatAt: h.now})
	must(h.t, err)
}

// did writes an operation down and returns what it fails with.
func (h *house) did(op, about string) error {
	if h.before != nil {
		h.before(op, about)
	}
	h.log = append(h.log, strings.TrimSpace(op+" "+about))
	if err := h.errs[op+" "+about]; err != nil {
		return err
	}
	return h.errs[op]
}

func (h *house) Clusters(ctx context.Context) ([]model.Registration, error) {
	return h.ledger.Clusters(ctx)
}

func (h *house) Cluster(ctx context.Context, name string) (model.Registration, error) {
	return h.ledger.Cluster(ctx, name)
}

func (h *house) AcquireLease(ctx context.Context, name, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return h.ledger.AcquireLease(ctx, name, lease, owner, nowUnix, untilUnix)
}

func (h *house) Release(ctx context.Context, fence model.Fence) error {
	if err := h.did("release", ""); err != nil {
		return err
	}
	return h.ledger.Release(ctx, fence)
}

func (h *house) Peek(ctx context.Context, name string) (*model.Manifest, model.DisruptNotes, int64, error) {
	if err := h.did("glance", ""); err != nil {
		return nil, model.DisruptNotes{}, 0, err
	}
	return h.ledger.Peek(ctx, name)
}

func (h *house) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	if err := h.did("load", ""); err != nil {
		return model.Ledger{}, err
	}
	ledger, err := h.ledger.Load(ctx, reg)
	if h.rewound != nil {
		ledger.Manifest = h.rewound
	}
	return ledger, err
}

func (h *house) Recall(ctx context.Context, fence model.Fence, notes model.DisruptNotes) (model.DisruptNotes, error) {
	if err := h.did("recall", ""); err != nil {
		return notes, err
	}
	return h.ledger.Recall(ctx, fence, notes)
}

func (h *house) Commit(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim, budgetVersions []model.BudgetVersion) error {
	if err := h.did("commit", command.Reason); err != nil {
		return err
	}
	err := h.ledger.Commit(ctx, fence, command, claims, budgetVersions)
	if h.lost == "commit" {
		h.lost = ""
		return errors.New("the answer is lost")
	}
	return err
}

func (h *house) AdvanceCommand(ctx context.Context, fence model.Fence, command model.Command) (model.Command, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err := h.did("step", string(command.State)); err != nil {
		return command, err
	}
	return h.ledger.AdvanceCommand(ctx, fence, command)
}

// End is where what may never happen would: it looks at the world and the record before they change.
func (h *house) End(ctx context.Context, fence model.Fence, command model.Command, claims []model.Claim) (model.Command, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err := h.did("end", string(command.State)); err != nil {
		return command, err
	}
	for _, claim := range claims {
		node := h.nodes[claim.NodeName]
		switch {
		case claim.State != model.Draining || node == nil:
			continue
		case !tainted(&node.Node):
			h.t.Errorf("claim %s begins to drain and its node is not tainted", claim.Name)
		case node.Node.UID != claim.NodeUID:
			h.t.Errorf("claim %s begins to drain, and its node is another", claim.Name)
		}
		for _, pod := range node.Pods {
			if pod.DoNotDisrupt == "true" && pod.DeletedUnix == 0 && command.Reason != model.ReasonReplicas {
				h.t.Errorf("B2: claim %s begins to drain and pod %s must not be disrupted", claim.Name, pod.Name)
			}
		}
		for _, replacement := range command.Replacements {
			if h.claim(replacement.Name).State != model.Initialized {
				h.t.Errorf("R43, B4: claim %s begins to drain and replacement %s is not initialised", claim.Name, replacement.Name)
			}
		}
	}
	return h.ledger.End(ctx, fence, command, claims)
}

func tainted(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

func (h *house) SnapshotAt(_ context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	if err := h.did("snapshot", ""); err != nil {
		return nil, err
	}
	if h.published.Seq != manifest.HeadSeq {
		return nil, fault.New(fault.NotFound, "", "no snapshot %d", manifest.HeadSeq)
	}
	return h.published, nil
}

func (h *house) Lost(ctx context.Context, manifest model.Manifest) error {
	if err := h.did("lost", fmt.Sprint(manifest.HeadSeq)); err != nil {
		return err
	}
	return world.Losses{Ledger: h.ledger}.Lost(ctx, manifest)
}

func (h *house) RegionCatalog(context.Context, model.Registration) (model.InstanceCatalog, error) {
	return model.InstanceCatalog{Version: "1", ReadUnix: began}, h.did("machines", "")
}

func (h *house) Connect(context.Context, model.Registration) (disrupt.Clients, error) {
	return disrupt.Clients{Objects: h, Reporter: h, Alarms: h}, h.did("connect", "")
}

func (h *house) ReadNode(_ context.Context, object model.Object) (model.Occupied, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err := h.did("read", object.Name); err != nil {
		return model.Occupied{}, err
	}
	node := h.nodes[object.Name]
	if node == nil || node.Node.UID != object.UID {
		return model.Occupied{}, fault.New(fault.NotFound, "", "node %s of UID %s is gone", object.Name, object.UID)
	}
	out := *node
	out.Node.Taints = slices.Clone(node.Node.Taints)
	out.ReadUnix = h.now
	return out, nil
}

func (h *house) PDBs(context.Context) ([]model.PDB, error) { return h.budgets, h.did("budgets", "") }

func (h *house) PatchNode(_ context.Context, patch model.NodePatch) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	op := "taint"
	if len(patch.RemoveTaints) > 0 {
		op = "untaint"
	}
	if err := h.did(op, patch.Name); err != nil {
		return err
	}
	node := h.nodes[patch.Name]
	if node == nil || node.Node.UID != patch.UID {
		return fault.New(fault.NotFound, "", "node %s of UID %s is gone", patch.Name, patch.UID)
	}
	for _, taint := range patch.RemoveTaints {
		node.Node.Taints = slices.DeleteFunc(node.Node.Taints, func(t model.Taint) bool { return t.Key == taint.Key })
	}
	for _, taint := range patch.AddTaints {
		if !slices.Contains(node.Node.Taints, taint) {
			node.Node.Taints = append(node.Node.Taints, taint)
		}
	}
	return nil
}

func (h *house) Report(_ context.Context, report model.Report) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err := h.did("report", ""); err != nil {
		return err
	}
	h.events = append(h.events, report.Events...)
	for _, c := range report.Claims {
		object := h.objects[c.Object]
		switch {
		case object == nil || object.uid != c.UID:
		case c.Type == model.ConditionDisruptionReason && c.Status == "True":
			object.reason = c.Reason
		case c.Type == model.ConditionDisruptionReason && c.Status == "":
			object.reason = ""
		case c.Type == model.ConditionConsolidatable && (c.Status == "True" || c.Status == ""):
			object.quiet = c.Status
			h.quieted++
		default:
			h.t.Errorf("condition %+v", c)
		}
	}
	for _, event := range report.PodEvents {
		if object := h.objects[event.Claim]; object != nil && object.uid == event.UID {
			object.podEvent, h.podEvents = event.AtUnix, h.podEvents+1
		}
	}
	return nil
}

func (h *house) Replace(_ context.Context, _, key string) error {
	if err := h.did("replace", ""); err != nil {
		return err
	}
	h.replaces, h.dueReplace = append(h.replaces, key), true
	return nil
}

func (h *house) Drain(_ context.Context, _, key string, _ time.Duration) error {
	if err := h.did("drain", ""); err != nil {
		return err
	}
	h.drains = append(h.drains, key)
	return nil
}

func (h *house) RequestDisruption(_ context.Context, name, key string, after time.Duration) error {
	if _, err := wire.EncodeHint(wire.Hint{Cluster: name, Reason: wire.ReasonDisrupt, Tick: key}); err != nil {
		h.t.Errorf("hint %q: %v", key, err)
	}
	if err := h.did("hint", ""); err != nil {
		return err
	}
	if after < 0 || after > 15*time.Minute {
		h.t.Errorf("hint %s after %s", key, after)
	}
	h.hints = append(h.hints, hint{key, h.now + int64(after/time.Second)})
	return nil
}

func (h *house) PutDisruption(_ context.Context, decision model.Disrupted) error {
	if err := h.did("decision", ""); err != nil {
		return err
	}
	h.decisions = append(h.decisions, decision)
	return nil
}

// flow is the one under test, in a process of its own that may be stopped at its effects.
func (h *house) flow(effects work.EffectHook) *disrupt.Flow {
	flow := &disrupt.Flow{
		Registry: h, Leases: h, Ledger: h, Commands: h, Snapshots: h, Losses: h, Catalogs: h, Decisions: h, Connector: h,
		RequestReplacement: h.Replace, RequestDrain: h.Drain, RequestDisruption: h.RequestDisruption,
		Now:   func() time.Time { return time.Unix(h.now, 0) },
		NewID: func() string { h.ids++; return fmt.Sprintf("D%03d", h.ids) },
		Plan: func(in disruption.Input) model.DisruptPlan {
			h.plans++
			if h.plan == nil {
				return model.DisruptPlan{}
			}
			return h.plan(in)
		},
		Revalidate: func(in disruption.Input, c *model.Command) []model.KeptReason {
			if h.holds == nil {
				return nil
			}
			return h.holds(in, c)
		},
		Parallel: h.parallel,
		Settings: h.settings, Effects: effects,
	}
	if flow.Parallel == nil {
		flow.Parallel = work.Sequential
	}
	return flow
}

// run looks once.
func (h *house) run(effects work.EffectHook, reported bool) error {
	h.t.Helper()
	return h.asked(effects, disrupt.Request{Changed: reported})
}

// asked looks once as a request asks for, by an owner of its own.
func (h *house) asked(effects work.EffectHook, request disrupt.Request) error {
	h.t.Helper()
	h.runs++
	flow := h.flow(effects)
	request.Cluster, request.Owner, request.Deadline = cluster, fmt.Sprintf("run %d", h.runs), flow.Now().Add(60*time.Second)
	var err error
	h.outcome, err = flow.Run(h.t.Context(), request)
	return err
}

// check runs once and fails the test on an error or a problem.
func (h *house) check() disrupt.Outcome {
	h.t.Helper()
	if err := h.run(nil, true); err != nil || len(h.outcome.Problems) > 0 {
		h.t.Fatalf("%v; %q", err, h.outcome.Problems)
	}
	return h.outcome
}

// pass lets seconds pass: the watcher publishes, hints arrive, there is a tick each minute, and provision launches.
func (h *house) pass(seconds int) {
	h.t.Helper()
	for range seconds {
		h.now++
		h.publish()
		h.provision()
		due := h.now%60 == 0
		var request disrupt.Request
		h.hints = slices.DeleteFunc(h.hints, func(k hint) bool {
			if k.due > h.now {
				return false
			}
			request.Take(wire.Hint{Tick: k.key})
			due = true
			return true
		})
		if due {
			_ = h.asked(nil, request) // what could not be looked at is looked at with the next tick
		}
	}
}

// provision launches the replacements commands ask for, when it is asked or ticks, and initializes or loses instances in their time.
func (h *house) provision() {
	ledger := h.load()
	byName := map[string]model.Claim{}
	for _, claim := range ledger.Claims {
		byName[claim.Name] = claim
		if claim.State == model.Launched && h.now-claim.LaunchedUnix >= h.boots {
			h.change(claim.Name, func(c *model.Claim) {
				c.State, c.NodeName, c.NodeUID, c.RegisteredUnix, c.InitializedUnix = model.Initialized, c.Name, "u-"+c.Name, h.now, h.now
			})
			h.addNode(h.claim(claim.Name))
			h.hints = append(h.hints, hint{"initialized", h.now})
		}
	}
	if !h.dueReplace && h.now%60 != 30 {
		return
	}
	h.dueReplace = false
	for _, command := range ledger.Commands {
		if command.State != model.CommandReplacing {
			continue
		}
		for _, r := range command.Replacements {
			if _, known := byName[r.Name]; known || slices.ContainsFunc(ledger.Spent, func(c model.Claim) bool { return c.Name == r.Name }) {
				continue
			}
			h.adopt(model.Claim{Name: r.Name, Pool: r.Pool, Class: r.Class, State: model.Launched, InstanceID: "i-" + r.Name, ProviderID: "aws:///a/i-" + r.Name, ObjectUID: "o-" + r.Name, LaunchedUnix: h.now, CreatedUnix: h.now})
			if h.barren {
				h.lose(r.Name)
			}
		}
	}
}

// lose closes a claim.
func (h *house) lose(name string) {
	h.t.Helper()
	fence, err := h.ledger.AcquireLease(h.t.Context(), cluster, model.LeaseCollector, "collector", h.now, h.now+1)
	must(h.t, err)
	claim := h.claim(name)
	claim.FailureCode, claim.FailureMessage = "InsufficientInstanceCapacity", "there is none"
	must(h.t, h.ledger.CloseClaim(h.t.Context(), fence, claim, h.now))
}

// wants makes the plan ask for commands, each for as long as its nodes are in none and are there untainted.
func (h *house) wants(commands ...model.PlannedCommand) {
	h.plan = func(in disruption.Input) model.DisruptPlan {
		plan := model.DisruptPlan{Commands: []model.PlannedCommand{}, Kept: []model.KeptNode{}}
		free := map[string]bool{}
		open := map[string]bool{}
		undone := map[string]bool{}
		for _, c := range in.Commands {
			open[c.ID] = c.State.Open()
			for _, t := range c.Targets {
				undone[t.Node] = undone[t.Node] || c.State == model.CommandUndone
			}
		}
		for _, claim := range in.Claims {
			free[claim.NodeName] = claim.State == model.Initialized && !open[claim.Command] && !undone[claim.NodeName]
		}
		for _, c := range commands {
			if !slices.ContainsFunc(c.Nodes, func(n string) bool { return !free[n] }) {
				c.Replacements = slices.Clone(c.Replacements)
				plan.Commands = append(plan.Commands, c)
			}
		}
		return plan
	}
}

func planned(reason string, replacements int, nodes ...string) model.PlannedCommand {
	c := model.PlannedCommand{Reason: reason, Nodes: nodes, Replacements: []model.PlannedClaim{}, Moves: []model.Nomination{}, Savings: 10_000}
	for i := range replacements {
		c.Replacements = append(c.Replacements, model.PlannedClaim{Name: fmt.Sprintf("planned-%d", i), Pool: "web", Class: "default"})
	}
	return c
}

// state is everything that is to be the same however often a process died on the way: claims, taints, conditions and commands,
// without names that were drawn.
func (h *house) state() string {
	h.t.Helper()
	ledger := h.load()
	open := map[string]bool{}
	states := map[string]int{}
	for _, c := range ledger.Commands {
		open[c.ID] = c.State.Open()
		states[c.Reason+" "+string(c.State)+" "+c.FailureCode]++
	}
	var lines []string
	for _, claim := range ledger.Claims {
		name := claim.Name
		if strings.HasPrefix(name, "web-") {
			name = "replacement"
		}
		node := h.nodes[claim.NodeName]
		lines = append(lines, fmt.Sprintf("%s %s %q in command: %v tainted: %v says %q", name, claim.State, claim.FailureCode, open[claim.Command], node != nil && tainted(&node.Node), h.objects[claim.Name].reason))
	}
	slices.Sort(lines)
	for _, state := range slices.Sorted(maps.Keys(states)) {
		lines = append(lines, fmt.Sprintf("%d commands %s", states[state], state))
	}
	return strings.Join(lines, "\n")
}

// mortal kills a process at its n-th effect, before it or after it.
type mortal struct {
	h     *house
	at    int
	after bool
	n     int
	dead  bool
	names []string
}

var errKilled = errors.New("killed")

func (m *mortal) Before(_ context.Context, effect string) error {
	if m.dead {
		return errKilled
	}
	m.n++
	m.names = append(m.names, effect)
	if m.n == m.at && !m.after {
		m.die()
		return errKilled
	}
	return nil
}

func (m *mortal) After(context.Context, string) {
	if m.n == m.at && m.after {
		m.die()
	}
}

func (m *mortal) die() {
	m.dead = true
	m.h.errs["release"] = errKilled // the lease runs out by itself
}

func (h *house) happened(op string) int {
	n := 0
	for _, line := range h.log {
		if line == op || strings.HasPrefix(line, op+" ") {
			n++
		}
	}
	return n
}

func (h *house) reasons() []string {
	var out []string
	for _, e := range h.events {
		if text := e.Kind + "/" + e.Name + " " + e.Reason; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}
