package metrics

import (
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Options are what a Recorder is made of.
type Options struct {
	Rows    func() publish.Rows
	Waiting func() int            // pods that need capacity nothing has
	PodsOn  func(node string) int // pods that have to leave a node that is disrupted
	Synced  func() bool           // what was there at the start has been observed
	Now     func() time.Time
	Version string // of this build
	Detail  bool   // of each node and pod; false where that is too many series
}

// Recorder counts what happens to a cluster and tells it with what there is. Its methods may be called from any
// goroutine.
type Recorder struct {
	o       Options
	began   time.Time
	leading atomic.Bool
	ready   atomic.Bool // o.Synced was true once

	itself  *prometheus.Registry // of this process
	cluster *prometheus.Registry // of what has happened

	claimsCreated, claimsTerminated, claimsDisrupted, claimsUnhealthy, nodesCreated, nodesTerminated, nodesDrained,
	podsDisrupted, decisions, decisionsByPool *prometheus.CounterVec
	claimsTermination,
	nodesLived *prometheus.HistogramVec
	nodesTermination *prometheus.SummaryVec
	podsBound        prometheus.Histogram
	podsStartup      prometheus.Summary

	ofClaims, ofPools, ofClasses *conditions // guarded by mutex

	mutex    sync.Mutex // of what follows
	nodes    map[string]followed
	shown    map[string]model.ClaimShown
	deleted  map[string]int64 // when NodeClaims were deleted, by name
	pools    map[string]poolWords
	starting map[string]start // pods that are not ready yet, by key
	commands map[string]int64 // that were counted, and when
}

// followed is a node as it was last seen.
type followed struct {
	pool, zone           string
	registered           bool
	created, deletedUnix int64
}

// start is a pod on its way.
type start struct {
	created int64
	bound   bool
}

// poolWords are a pool's words on how its nodes end.
type poolWords struct{ policy, mode string }

// Buckets of durations, in seconds: those of Karpenter's metrics that are about as long.
var (
	ofMinutes = prometheus.ExponentialBuckets(1, 2, 11)
	ofLives   = []float64{300, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 432000, 864000, 1728000}
)

// quantiles of summaries, with how exact they are.
var quantiles = map[float64]float64{0: 0.01, 0.5: 0.01, 0.9: 0.01, 0.99: 0.01, 1: 0.01}

// New returns a recorder that has counted nothing.
func New(o Options) *Recorder {
	r := &Recorder{
		o: o, began: o.Now(), itself: prometheus.NewRegistry(), cluster: prometheus.NewRegistry(),
		nodes: map[string]followed{}, shown: map[string]model.ClaimShown{}, deleted: map[string]int64{},
		pools:    map[string]poolWords{},
		starting: map[string]start{}, commands: map[string]int64{},
	}
	counted := func(f Family) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Means}, f.Labels)
		r.cluster.MustRegister(v)
		return v
	}
	timed := func(f Family, buckets []float64) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Means, Buckets: buckets},
			f.Labels)
		r.cluster.MustRegister(v)
		return v
	}
	summed := func(f Family) *prometheus.SummaryVec {
		v := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: f.Name, Help: f.Means, Objectives: quantiles},
			f.Labels)
		r.cluster.MustRegister(v)
		return v
	}
	r.claimsCreated, r.claimsTerminated, r.claimsDisrupted = counted(claimsCreated), counted(claimsTerminated),
		counted(claimsDisrupted)
	r.nodesCreated, r.nodesTerminated, r.nodesDrained = counted(nodesCreated), counted(nodesTerminated),
		counted(nodesDrained)
	r.decisions, r.decisionsByPool, r.claimsUnhealthy = counted(decisions), counted(decisionsByPool),
		counted(claimsUnhealthy)
	r.podsDisrupted = counted(podsDisrupted)
	r.claimsTermination, r.nodesLived, r.nodesTermination = timed(claimsTermination, ofMinutes),
		timed(nodesLived, ofLives), summed(nodesTermination)
	r.ofClaims = follow(counted(claimsChanges), timed(claimsChanged, ofTransitions))
	r.ofPools = follow(counted(poolsChanges), timed(poolsChanged, ofTransitions))
	r.ofClasses = follow(counted(classesChanges), timed(classesChanged, ofTransitions))
	r.podsBound = timed(podsBound, ofMinutes).WithLabelValues().(prometheus.Histogram)
	r.podsStartup = summed(podsStartup).WithLabelValues().(prometheus.Summary)
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.Name, Help: buildInfo.Means}, buildInfo.Labels)
	built.WithLabelValues(o.Version, runtime.Version(), runtime.GOARCH, commit()).Set(1)
	r.itself.MustRegister(built, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// commit is what this binary was built from, "" = unknown.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return ""
}

// SetLeading says whether this replica reports the cluster.
func (r *Recorder) SetLeading(leads bool) { r.leading.Store(leads) }

// counting reports whether what is observed now happens now, rather than having been there at the start.
func (r *Recorder) counting() bool {
	if !r.ready.Load() && r.o.Synced() {
		r.ready.Store(true)
	}
	return r.ready.Load()
}

// Observe takes in a change of the cluster.
func (r *Recorder) Observe(c wire.Change) {
	counts := r.counting()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case c.Pod != nil:
		r.pod(c.Pod, c.Deleted)
	case c.Node != nil:
		r.node(c.Node, c.Deleted, counts)
	case c.Claim != nil:
		r.claim(c, counts)
		r.ofClaims.observe(c.Claim.Name, c.Conditions, counts)
	case c.Pool != nil:
		r.pool(c.Pool, c.Deleted)
		r.ofPools.observe(c.Pool.Name, c.Conditions, counts)
	case c.Class != nil:
		r.ofClasses.observe(c.Class.Name, c.Conditions, counts)
	}
}

func (r *Recorder) now() int64 { return r.o.Now().Unix() }

// pod follows a pod until it is ready for the first time.
func (r *Recorder) pod(pod *model.Pod, deleted bool) {
	before, known := r.starting[pod.Key()]
	switch {
	case deleted || pod.Terminal():
		delete(r.starting, pod.Key())
		return
	case !known && pod.Phase != model.Pending || pod.CreatedUnix == 0:
		return // it ran before anybody looked
	}
	next := start{created: pod.CreatedUnix, bound: pod.NodeName != ""}
	if known && next.bound && !before.bound {
		r.podsBound.Observe(float64(max(0, r.now()-pod.CreatedUnix)))
	}
	if pod.Ready && known {
		r.podsStartup.Observe(float64(max(0, r.now()-pod.CreatedUnix)))
		delete(r.starting, pod.Key())
		return
	}
	r.starting[pod.Key()] = next
}

func (r *Recorder) node(node *model.Node, deleted, counts bool) {
	before, known := r.nodes[node.Name]
	if deleted {
		if delete(r.nodes, node.Name); known && counts && before.pool != "" {
			r.nodesTerminated.WithLabelValues(before.pool, before.zone).Inc()
			r.nodesLived.WithLabelValues(before.pool).Observe(float64(max(0, r.now()-before.created)))
			if before.deletedUnix != 0 {
				r.nodesTermination.WithLabelValues(before.pool).Observe(float64(max(0, r.now()-before.deletedUnix)))
			}
		}
		return
	}
	next := followed{
		pool: node.Pool(), zone: node.Labels[model.LabelZone], registered: node.Registered(), created: node.CreatedUnix,
		deletedUnix: node.DeletedUnix,
	}
	if r.nodes[node.Name] = next; counts && next.registered && !before.registered && next.pool != "" {
		r.nodesCreated.WithLabelValues(next.pool, next.zone).Inc()
	}
}

func (r *Recorder) claim(c wire.Change, counts bool) {
	name := c.Claim.Name
	before, known := r.shown[name]
	if c.Deleted {
		if known && counts {
			r.claimsTerminated.WithLabelValues(before.Pool, before.CapacityType, before.Zone).Inc()
			if at := r.deleted[name]; at != 0 {
				r.claimsTermination.WithLabelValues(before.Pool).Observe(float64(max(0, r.now()-at)))
			}
		}
		delete(r.shown, name)
		delete(r.deleted, name)
		return
	}
	if c.Shown == nil {
		return
	}
	r.shown[name] = *c.Shown
	if c.Claim.DeletedUnix != 0 && r.deleted[name] == 0 {
		r.deleted[name] = c.Claim.DeletedUnix
	}
	if !counts {
		return
	}
	if !known {
		r.claimsCreated.WithLabelValues("provisioned", c.Shown.Pool, strconv.FormatBool(c.Shown.MinValuesRelaxed)).Inc()
	}
	if c.Shown.Drained && !before.Drained {
		r.nodesDrained.WithLabelValues(c.Shown.Pool).Inc()
	}
	if c.Shown.DisruptionReason != "" && before.DisruptionReason == "" {
		r.disrupted(c.Shown)
	}
}

// vocabulary is how Karpenter names reasons that have other names here.
var vocabulary = map[string]string{
	model.EndedNeverRegistered: "registration_timeout", model.EndedNodeGone: "garbage_collected",
	model.EndedMissing: "garbage_collected", model.EndedInstance: "garbage_collected",
}

var inner = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snake is a reason in Karpenter's vocabulary, or its name in its manner of writing.
func snake(reason string) string {
	if word, ok := vocabulary[reason]; ok {
		return word
	}
	return strings.ToLower(inner.ReplaceAllString(reason, "${1}_${2}"))
}

// disrupted counts a claim that began to say why it ends, and the command it ends by, once.
func (r *Recorder) disrupted(shown *model.ClaimShown) {
	reason, words, policy := snake(shown.DisruptionReason), r.pools[shown.Pool], ""
	if reason == "empty" || reason == "underutilized" {
		policy = words.policy
	}
	r.claimsDisrupted.WithLabelValues(reason, shown.Pool, shown.CapacityType, policy, words.mode).Inc()
	if pods := r.o.PodsOn(shown.NodeName); pods > 0 {
		r.podsDisrupted.WithLabelValues(reason, shown.Pool, shown.CapacityType, policy, words.mode).Add(float64(pods))
	}
	if reason == "unhealthy" {
		r.claimsUnhealthy.WithLabelValues(condition(shown.DisruptionMessage), shown.Pool, shown.CapacityType,
			shown.ImageID).Inc()
	}
	command, nodes, replacements, ok := model.ParseDisruptedBy(shown.DisruptionMessage)
	if !ok {
		return
	}
	decision, kind := "delete", ""
	if replacements > 0 {
		decision = "replace"
	}
	switch {
	case reason == "empty":
		kind = "empty"
	case reason == "underutilized" && nodes > 1:
		kind = "multi"
	case reason == "underutilized":
		kind = "single"
	}
	if r.first(command) {
		r.decisions.WithLabelValues(decision, reason, kind).Inc()
	}
	if r.first(command + " of " + shown.Pool) {
		r.decisionsByPool.WithLabelValues(shown.Pool, decision, reason, kind).Inc()
	}
}

// first reports whether a command, or a pool's part of one, is counted for the first time in a day.
func (r *Recorder) first(command string) bool {
	const remembered = 24 * 3600
	maps.DeleteFunc(r.commands, func(_ string, at int64) bool { return r.now()-at > remembered })
	if r.commands[command] != 0 {
		return false
	}
	r.commands[command] = r.now()
	return true
}

var ofNode = regexp.MustCompile(`\bcondition (\S+) of node `)

// condition returns the type of the condition that a node is repaired for, "" where the message names none.
func condition(message string) string {
	if found := ofNode.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

func (r *Recorder) pool(pool *model.Pool, deleted bool) {
	if !deleted {
		words := poolWords{policy: snake(pool.Disruption.Policy), mode: "graceful"}
		if grace := pool.Template.GraceSeconds; grace != nil {
			if words.mode = "eventual"; *grace <= 0 {
				words.mode = "forceful"
			}
		}
		r.pools[pool.Name] = words
		return
	}
	delete(r.pools, pool.Name)
	of := prometheus.Labels{"nodepool": pool.Name} // its series go with it
	for _, v := range []*prometheus.CounterVec{r.claimsCreated, r.claimsTerminated, r.claimsDisrupted,
		r.claimsUnhealthy, r.nodesCreated, r.nodesTerminated, r.nodesDrained, r.podsDisrupted, r.decisionsByPool} {
		v.DeletePartialMatch(of)
	}
	r.claimsTermination.DeletePartialMatch(of)
	r.nodesLived.DeletePartialMatch(of)
	r.nodesTermination.DeletePartialMatch(of)
}
