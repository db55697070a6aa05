package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

// Settings of a feed. The zero value of a field means the default named with it.
type Settings struct {
	Every time.Duration    // between two looks, while somebody watches: 2 s
	Span  time.Duration    // how far back decisions and prices are shown: 24 h
	Now   func() time.Time // time.Now
}

func (s Settings) withDefaults() Settings {
	s.Every = cmp.Or(s.Every, 2*time.Second)
	s.Span = cmp.Or(s.Span, 24*time.Hour)
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

const (
	mostEntries  = 500 // decisions in the timeline
	backlog      = 16  // messages a browser may be behind; one that is further behind begins anew
	recordsEvery = 5 * time.Second
	overlap      = 120 // seconds that are read again of the records: writers' clocks differ
	planShare    = 4   // of the time at most one in so many goes into plans for pods that wait

	patience = 300 * time.Millisecond // for saying why pods wait, of one look
	keepFor  = 30 * time.Second       // for so long what was found out about them
	pause    = 10 * time.Second       // beyond it, and beyond three intervals, nobody looked in between
	lately   = 3 * 3600               // seconds that decisions about one pod are reported
)

// State is all the page shows at once.
type State struct {
	Version int64        `json:"v"`
	About   About        `json:"about"`
	Totals  Totals       `json:"totals"`
	Nodes   []Row        `json:"nodes"`
	Waiting []Waiting    `json:"waiting"`
	Entries []Entry      `json:"entries"` // newest first
	Prices  []PricePoint `json:"prices"`  // oldest first
}

// Delta is what changed since the version before it. Absent parts have not changed.
type Delta struct {
	Version int64        `json:"v"`
	About   *About       `json:"about,omitempty"`
	Totals  *Totals      `json:"totals,omitempty"`
	Nodes   []Row        `json:"nodes,omitempty"` // that came or changed
	Gone    []string     `json:"gone,omitempty"`  // ids
	Waiting *[]Waiting   `json:"waiting,omitempty"`
	Entries []Entry      `json:"entries,omitempty"` // that came, newest first
	Prices  []PricePoint `json:"prices,omitempty"`  // that came
	Curve   []PricePoint `json:"curve,omitempty"`   // all of them, where earlier ones are others than before
}

// About is what is known of where all this comes from.
type About struct {
	Cluster   string   `json:"cluster"`
	From      string   `json:"from"`
	Live      bool     `json:"live"`
	AtUnix    int64    `json:"at"`        // of the snapshot
	Heartbeat int64    `json:"heartbeat"` // Unix seconds of the watcher's last heartbeat; 0 = none is known
	Span      int64    `json:"span"`      // seconds that decisions and prices go back
	Replays   bool     `json:"replays"`   // decisions can be made once more
	Stopped   []string `json:"stopped"`
	Warnings  []string `json:"warnings"`
	Problem   string   `json:"problem,omitempty"` // why the last look failed; what is shown is then older
}

// Feed looks at a source while somebody watches and tells what changed. It may be used from many goroutines.
type Feed struct {
	source   Source
	settings Settings

	mutex    sync.Mutex // held while looking
	thinking sync.Mutex // held while something large is worked out for one browser

	mu          sync.Mutex
	state       *State
	cluster     *Cluster // that state shows; nil before the first check
	records     map[string]record
	subscribers map[chan []byte]bool
	wake        chan struct{}
	dryRun      *DryRun            // the last one
	dryRunPlan  *model.DisruptPlan // what it tells
	dryRunOf    *Cluster           // that it is of

	// Of whoever looks, under turn.
	problem   error // of reading records
	rowsOf    *Cluster
	rows      []Row // of it
	readUntil int64
	readAt    time.Time
	checkedAt time.Time
	unpriced  bool // the curve lacks changes that were not seen: it is to be made of records anew
	planned   *Cluster
	plan      *model.Plan
	planAfter time.Time
	causes    map[string]cause // of groups of pods that wait, by key
}

// record is one decision that was read.
type record struct {
	decision   *model.Decision
	disruption *model.Disrupted
	removal    *model.Removal
}

// NewFeed returns the feed of a source. It does nothing until Run.
func NewFeed(source Source, settings Settings) *Feed {
	return &Feed{
		source: source, settings: settings.withDefaults(), records: map[string]record{}, subscribers: map[chan []byte]bool{}, wake: make(chan struct{}, 1),
	}
}

// Run looks at the source until the context ends: at intervals while somebody watches, and not at all while nobody does.
func (f *Feed) Run(ctx context.Context) {
	ticker := time.NewTicker(f.settings.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-ticker.C:
		}
		if f.watched() {
			f.Refresh(ctx)
		}
	}
}

func (f *Feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscribers) > 0
}

// Subscribe returns messages of the event stream: the state if there is one already, then each change. The channel is closed where
// the reader is too far behind; whoever asks again begins anew. leave ends it.
func (f *Feed) Subscribe() (messages <-chan []byte, leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan []byte, backlog)
	if f.state != nil {
		text, err := message("state", f.state.Version, f.state)
		if err != nil {
			return nil, nil, err
		}
		ch <- text
	}
	f.subscribers[ch] = true
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.drop(ch)
	}, nil
}

// drop ends a subscription, under mu.
func (f *Feed) drop(ch chan []byte) {
	if f.subscribers[ch] {
		delete(f.subscribers, ch)
		close(ch)
	}
}

// message is one event of the stream.
func message(event string, version int64, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s %d: %w", event, version, err)
	}
	return fmt.Appendf(nil, "event: %s\nid: %d\ndata: %s\n\n", event, version, data), nil
}

// Refresh looks once and tells everybody what has changed. Why it could not is part of what is reported.
func (f *Feed) Refresh(ctx context.Context) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if ctx.Err() != nil {
		return
	}
	cluster, err := f.source.Read(ctx)
	if err != nil {
		f.publish(f.failed(err), nil)
		return
	}
	now := f.settings.Now()
	if !f.checkedAt.IsZero() && now.Sub(f.checkedAt) > max(pause, 3*f.settings.Every) {
		f.unpriced = true
	}
	f.checkedAt = now
	f.publish(f.draw(cluster), cluster) // nodes at once; records and plans may take long
	f.problem = f.readRecords(ctx)
	f.think(cluster)
	f.publish(f.draw(cluster), cluster)
}

// failed is the last state with why there is no newer one.
func (f *Feed) failed(err error) *State {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := State{Totals: Totals{Nodes: map[string]int{}}, Nodes: []Row{}, Waiting: []Waiting{}, Entries: []Entry{}, Prices: []PricePoint{}}
	if f.state != nil {
		next = *f.state
	}
	next.About.Problem = err.Error()
	return &next
}

// readRecords reads what was decided since the last time. Without a store there is nothing, which is no problem.
func (f *Feed) readRecords(ctx context.Context) error {
	now := f.settings.Now()
	if now.Sub(f.readAt) < recordsEvery {
		return nil
	}
	from := max(f.readUntil-overlap, now.Add(-f.settings.Span).Unix())
	read, err := f.source.Records(ctx, from, now.Unix()+1)
	if err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	f.readUntil, f.readAt = now.Unix(), now
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.records)
	defer func() { f.unpriced = f.unpriced || len(f.records) > before }()
	for i := range read.Decisions {
		f.records[read.Decisions[i].ID] = record{decision: &read.Decisions[i]}
	}
	for i := range read.Disruptions {
		f.records[read.Disruptions[i].ID] = record{disruption: &read.Disruptions[i]}
	}
	for i := range read.Removals {
		f.records[removalID(&read.Removals[i])] = record{removal: &read.Removals[i]}
	}
	return nil
}

// draw makes the state of a cluster by what is known: the last plan, and the records read so far.
func (f *Feed) draw(c *Cluster) *State {
	f.mu.Lock()
	next, last := &State{Entries: f.entries(c)}, f.state
	f.mu.Unlock()
	next.About = f.about(c, f.problem)
	if f.rowsOf != c {
		f.rowsOf, f.rows = c, Rows(c)
	}
	next.Nodes = f.rows
	next.Totals = totals(c, next.Nodes)
	next.Waiting = WaitingPods(c, f.plan)
	for i := range next.Waiting {
		g := &next.Waiting[i]
		if known, is := f.causes[g.Key]; is {
			g.Code, g.Why, g.Remedy = known.Code, upper(strings.TrimPrefix(known.Message, "is pending: ")), known.Remedy
		}
	}
	next.Prices = f.prices(c, last, next.Totals.Price)
	return next
}

// prices returns the curve so far and what it costs now. It begins once there are records to go back by, and is made of
// them anew after a pause and where they say more than before; until they are read then, it stays as it was.
func (f *Feed) prices(c *Cluster, last *State, price model.MicroUSD) []PricePoint {
	anew := c.Live && f.unpriced
	if last != nil && len(last.Prices) > 0 && (!anew || f.readAt.Before(f.checkedAt)) {
		if anew {
			return last.Prices
		}
		if n := len(last.Prices); c.Live && last.Prices[n-1].Price != price {
			return append(slices.Clip(last.Prices), PricePoint{c.now(), price})
		}
		return last.Prices
	}
	from := c.now() - int64(f.settings.Span/time.Second)
	switch {
	case !c.Live:
		return PriceCurve(c.now(), from, price, came(f.rows))
	case f.readAt.IsZero():
		return []PricePoint{}
	}
	f.unpriced = false
	return PriceCurve(c.now(), from, price, append(lived(f.lives(c)), requested(c)...))
}

// lives returns the instances that records and the ledger name.
func (f *Feed) lives(c *Cluster) []explain.InstanceLifetime {
	f.mu.Lock()
	defer f.mu.Unlock()
	decisions, removals := []model.Decision{}, []model.Removal{}
	for _, r := range f.records {
		switch {
		case r.decision != nil:
			decisions = append(decisions, *r.decision)
		case r.removal != nil:
			removals = append(removals, *r.removal)
		}
	}
	ledger := c.ledger()
	return explain.InstanceLifetimes(decisions, removals, slices.Concat(ledger.Ended, ledger.Claims))
}

// think plans for the pods that wait and finds out why nothing can hold some of them, unless that has taken too much of the time lately:
// then what was found out last stands.
func (f *Feed) think(c *Cluster) {
	began := time.Now()
	switch {
	case f.planned == c:
		return
	case !slices.ContainsFunc(c.snapshot().Pods, func(p model.Pod) bool { return waits(&p) }):
		f.planned, f.plan, f.causes = c, nil, nil
		return
	case began.Before(f.planAfter):
		return
	}
	plan := PlanNow(c)
	f.planned, f.plan = c, &plan
	f.explain(c, WaitingPods(c, f.plan))
	f.planAfter = time.Now().Add((planShare - 1) * time.Since(began))
}

func (f *Feed) about(c *Cluster, problem error) About {
	out := About{
		Cluster: c.Name, From: c.From, Live: c.Live, AtUnix: c.snapshot().AtUnix, Span: int64(f.settings.Span / time.Second),
		Stopped: Stopped(c), Warnings: notNil(c.Warnings),
	}
	_, out.Replays = f.source.(Replayer)
	if manifest := c.ledger().Manifest; manifest != nil {
		out.Heartbeat = manifest.HeartbeatAt
	}
	if problem != nil {
		out.Problem = problem.Error()
	}
	return out
}

// entries returns the timeline, under mu.
func (f *Feed) entries(c *Cluster) []Entry {
	pools := map[string]bool{}
	for _, pool := range c.snapshot().Pools {
		pools[pool.Name] = pool.DeletedUnix == 0
	}
	out := make([]Entry, 0, len(f.records))
	for _, r := range f.records {
		switch {
		case r.decision != nil:
			out = append(out, EntryOf(r.decision))
		case r.disruption != nil:
			out = append(out, EntryOfDisruption(r.disruption))
		case r.removal.Command == "": // the others are part of their command
			entry := EntryOfRemoval(r.removal)
			if pool := r.removal.Claim.Pool; entry.By == model.ByPeople && pool != "" && !pools[pool] {
				entry.Trigger = "NodePool " + pool + " was deleted"
			}
			out = append(out, entry)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID)) })
	return out[:min(len(out), mostEntries)]
}

// publish makes a state the current one and tells everybody what is different.
func (f *Feed) publish(next *State, cluster *Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.state
	next.Version = 1
	if last != nil {
		next.Version = last.Version + 1
	}
	event, value := "state", any(next)
	if last != nil {
		delta := Difference(last, next)
		if delta == nil {
			f.cluster = cmp.Or(cluster, f.cluster)
			return
		}
		event, value = "delta", delta
	}
	f.state, f.cluster = next, cmp.Or(cluster, f.cluster)
	text, err := message(event, next.Version, value)
	if err != nil {
		return // numbers and strings: cannot be
	}
	for ch := range f.subscribers {
		select {
		case ch <- text:
		default:
			f.drop(ch)
		}
	}
}

// Difference returns what turns one state into the next, nil where nothing does.
func Difference(last, next *State) *Delta {
	d, changed := &Delta{Version: next.Version}, false
	before := make(map[string]*Row, len(last.Nodes))
	for i := range last.Nodes {
		before[last.Nodes[i].ID] = &last.Nodes[i]
	}
	for i := range next.Nodes {
		row := &next.Nodes[i]
		if old := before[row.ID]; old == nil || *old != *row {
			d.Nodes = append(d.Nodes, *row)
		}
		delete(before, row.ID)
	}
	d.Gone = slices.Sorted(maps.Keys(before))
	changed = len(d.Nodes)+len(d.Gone) > 0
	if !equal(last.About, next.About) {
		d.About, changed = &next.About, true
	}
	if !equal(last.Totals, next.Totals) {
		d.Totals, changed = &next.Totals, true
	}
	if !equal(last.Waiting, next.Waiting) {
		d.Waiting, changed = &next.Waiting, true
	}
	known := map[string]bool{}
	for i := range last.Entries {
		known[last.Entries[i].ID] = true
	}
	for i := range next.Entries {
		if !known[next.Entries[i].ID] {
			d.Entries, changed = append(d.Entries, next.Entries[i]), true
		}
	}
	switch n := len(last.Prices); {
	case len(next.Prices) < n || !slices.Equal(last.Prices, next.Prices[:n]):
		d.Curve, changed = next.Prices, true
	case len(next.Prices) > n:
		d.Prices, changed = next.Prices[n:], true
	}
	if !changed {
		return nil
	}
	return d
}

// equal compares by what is sent.
func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

var errUnknown = errors.New("unknown here, or no longer stored")

// seen returns the cluster and the rows that are shown, after a first check where there was none.
func (f *Feed) seen(ctx context.Context) (*Cluster, []Row, error) {
	f.mu.Lock()
	checked := f.cluster != nil
	f.mu.Unlock()
	if !checked {
		f.Refresh(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cluster == nil {
		return nil, nil, errors.New(f.state.About.Problem)
	}
	return f.cluster, f.state.Nodes, nil
}

// Node returns a node by the id of its row.
func (f *Feed) Node(ctx context.Context, id string) (NodeDetail, error) {
	cluster, rows, err := f.seen(ctx)
	if err != nil {
		return NodeDetail{}, err
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return NodeDetail{}, fmt.Errorf("node %q: %w", id, errUnknown)
	}
	return DetailOfNode(cluster, rows[i], f.facts(cluster, id)), nil
}

// facts looks up what is recorded of a claim, and what the last dry run said.
func (f *Feed) facts(c *Cluster, claim string) explain.NodeFacts {
	claims := c.ledger().Claims
	i := slices.IndexFunc(claims, func(c model.Claim) bool { return c.Name == claim })
	f.mu.Lock()
	defer f.mu.Unlock()
	out := explain.NodeFacts{Plan: f.dryRunPlan}
	if i < 0 {
		return out
	}
	out.Launch = f.records[claims[i].Decision].decision
	out.Market = model.CatalogOf(c.State.Ask.Catalogs, claims[i].Class, claims[i].Pool)
	command, _, _ := strings.Cut(claims[i].Command, "-") // its decision's id and a number
	out.Moved = f.records[command].disruption
	return out
}

// Pools returns the NodePools of the cluster, those with most nodes first.
func (f *Feed) Pools(ctx context.Context) ([]PoolDetail, error) {
	cluster, rows, err := f.seen(ctx)
	if err != nil {
		return nil, err
	}
	pools := cluster.snapshot().Pools
	out := make([]PoolDetail, 0, len(pools))
	for i := range pools {
		out = append(out, DetailOfPool(cluster, &pools[i], rows))
	}
	slices.SortFunc(out, func(a, b PoolDetail) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// PodWhy says what a pod waits for.
type PodWhy struct {
	Line   string                 `json:"line"`
	Code   string                 `json:"code"`
	Events []explain.HistoryEvent `json:"events"` // what was decided about it lately; never nil
}

// Pod says of a pod, namespace/name, what it waits for.
func (f *Feed) Pod(ctx context.Context, key string) (PodWhy, error) {
	cluster, _, err := f.seen(ctx)
	if err != nil {
		return PodWhy{}, err
	}
	f.thinking.Lock()
	defer f.thinking.Unlock()
	namespace, name, _ := strings.Cut(key, "/")
	answer := explain.Pod(f.withRecords(cluster), namespace, name)
	out := PodWhy{Line: answer.Line(), Code: answer.Cause.Code, Events: answer.Events}
	if out.Events == nil {
		out.Events = []explain.HistoryEvent{}
	}
	return out, nil
}

// withRecords returns the cluster with the decisions that were read.
func (f *Feed) withRecords(c *Cluster) *explain.Cluster {
	if c.State.Installation == nil {
		return c.State
	}
	clusterState, installation := *c.State, *c.State.Installation
	clusterState.Installation, installation.Decisions = &installation, nil
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if r.decision != nil && c.now()-r.decision.AtUnix < lately {
			installation.Decisions = append(installation.Decisions, *r.decision)
		}
	}
	slices.SortFunc(installation.Decisions, func(a, b model.Decision) int {
		return cmp.Or(cmp.Compare(a.AtUnix, b.AtUnix), strings.Compare(a.ID, b.ID))
	})
	return &clusterState
}

// explain finds out why nothing can hold groups of pods, as far as that takes no longer than it may; what was found out a while ago
// stands.
func (f *Feed) explain(c *Cluster, groups []Waiting) {
	began := time.Now()
	causes := map[string]cause{}
	for i := range groups {
		g := &groups[i]
		if g.How != WaitsUnplaced {
			continue
		}
		known, is := f.causes[g.Key]
		if now := time.Now(); (!is || now.Sub(known.at) > keepFor) && now.Sub(began) <= patience {
			namespace, _, _ := strings.Cut(g.Workload, "/")
			known, is = cause{now, explain.Pod(c.State, namespace, g.Names[0]).Cause}, true
		}
		if is {
			causes[g.Key] = known
		}
	}
	f.causes = causes
}

// cause is why pods wait, as it was found out.
type cause struct {
	at time.Time
	explain.Cause
}

// Decision returns a decision of the timeline by its id.
func (f *Feed) Decision(ctx context.Context, id string) (Detail, error) {
	_, rows, err := f.seen(ctx)
	if err != nil {
		return Detail{}, err
	}
	f.mu.Lock()
	found := f.records[id]
	f.mu.Unlock()
	switch {
	case found.decision != nil:
		return DetailOf(found.decision), nil
	case found.disruption != nil:
		return DetailOfDisruption(found.disruption, rows), nil
	case found.removal != nil:
		return DetailOfRemoval(found.removal), nil
	}
	return Detail{}, fmt.Errorf("decision %q: %w", id, errUnknown)
}

// Replay makes a decision of the timeline once more.
func (f *Feed) Replay(ctx context.Context, id string) (Replayed, error) {
	source, can := f.source.(Replayer)
	if !can {
		return Replayed{}, fmt.Errorf("replay decision %s: its input: %w", id, errUnknown)
	}
	f.thinking.Lock()
	defer f.thinking.Unlock()
	out, err := source.Replay(ctx, id)
	if out.Differences == nil {
		out.Differences = []string{}
	}
	return out, err
}

// PlanNow returns what would be done now for the pods that wait, as a decision nobody has made.
func (f *Feed) PlanNow(ctx context.Context) (Detail, error) {
	cluster, _, err := f.seen(ctx)
	if err != nil {
		return Detail{}, err
	}
	f.thinking.Lock()
	plan := PlanNow(cluster)
	f.thinking.Unlock()
	pods := len(plan.Unschedulable)
	for i := range plan.Claims {
		pods += len(plan.Claims[i].Pods)
	}
	for i := range plan.Nominations {
		pods += len(plan.Nominations[i].Pods)
	}
	entry := Entry{
		ID: "now", Kind: KindProvision, At: cluster.now(), Trigger: "dry run", Pods: pods, Nodes: len(plan.Claims), Left: len(plan.Unschedulable),
		Price: plan.Price, Title: fmt.Sprintf("%s would be launched for %s", explain.Many(len(plan.Claims), "node"), explain.Many(pods, "pod")),
	}
	return Detail{
		Entry: entry, Epoch: cluster.snapshot().Epoch, Seq: cluster.snapshot().Seq, Stale: []string{}, Commands: []Command{}, Says: []string{},
		Rounds: []Round{RoundOf(&model.Round{Plan: plan})},
	}, nil
}

// Saving is what voluntary disruption could save now, per hour.
type Saving struct {
	AtUnix int64          `json:"at"`
	Before model.MicroUSD `json:"before"`
	After  model.MicroUSD `json:"after"`
	Nodes  int            `json:"nodes"` // that would be removed
}

// Saving returns the sums of a dry run, for pages that show no more of it.
func (f *Feed) Saving(ctx context.Context) (Saving, error) {
	dry, err := f.DryRun(ctx)
	if err != nil {
		return Saving{}, err
	}
	out := Saving{AtUnix: dry.AtUnix, Before: dry.Before, After: dry.After}
	for i := range dry.Commands {
		out.Nodes += len(dry.Commands[i].Goes)
	}
	return out, nil
}

// DryRun returns what would be disrupted now. Of one cluster it is worked out once.
func (f *Feed) DryRun(ctx context.Context) (DryRun, error) {
	cluster, rows, err := f.seen(ctx)
	if err != nil {
		return DryRun{}, err
	}
	f.thinking.Lock()
	defer f.thinking.Unlock()
	f.mu.Lock()
	if f.dryRunOf == cluster {
		defer f.mu.Unlock()
		return *f.dryRun, nil
	}
	f.mu.Unlock()
	plan := history.PlanDisruption(cluster.State)
	dry := NewDryRun(cluster, rows, *plan)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dryRun, f.dryRunPlan, f.dryRunOf = &dry, plan, cluster
	return dry, nil
}
