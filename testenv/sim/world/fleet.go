package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Fleet is EC2 as far as it sells, shows and ends instances.
//
// A call is refused as a whole or answered; an answer may hold instances and errors together. What goes wrong with it is
// set beforehand, see Short, RefuseNext, Throttle, Unreachable and Chances. An instance is pending, running, shutting-down,
// terminated, and then forgotten; describing calls begin to show it after a while of its own.
type Fleet struct {
	now     func() time.Time
	log     *Log
	catalog *Catalog
	options FleetOptions

	mu         sync.Mutex
	eventQueue eventqueue.Queue
	instances  []*Instance // in the order they were launched
	byID       map[string]*Instance
	byIntent   map[string][]*Instance
	listed     []*Instance // in the order they were launched, without those that are not described any more
	changes    []InstanceChange
	tokens     map[string]answer
	templates  map[string]fleetTemplate
	stock      map[model.OfferingKey]int // what is left; absent = plenty
	reserved   map[string]int            // what is left of reservations; absent = nothing
	trouble
	calls  int
	events *Events // told of what happens to instances; nil = nobody is

	profiles *Profiles // that instances are launched with; nil = every name is one
}

// FleetOptions say how a fleet behaves. The zero value is one without delays and without chance.
type FleetOptions struct {
	Rand         *rand.Rand    // nil: every span lasts its least, and nothing happens by chance
	Visibility   Span          // from launch until describing calls show an instance
	Pending      Span          // from launch until running
	ShuttingDown Span          // from the order to end until terminated
	Listed       time.Duration // how long describing calls show a terminated instance: 0 = 1 h
	TokenLife    time.Duration // how long a client token is remembered: 0 = for ever
	SpotLife     time.Duration // mean time until a spot instance is taken away; 0 = never
	FailureLife  time.Duration // mean time until an instance fails; 0 = never
	SpotNotice   time.Duration // between the warning and the end of a spot instance: 0 = 2 min
	TemplateLag  time.Duration // for how long a launch template that was made does not exist for launches
	ProfileLag   time.Duration // for how long EC2 does not know an instance profile that was made
	Readings     *reading.Set  // of what EC2 leaves open about client tokens and events; nil = what the environment says
}

// answer is what a client token was answered with.
type answer struct {
	request string
	result  model.LaunchResult
	refusal error // of the whole request
	at      time.Time
}

// Instance is an instance with what its user data says to it. State is pending, running, shutting-down or terminated.
type Instance struct {
	model.Instance
	Cluster    string // whose tags it carries; empty = nobody's
	UserData   []byte
	LaunchedAt time.Time
	VisibleAt  time.Time
	EndedAt    time.Time // zero while it is not terminated
	Terminated bool

	shutting bool      // told to end: Terminated follows
	marked   bool      // EC2 takes it away, or has done so: spot only
	markedAt time.Time // when it first said so
	impaired []model.Impairment
	limited  bool // came out of a stock that is counted
	cost     meter
}

// InstanceChange is an instance that entered a state.
type InstanceChange struct{ ID, State string }

// Instance states, as EC2 names them.
const (
	statePending      = "pending"
	stateRunning      = "running"
	stateShuttingDown = "shutting-down"
	stateTerminated   = "terminated"
)

// codeTemplateGone is EC2's for a launch template that it does not have.
const codeTemplateGone = "InvalidLaunchTemplateName.NotFoundException"

// request is what the fleet's bytes hold.
type request struct {
	Cluster      string            `json:"cluster"`
	Intent       string            `json:"intent"`
	Token        string            `json:"token"`
	CapacityType string            `json:"capacityType"`
	Count        int               `json:"count"`
	Tags         map[string]string `json:"tags"`
	Templates    []requestTemplate `json:"templates"`
	Prioritized  bool              `json:"prioritized,omitempty"`
}

// requestTemplate names a launch template and the pools of capacity it is used with.
type requestTemplate struct {
	Name      string           `json:"name"`
	Overrides []model.Override `json:"overrides"`
}

// fleetTemplate is a launch template: what its instances boot, and how they are bought and placed.
type fleetTemplate struct {
	model.LaunchTemplate
	cluster, class, profile, group, strategy string
	partitions                               int64
	groups                                   []string
	made                                     time.Time
}

// NewFleet returns a fleet that sells what the catalog has, at its prices. log may be nil.
func NewFleet(now func() time.Time, log *Log, catalog *Catalog, options FleetOptions) *Fleet {
	if options.Listed == 0 {
		options.Listed = time.Hour
	}
	if options.SpotNotice == 0 {
		options.SpotNotice = 2 * time.Minute
	}
	if log == nil {
		log = NewLog(now)
	}
	return &Fleet{
		now: now, log: log, catalog: catalog, options: options, byID: map[string]*Instance{}, byIntent: map[string][]*Instance{},
		tokens: map[string]answer{}, templates: map[string]fleetTemplate{}, stock: map[model.OfferingKey]int{}, reserved: map[string]int{}, trouble: trouble{buckets: map[string]*bucket{}},
	}
}

// enter is how every call begins: what became due happens first.
func (f *Fleet) enter() func() {
	f.mu.Lock()
	f.happen(f.now())
	return f.mu.Unlock
}

// happen does what is due. It is nobody's doing.
func (f *Fleet) happen(now time.Time) {
	if next, due := f.eventQueue.Next(); due && !next.After(now) {
		_ = f.log.As("", func() error { f.eventQueue.Run(now); return nil })
	}
}

// Next returns when something happens by itself; false where nothing will.
func (f *Fleet) Next() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.eventQueue.Next()
}

// Run lets happen what is due.
func (f *Fleet) Run(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.happen(now)
}

// PrepareRequest returns the bytes of a launch, and makes its launch templates.
func (f *Fleet) PrepareRequest(_ context.Context, launch model.Launch) ([]byte, error) {
	text, _, err := f.request(launch)
	return text, err
}

// request is Request, which also says which launch templates it made.
func (f *Fleet) request(launch model.Launch) (text []byte, made []string, err error) {
	defer f.enter()()
	if err := f.reach("CreateLaunchTemplate"); err != nil {
		return nil, nil, err
	}
	r := request{
		Cluster: launch.Cluster, Intent: launch.Intent, Token: launch.Token, CapacityType: launch.CapacityType, Count: len(launch.Claims), Tags: tagsOf(launch),
		Prioritized: launch.Prioritized,
	}
	for _, t := range launch.Templates {
		name := templateName(launch, t)
		if _, known := f.templates[name]; !known {
			f.templates[name] = f.template(launch, t)
			made = append(made, name)
		}
		r.Templates = append(r.Templates, requestTemplate{name, t.Overrides})
	}
	if len(r.Templates) == 0 || r.Count == 0 {
		return nil, made, fault.New(fault.Invalid, "", "launch %s has %d templates for %d claims", launch.Intent, len(r.Templates), r.Count)
	}
	text, err = json.Marshal(r)
	return text, made, err
}

func (f *Fleet) template(launch model.Launch, t model.LaunchTemplate) fleetTemplate {
	status := &launch.Class.Status
	out := fleetTemplate{LaunchTemplate: t, cluster: launch.Cluster, class: launch.Class.Name, profile: status.InstanceProfile, made: f.now()}
	for _, group := range status.SecurityGroups {
		out.groups = append(out.groups, group.ID)
	}
	slices.Sort(out.groups)
	if g := status.PlacementGroup; g != nil {
		out.group, out.strategy, out.partitions = g.ID, g.Strategy, g.Partitions
	}
	return out
}

// templateName is a digest of what a template says, so that the same launch names the same template.
func templateName(launch model.Launch, t model.LaunchTemplate) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\x00%s\x00%s\x00%s\x00", launch.Cluster, launch.Class.Name, launch.CapacityType, t.ImageID)
	digest.Write(t.UserData)
	fmt.Fprintf(digest, "\x00%d %t %t %d %s %s", t.EFA, t.Dedicated, t.Enclaves, t.Partition, t.Reservation, launch.Class.Status.InstanceProfile)
	return "joiner/" + launch.Cluster + "/" + hex.EncodeToString(digest.Sum(nil)[:16])
}

// tagsOf are the tags of a launch's instances: the class's, and over them ours.
func tagsOf(launch model.Launch) map[string]string {
	tags := union(launch.Class.Tags, map[string]string{
		"kubernetes.io/cluster/" + launch.Cluster: "owned", "eks:eks-cluster-name": launch.Cluster,
		model.LabelNodePool: model.PoolTag(launch.Pool), model.LabelNodeClass: launch.Class.Name, tagIntent: launch.Intent,
	})
	if len(launch.Claims) == 1 {
		tags["karpenter.sh/nodeclaim"] = launch.Claims[0]
	}
	return tags
}

const tagIntent = "joiner.sh/intent"

// Launch carries a request out; one whose token was used before is answered as before.
func (f *Fleet) Launch(_ context.Context, text []byte) (model.LaunchResult, error) {
	defer f.enter()()
	f.calls++
	if f.unreachable() {
		return model.LaunchResult{}, unreachable()
	}
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return model.LaunchResult{}, fault.Wrap(fault.Invalid, "", err, "decode request")
	}
	called := FleetCalled{
		Cluster: r.Cluster, Intent: r.Intent, Token: r.Token, Request: slices.Clone(text), Wanted: r.Count, CapacityType: r.CapacityType, Pools: poolsOf(r),
	}
	before, used := f.remembered(r.Token)
	if err := f.refuse(r, string(text), before, used); err != nil {
		called.Refused = fault.CodeOf(err)
		f.log.Note(called)
		return model.LaunchResult{}, err
	}
	result := before.result
	if !used {
		var started []*Instance
		result, started = f.allocate(r)
		if len(result.Instances) > 0 || !f.options.Readings.Takes(reading.TokenUnfulfilled) {
			f.tokens[r.Token] = answer{string(text), result, nil, f.now()}
		}
		defer f.noteStarted(started) // after the call that made them
	}
	called.Repeat, called.Errors = used, result.Errors
	for _, i := range result.Instances {
		called.Instances = append(called.Instances, i.ID)
	}
	f.log.Note(called)
	if f.losesReply() {
		return model.LaunchResult{}, fault.New(fault.Internal, "", "connection reset by peer")
	}
	return model.LaunchResult{Instances: slices.Clone(result.Instances), Errors: slices.Clone(result.Errors)}, nil
}

func poolsOf(r request) []model.OfferingKey {
	var out []model.OfferingKey
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			out = append(out, model.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType})
		}
	}
	return out
}

// remembered returns the answer of a client token that has not lapsed.
func (f *Fleet) remembered(token string) (answer, bool) {
	before, used := f.tokens[token]
	if used && f.options.TokenLife > 0 && f.now().Sub(before.at) >= f.options.TokenLife {
		delete(f.tokens, token)
		return answer{}, false
	}
	return before, used
}

// refuse returns why a call is not carried out at all. A request that EC2 could not look at does not use its token up; whether one whose
// launch template is not there does is read in two ways.
func (f *Fleet) refuse(r request, text string, before answer, used bool) error {
	if err := f.throttled("CreateFleet"); err != nil {
		return err
	}
	if f.forget {
		f.templates, f.forget = map[string]fleetTemplate{}, false
	}
	if len(f.refusals) > 0 {
		err := f.refusals[0]
		f.refusals = f.refusals[1:]
		return err
	}
	if f.by(f.chances.ServerError) {
		return refusal("InternalError", "an internal error has occurred")
	}
	if used {
		if before.request != text {
			return refusal("IdempotentParameterMismatch", "token %s was used for another request", r.Token)
		}
		return before.refusal
	}
	for _, t := range r.Templates {
		if !f.launchable(t.Name) {
			gone := refusal(codeTemplateGone, "launch template %s does not exist", t.Name)
			if !f.options.Readings.Takes(reading.TokenRefused) {
				f.tokens[r.Token] = answer{text, model.LaunchResult{}, gone, f.now()}
			}
			return gone
		}
	}
	return nil
}

// Instances returns every instance ever launched, in that order.
func (f *Fleet) Instances() []Instance {
	defer f.enter()()
	out := make([]Instance, len(f.instances))
	for i, m := range f.instances {
		out[i] = *m
	}
	return out
}

// Instance returns one instance; false where there never was one.
func (f *Fleet) Instance(id string) (Instance, bool) {
	defer f.enter()()
	m := f.byID[id]
	if m == nil {
		return Instance{}, false
	}
	return *m, true
}

// Changes returns the states instances entered after the n-th such change, in order, without copying them.
func (f *Fleet) Changes(n int) []InstanceChange {
	defer f.enter()()
	return f.changes[n:len(f.changes):len(f.changes)]
}

// Calls returns how often Launch was called.
func (f *Fleet) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
