package provision

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// FanOut turns the tick of each minute into one hint per cluster that is awake, as work.FanOut says.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "resync", work.SkipResync(ctx, f.Peeks, tick), func(cluster string) error {
		return f.RequestResync(ctx, cluster, tick)
	})
}

// Run looks at one cluster and does what is to be done there. Conflict means that another planner is at work: the hint
// should come back later. Any other error means the run could not be carried through; what it recorded is recovered by
// the next.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	v := &invocation{
		settings: f.Settings.withDefaults(), request: request, clock: f.Now, started: f.Now(), newID: f.NewID,
		effects: f.Effects, sideBySide: f.Parallel, awaited: map[string]bool{},
		out: Outcome{
			Cluster: request.Cluster, Trigger: request.Trigger,
			Failures: map[string]int{}, Joined: map[string]int{}, Millis: map[string]int64{},
		},
	}
	err := f.guarded(ctx, v)
	v.reached("done")
	return v.out, err
}

// guarded is reconcile, with a panic turned into an error: the hint comes back, and other clusters' hints are handled.
func (f *Flow) guarded(ctx context.Context, v *invocation) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "Panic", "provisioning of cluster %s panicked: %v\n%s", v.request.Cluster,
				p, debug.Stack())
		}
	}()
	return f.reconcile(ctx, v)
}

// reconcile takes one cluster through all phases.
func (f *Flow) reconcile(ctx context.Context, v *invocation) error {
	// 1. Who is asked about, and may we.
	reg, err := f.Registry.Cluster(ctx, v.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		v.out.Skipped = "the cluster is not attached" // any more: nothing will change that but attaching it
		return nil
	}
	if err != nil {
		return fmt.Errorf("read registration of cluster %s: %w", v.request.Cluster, err)
	}
	v.reg = reg
	if reg.Paused {
		v.out.Skipped = "the cluster is paused"
		return nil
	}

	// 2. One planner at a time, held until the invocation is surely dead.
	until := v.request.Deadline.Add(v.settings.LeaseMargin)
	v.fence, err = f.Leases.Acquire(ctx, reg.Cluster, v.request.Owner, v.now(), until.Unix()+1)
	if err != nil {
		return fmt.Errorf("acquire the planner lease of cluster %s: %w", reg.Cluster, err)
	}
	defer f.release(ctx, v)

	// 3. What is, as the ledger and the snapshot say.
	s, clients, err := f.load(ctx, v)
	if err != nil || s == nil {
		return err
	}
	return f.phases(s, clients).run(ctx)
}

// release releases the lease even when the invocation's own context is over.
func (f *Flow) release(ctx context.Context, v *invocation) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := f.Leases.Release(ctx, v.fence); err != nil {
		v.problem("release the planner lease: %v", err)
	}
}

// phases are the parts of a run that follow loading.
type phases struct {
	*constraints
	quota         *quota
	replacements  *replacements
	recorder      *recorder
	health        *poolHealth
	recoverer     *recoverer
	provisioner   *provisioner
	buffers       *buffers
	registrar     *registrar
	templates     *templateCollector
	reporter      *reporter
	learner       *learner
	requestResync port.Hint
}

// phases gives each part what it needs.
func (f *Flow) phases(s *state, clients Clients) *phases {
	quota := &quota{state: s, allowances: f.Allowances}
	c := &constraints{
		state:       s,
		classes:     &classes{state: s, quota: quota, shared: f.Catalogs, own: clients.Catalog},
		suspensions: &suspensions{state: s},
		backOff:     &backOff{state: s, port: f.Unavailable, probes: map[model.UnavailableOffering]probe{}},
		pace:        &pace{state: s},
		standalones: &standalones{state: s, client: clients.Standalone},
		culprits:    &culprits{state: s, plan: f.Plan, accused: map[string]bool{}},
	}
	live := &live{state: s, cluster: clients.Cluster, configurations: clients.Configurations, classes: c.classes}
	settler := &settler{state: s, fleet: clients.Fleet, classes: c.classes, backOff: c.backOff}
	p := &phases{
		constraints: c, quota: quota, requestResync: f.RequestResync,
		replacements: &replacements{state: s, requestDisruption: f.RequestDisruption, nameUsed: map[string]bool{}},
		recorder:     &recorder{state: s, decisions: f.Decisions, classes: c.classes},
		health:       &poolHealth{state: s, changed: map[string]bool{}},
		recoverer: &recoverer{
			state: s, quota: quota, pace: c.pace, settler: settler, fleet: clients.Fleet, recounts: f.UsageRecounts,
		},
		buffers:   &buffers{s},
		templates: &templateCollector{state: s, quota: quota, templates: clients.Templates},
		learner:   &learner{state: s, classes: c.classes, memories: f.Memories},
		registrar: &registrar{
			state: s, quota: quota, states: f.ClaimStates, cluster: clients.Cluster, nominator: clients.Nominator,
			tagger: clients.Tagger, fleet: clients.Fleet,
		},
	}
	p.reporter = &reporter{constraints: c, port: clients.Reporter, health: p.health, recorder: p.recorder}
	p.provisioner = &provisioner{
		constraints: c, replacements: p.replacements, live: live, buffers: p.buffers, recorder: p.recorder,
		planner: &planner{constraints: c, replacements: p.replacements, live: live},
		launcher: &launcher{
			constraints: c, quota: quota, replacements: p.replacements, templates: p.templates, recorder: p.recorder,
			drafter: &drafter{c}, settler: settler, fleet: clients.Fleet, remade: map[string]int{},
		},
		insufficientRounds: map[string]int{},
	}
	return p
}

// run takes a loaded cluster through the other phases.
func (p *phases) run(ctx context.Context) error {
	// 4. What an earlier run left half done comes first: its claims are capacity or they are not.
	p.suspensions.updateClasses()
	p.suspensions.updatePools()
	p.health.update()
	failure := p.recoverer.recover(ctx)
	if failure == nil {
		failure = p.recoverer.recount(ctx)
	}

	// 5. Pods that nothing can hold.
	launches := newLaunches()
	if failure == nil {
		launches, failure = p.provisioner.provision(ctx)
	}
	p.provisioner.replaced(ctx, launches.planned)
	p.buffers.update(p.recorder.decision.Rounds)
	p.reached("launched")

	// 6. Objects for claims that have none yet, and claims whose nodes have come on, whatever became of the pods: a
	// catalog that cannot be read must not keep a node from being registered.
	p.registrar.showClaims(ctx)
	p.registrar.restore(ctx)
	p.registrar.registerNodes(ctx)
	p.registrar.hydrateObjects(ctx)
	p.registrar.checkConsistency(ctx)
	p.suspensions.updatePools()
	p.health.update()
	p.templates.collect(ctx)
	p.recorder.unplaced()
	if err := p.remember(ctx); err != nil {
		p.problem("%v", err)
	}
	p.replacements.notifyDisruption(ctx)

	// 7. Tell people. It is last, because nobody's pod waits for it.
	p.recorder.keepDecision(ctx)
	p.reporter.publish(ctx, launches)

	// 8. Have the catalog at hand for the next batch: reading it takes longer than planning. Also before there is any
	// pool, since the first pods follow the first pool closely and would wait behind this.
	if _, err := p.classes.readCatalog(ctx); err != nil {
		p.problem("read the catalog of %s ahead of need: %v", p.reg.Region, err)
	}
	p.learner.learn(ctx)
	p.requeue(ctx)
	return failure
}

// requeue asks for another check of the cluster where something was put off because EC2's API was used up for now, or
// where pods are planned next and this run got on: calls come back each second, and the next resync is up to a minute
// away. The hint is behind this run in its group, and one a second is taken at most, so that however long that goes on
// a cluster costs a run a second.
func (p *phases) requeue(ctx context.Context) {
	if !p.quota.putOff && (p.provisioner.planner.later == 0 || len(p.recorder.decision.Launched) == 0) {
		return
	}
	key := fmt.Sprintf("again/%d", p.now())
	if err := p.effect(ctx, EffectRequeue,
		func() error { return p.requestResync(ctx, p.reg.Cluster, key) }); err != nil {
		p.problem("send a hint to run again; the next resync continues: %v", err)
	}
}
