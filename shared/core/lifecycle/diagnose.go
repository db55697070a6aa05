package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Kind says what a finding is.
type Kind string

// The kinds, in the order they are reported in.
const (
	Ended             Kind = "Ended"         // EC2 says in so many words that a claim's instance was terminated
	Missing           Kind = "Missing"       // EC2 does not show a claim's instance, and no Ready node speaks for it
	Stranded          Kind = "Stranded"      // a claim waits for a launch that is not in the ledger
	Retired           Kind = "Retired"       // a claim's instance is to end and has not
	Interrupted       Kind = "Interrupted"   // EC2 takes a claim's spot instance back
	Stopping          Kind = "Stopping"      // EC2 says that a claim's instance is stopping, stopped or shutting down
	ObjectDeleted     Kind = "ObjectDeleted" // somebody deleted a claim's NodeClaim object
	Vanished          Kind = "Vanished"      // a claim's NodeClaim object goes, or went, because a definition does or did: its instance stays
	Outlived          Kind = "Outlived"      // a NodeClaim object goes because a definition does, and another claim has its instance: that stays
	NodeDeleted       Kind = "NodeDeleted"   // somebody deleted a claim's Node object
	BlockEnds         Kind = "BlockEnds"     // the capacity block a claim's instance runs in is about to end
	Impaired          Kind = "Impaired"      // EC2's status checks of a claim's instance fail, or EC2 has scheduled an event for it
	Unhealthy         Kind = "Unhealthy"     // a condition of a claim's node has been bad for longer than is tolerated
	NodeGone          Kind = "NodeGone"      // a claim's node left the cluster, and its instance runs on
	NeverJoined       Kind = "NeverJoined"   // a claim's instance runs, and no node of it ever joined
	Expired           Kind = "Expired"       // a claim is older than its expireAfter
	Orphan            Kind = "Orphan"        // an instance of ours that no claim has and no open launch may yet name
	OrphanedNodeClaim Kind = "LeftObject"    // a NodeClaim object whose claim is gone, or whose instance is and that no claim has
	OrphanedNode      Kind = "LeftNode"      // a Node object whose claim is gone
	Deferred          Kind = "Held"          // ends of a pool's claims that are due and are put off; there is nothing to do but to tell people
)

// kinds lists them.
var kinds = []Kind{
	Ended, Missing, Stranded, Retired, Interrupted, Stopping, ObjectDeleted, Vanished, Outlived, NodeDeleted, BlockEnds, Impaired, Unhealthy, NodeGone,
	NeverJoined, Expired, Orphan, OrphanedNodeClaim, OrphanedNode, Deferred,
}

// codes say why a claim ends that something was found of.
var codes = map[Kind]string{
	Ended: model.EndedInstance, Missing: model.EndedMissing, Stranded: model.EndedIntentLost, Interrupted: model.EndedSpotInterrupted,
	Stopping: model.EndedInstanceStopping, ObjectDeleted: model.EndedObjectDeleted, NodeDeleted: model.EndedNodeDeleted,
	BlockEnds: model.EndedBlockEnds, Impaired: model.EndedStatusFailed, Unhealthy: model.EndedUnhealthy, NodeGone: model.EndedNodeGone,
	NeverJoined: model.EndedNeverRegistered, Expired: model.EndedExpired,
}

// Finding is one thing that looks wrong.
type Finding struct {
	Kind    Kind
	Subject string // what it is about: the name of a claim or object, an instance id, or of Held a pool
	Wait    int64  // seconds it must have looked so in every look before it is acted upon; 0 = at once
	Removes bool   // acting takes a node away that neither EC2 says has ended nor people, their settings or AWS asked to end: the removal limit counts it

	Code         string // why the claim ends, for FailureCode; of a claim that ends already and of Held, of what was found. Empty for what is no claim's
	Detail       string // what Why says beside what the kind itself says
	DeadlineUnix int64  // by when no pod is left on the node, the claim's own grace included; 0 = there is no such time

	Claim    *model.Claim       // of all but some orphans and objects, and Held; of an orphan, the claim that had the instance and is Gone
	Instance *model.Instance    // where EC2 shows it
	Object   *model.ClaimObject // the claim's or the instance's, where there is one
	Nodes    []model.Node       // the instance's, by name; more than one where something is very wrong
}

// View is everything a judgment looks at. EC2 must have been read before the ledger, and the ledger before the API
// server.
type View struct {
	Cluster string
	// Instances are those that carry the cluster's tags, and those of claims that were asked for by id because they were
	// not among them. Duplicates are allowed.
	Instances []model.Instance
	Records   model.ClusterRecords
	Live      model.LiveState

	// Definitions are those of the API server where they were read, which they need only be where a finding Obeys; nil = they
	// are taken to stand.
	Definitions *model.Definitions

	Interrupted []model.SpotInterruption // spot instances that EC2 takes back
	Impaired    []model.Impairment       // what EC2's status checks say of instances, whoever owns them
}

// What a warning of EC2 leaves. Source: EC2 user guide, spot interruption notices and interruptible capacity reservations.
const (
	WarningSeconds = 120 // from the warning until EC2 ends the instance
	MarginSeconds  = 5   // by which pods are out before
)

// Settings are the numbers of a judgment, in seconds. The zero value of a field means the default named with it.
type Settings struct {
	Confirm    int64 // between the first check and the one that acts: 30
	JoinWithin int64 // for an instance's node to join, after its launch by EC2's clock: 900
	// EC2 may take minutes to show a new instance. A claim whose age by its own clock is OldAfter, or whose instance has
	// been missing for YoungFor, is not new, however the clock that dated it was set: 600, and 300.
	OldAfter int64
	YoungFor int64

	// Where EC2 does not say since when it takes an instance back, who asks has learned of it up to half a minute later, and has SpotLeft of
	// WarningSeconds: 85.
	SpotLeft    int64
	FailedFor   int64 // how long status checks must have failed: 120
	BlockNotice int64 // before the end of a capacity block its instances are emptied: 2400
	BlockLeft   int64 // before the end of a capacity block EC2 ends its instances: 1800

	RepairAfter   int64 // for how long a condition of a node may be bad, whichever it is; 0 = each as long as Repairs says
	RepairPercent int64 // of a pool's nodes, rounded up: where more are unhealthy, none is repaired: 20
	// ExpirePercent of a pool's nodes, at least one, are given up because of their age at a time. A drain older than ExpireStuck
	// seconds is not waited for by the next: 10, and 1800.
	ExpirePercent int64
	ExpireStuck   int64
}

// WithDefaults returns the settings with the defaults filled in.
func (s Settings) WithDefaults() Settings {
	fill := func(field *int64, value int64) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&s.Confirm, 30)
	fill(&s.JoinWithin, 15*60)
	fill(&s.OldAfter, 10*60)
	fill(&s.YoungFor, 5*60)
	fill(&s.SpotLeft, 85)
	fill(&s.FailedFor, 120)
	fill(&s.BlockNotice, 40*60)
	fill(&s.BlockLeft, 30*60)
	fill(&s.RepairPercent, 20)
	fill(&s.ExpirePercent, 10)
	fill(&s.ExpireStuck, 30*60)
	return s
}

// Tags that together make an instance ours.
const (
	tagIntent  = "joiner.sh/intent"
	tagCluster = "kubernetes.io/cluster/"
)

// Owned reports whether an instance carries the three tags that make it this cluster's to end: its cluster, a NodePool and
// an intent.
func Owned(instance model.Instance, cluster string) bool {
	return instance.ID != "" && cluster != "" && instance.Tags[tagCluster+cluster] == "owned" &&
		instance.Tags[model.LabelNodePool] != "" && instance.Tags[tagIntent] != ""
}

// InstanceID returns the instance id within a provider id, "" for one that has none.
func InstanceID(providerID string) string {
	id := providerID[strings.LastIndexByte(providerID, '/')+1:]
	if !strings.HasPrefix(id, "i-") || len(id) == len("i-") {
		return ""
	}
	return id
}

// Diagnose returns what looks wrong, by kind and then by subject: at most one finding for each claim, instance and object. Of a
// claim that is Draining, beside the end of its instance, only what brings its deadline forward is found. While NodeClaims are not defined
// only what EC2 and the ledger say is found: instances that ended, are taken back or never joined, and ends that began before. While
// claims or intents of the ledger cannot be read, nothing is found of what the ledger does not know.
func Diagnose(view View, settings Settings) []Finding {
	j := index(view, settings.WithDefaults())
	for i := range view.Records.Claims {
		if claim := &view.Records.Claims[i]; claim.Live() {
			j.claim(claim)
		}
	}
	j.expire()
	for _, id := range j.ids {
		j.orphan(j.instances[id])
	}
	for i := range view.Live.Objects {
		j.object(&view.Live.Objects[i])
	}
	for i := range view.Live.Nodes {
		j.node(&view.Live.Nodes[i])
	}
	j.reportDeferred()
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), strings.Compare(a.Subject, b.Subject), strings.Compare(a.Code, b.Code))
	})
	return j.findings
}

// diagnosis is a view with what is looked up in it.
type diagnosis struct {
	view      View
	settings  Settings
	ids       []string // of instances, sorted
	instances map[string]*model.Instance
	nodes     map[string][]model.Node // by instance id
	objects   map[string]*model.ClaimObject
	shown     map[string]*model.ClaimObject // by the instance id they show
	claims    map[string]*model.Claim       // by name
	live      map[string]*model.Claim       // by instance id
	gone      map[string]*model.Claim       // by instance id
	waiting   map[string]bool               // intents that are open, or that a claim waits for
	findings  []Finding
	unread    bool // claims or intents of the ledger cannot be read: what seems to be nobody's may be theirs

	interrupted map[string]int64              // by instance id, since when; 0 = EC2 does not say
	impaired    map[string][]model.Impairment // by instance id
	nodeHealth  map[string]nodeHealth         // by pool, and "" for the whole cluster
	expiring    []Finding                     // claims that have expired
	deferred    map[[2]string]*putOff         // by pool and code
}

func index(view View, settings Settings) *diagnosis {
	j := &diagnosis{
		view: view, settings: settings, instances: map[string]*model.Instance{}, nodes: map[string][]model.Node{},
		objects: map[string]*model.ClaimObject{}, shown: map[string]*model.ClaimObject{}, claims: map[string]*model.Claim{},
		live: map[string]*model.Claim{}, gone: map[string]*model.Claim{}, waiting: map[string]bool{},
		interrupted: map[string]int64{}, impaired: map[string][]model.Impairment{}, nodeHealth: nodeHealthByPool(view.Live.Nodes), deferred: map[[2]string]*putOff{},
	}
	for _, interruption := range view.Interrupted {
		j.interrupted[interruption.InstanceID] = interruption.SinceUnix
	}
	for _, impairment := range view.Impaired {
		j.impaired[impairment.InstanceID] = append(j.impaired[impairment.InstanceID], impairment)
	}
	for i := range view.Instances {
		instance := &view.Instances[i]
		if instance.ID == "" {
			continue
		}
		// Pages are read one after another, so an instance may be there twice. The one that lives is believed for now.
		if before := j.instances[instance.ID]; before == nil {
			j.ids = append(j.ids, instance.ID)
		} else if !over(before) {
			continue
		}
		j.instances[instance.ID] = instance
	}
	slices.Sort(j.ids)
	for _, node := range view.Live.Nodes {
		if id := InstanceID(node.ProviderID); id != "" {
			j.nodes[id] = append(j.nodes[id], node)
		}
	}
	for i := range view.Live.Objects {
		object := &view.Live.Objects[i]
		j.objects[object.Claim.Name] = object
		if id := InstanceID(object.Claim.ProviderID); id != "" {
			j.shown[id] = object
		}
	}
	for _, intent := range view.Records.Intents {
		if intent.State != model.IntentDone {
			j.waiting[intent.ID] = true
		}
	}
	j.unread = view.Records.Unread.Any(model.UnreadClaim, model.UnreadIntent)
	for i := range view.Records.Claims {
		claim := &view.Records.Claims[i]
		j.claims[claim.Name] = claim
		switch {
		case claim.State == model.Intended:
			// The ledger is not read at one instant: its intent may have been read as done and this claim before that.
			j.waiting[claim.Intent] = true
		case claim.InstanceID == "":
		case claim.Live():
			j.live[claim.InstanceID] = claim
		default:
			j.gone[claim.InstanceID] = claim
		}
	}
	return j
}

// over reports whether an instance has ended or is ending.
func over(instance *model.Instance) bool {
	return instance.State == "terminated" || instance.State == "shutting-down"
}

func (j *diagnosis) find(finding Finding) {
	if finding.Code == "" {
		finding.Code = codes[finding.Kind]
	}
	j.findings = append(j.findings, finding)
}

// claim diagnoses a live claim.
func (j *diagnosis) claim(claim *model.Claim) {
	if claim.State == model.Intended {
		if !j.open(claim.Intent) {
			j.find(Finding{Kind: Stranded, Subject: claim.Name, Wait: j.settings.Confirm, Claim: claim})
		}
		return
	}
	if claim.InstanceID == "" {
		return
	}
	f := Finding{
		Subject: claim.Name, Claim: claim, Instance: j.instances[claim.InstanceID], Object: j.objectOf(claim), Nodes: j.nodes[claim.InstanceID],
	}
	switch {
	case f.Instance == nil && !j.spokenFor(&f):
		f.Kind, f.Wait, f.Removes = Missing, j.settings.YoungFor, f.serves()
		if j.view.Records.NowUnix-max(claim.CreatedUnix, claim.LaunchedUnix) >= j.settings.OldAfter {
			f.Wait = j.settings.Confirm
		}
		j.find(f)
	case f.Instance != nil && f.Instance.State == "terminated":
		f.Kind = Ended
		j.find(f)
	case claim.State == model.Terminating:
		if f.Instance != nil && !over(f.Instance) {
			f.Kind, f.Code = Retired, claim.FailureCode
			j.find(f)
		}
	case claim.State == model.Draining:
		if !j.hasten(f) {
			j.letGo(f)
		}
	case j.requested(&f) || j.failing(&f):
		f.DeadlineUnix = claim.Deadline(j.view.Records.NowUnix, f.DeadlineUnix, deadlineOf(f.Object))
		j.find(f)
	case !j.view.Live.Undefined && j.old(&f):
		f.Kind, f.DeadlineUnix = Expired, claim.Deadline(j.view.Records.NowUnix, deadlineOf(f.Object))
		j.expiring = append(j.expiring, f)
	}
}

// spokenFor reports whether something speaks for an instance that EC2 does not show: a Ready node, or, before a node of it has
// registered, somebody who wants it to end and need not wait until EC2 shows it.
func (j *diagnosis) spokenFor(f *Finding) bool {
	if f.Claim.State == model.Launched && f.Object != nil && f.Object.DeletedUnix != 0 {
		return true
	}
	return slices.ContainsFunc(f.Nodes, func(n model.Node) bool { return n.Ready })
}

// serves reports whether the finding's claim has a node that is to stay.
func (f *Finding) serves() bool {
	return f.Claim.State == model.Registered || f.Claim.State == model.Initialized
}

func deadlineOf(object *model.ClaimObject) int64 {
	if object == nil {
		return 0
	}
	return object.DeadlineUnix
}

// hasten finds what brings the deadline of a drain forward that is under way, and reports whether anything does.
func (j *diagnosis) hasten(f Finding) bool {
	if !j.requested(&f) && deadlineOf(f.Object) == 0 {
		return false
	}
	if own, asked := deadlineOf(f.Object), f.DeadlineUnix; own != 0 && (asked == 0 || own < asked) {
		f.DeadlineUnix = own
		if f.Kind == "" {
			f.Kind, f.Detail = ObjectDeleted, "its annotation "+model.AnnotationDeadline+" sets the time by which it has to be empty"
		}
	}
	var before int64
	if f.Claim.Drain != nil {
		before = f.Claim.Drain.DeadlineUnix
	}
	if f.DeadlineUnix != 0 && (before == 0 || f.DeadlineUnix < before) {
		f.Removes = false // it goes already
		j.find(f)
		return true
	}
	return false
}

// warned reports whether a claim drains because EC2 takes its instance back, with a deadline that says when: that EC2 goes on
// saying so is no news, and the moment it first did is known better than by a later check.
func warned(claim *model.Claim) bool {
	return claim.State == model.Draining && claim.FailureCode == model.EndedSpotInterrupted && claim.Drain != nil && claim.Drain.DeadlineUnix != 0
}

// spotEnds returns when no pod may be left on a spot instance that EC2 takes back since a time. A time that is not within the
// warning says nothing: the instance would have ended, or the status has been changed since.
func (j *diagnosis) spotEnds(since int64) int64 {
	now := j.view.Records.NowUnix
	if ends := since + WarningSeconds - MarginSeconds; since <= now && ends > now {
		return ends
	}
	return now + j.settings.SpotLeft
}

// requested fills in a finding of what people, their objects or AWS ask for in so many words, and reports whether there is any.
// Its deadline is what the asking itself says.
func (j *diagnosis) requested(f *Finding) bool {
	now := j.view.Records.NowUnix
	since, interrupted := j.interrupted[f.Claim.InstanceID]
	joined := f.Claim.State != model.Launched
	state := ""
	if f.Instance != nil {
		state = f.Instance.State
	}
	switch {
	case interrupted && !warned(f.Claim):
		f.Kind, f.DeadlineUnix = Interrupted, j.spotEnds(since)
	case state == "stopped": // nothing runs there any more, and nobody says so of the pods
		f.Kind, f.Detail, f.DeadlineUnix = Stopping, state, now
	case state == "stopping", state == "shutting-down" && joined:
		f.Kind, f.Detail = Stopping, state
	case f.Instance != nil && over(f.Instance):
		return false
	case f.Claim.State != model.Draining && f.Object != nil && f.Object.DeletedUnix != 0 && j.vanishes(f):
		f.Kind, f.Detail = Vanished, j.whyVanished(f)
	case f.Object != nil && f.Object.DeletedUnix != 0:
		f.Kind, f.Detail = ObjectDeleted, j.poolDeleted(f.Claim.Pool)
	case j.definesClaims() && slices.ContainsFunc(f.Nodes, func(n model.Node) bool { // registered before its claim was adopted, or had heard of it, perhaps
		return n.DeletedUnix != 0 && (n.Registered() || n.Finalizer || joined && (f.Claim.NodeUID == "" || n.UID == f.Claim.NodeUID))
	}):
		f.Kind = NodeDeleted
	case f.Claim.BlockEndsUnix > 0 && now >= f.Claim.BlockEndsUnix-j.settings.BlockNotice:
		f.Kind, f.DeadlineUnix = BlockEnds, max(now, f.Claim.BlockEndsUnix-j.settings.BlockLeft-5)
	default:
		return j.impairment(f)
	}
	return true
}

// impairment fills in a finding of the worst that EC2's status checks say of an instance: failed checks end it at once (R62), an
// event that EC2 has scheduled has it emptied before.
func (j *diagnosis) impairment(f *Finding) bool {
	now := j.view.Records.NowUnix
	for _, i := range j.impaired[f.Claim.InstanceID] {
		var wait int64
		switch {
		case i.Kind == model.ImpairedEvent:
			if f.Kind == "" {
				f.Kind, f.Code, f.Detail = Impaired, model.EndedScheduledChange, "EC2 has scheduled "+i.Code+": "+i.Message
			}
			continue
		case i.Kind != model.ImpairedInstance && i.Kind != model.ImpairedSystem:
			continue
		case i.SinceUnix <= 0:
			wait = j.settings.FailedFor
		case now-i.SinceUnix < j.settings.FailedFor:
			continue
		}
		if f.Code == model.EndedStatusFailed && f.Wait <= wait {
			continue
		}
		f.Kind, f.Code, f.Wait, f.Removes, f.DeadlineUnix = Impaired, model.EndedStatusFailed, wait, true, now
		f.Detail = "EC2's check " + i.Kind + " fails: " + i.Message
	}
	return f.Kind == Impaired
}

// failing fills in a finding of what shows that an instance or its node does not work, and reports whether anything does.
func (j *diagnosis) failing(f *Finding) bool {
	joined := f.Claim.State != model.Launched
	switch {
	case f.Instance == nil || over(f.Instance):
		return false
	case j.view.Live.Undefined: // whatever else a claim or its node lacks may have gone with the definition
		if joined || len(f.Nodes) > 0 || !j.overdue(f.Claim, f.Instance) {
			return false
		}
		f.Kind, f.Wait = NeverJoined, j.settings.Confirm
	case f.Claim.ObjectUID != "" && f.Object == nil && j.vanished(f):
		f.Kind, f.Wait, f.Detail = Vanished, j.settings.Confirm, j.whyVanished(f)
	case f.Claim.ObjectUID != "" && f.Object == nil:
		f.Kind, f.Detail, f.Wait, f.Removes = ObjectDeleted, j.poolDeleted(f.Claim.Pool), j.settings.Confirm, joined
	case joined && len(f.Nodes) == 0:
		f.Kind, f.Wait, f.Removes = NodeGone, j.settings.Confirm, true
	case !joined && len(f.Nodes) == 0 && j.overdue(f.Claim, f.Instance):
		f.Kind, f.Wait = NeverJoined, j.settings.Confirm
	default:
		return joined && j.unhealthy(f)
	}
	return true
}

// open reports whether an intent is in the ledger and open, or cannot be read.
func (j *diagnosis) open(id string) bool {
	return j.view.Records.Unread.Has(model.UnreadIntent, id) || slices.ContainsFunc(j.view.Records.Intents, func(i model.Intent) bool { return i.ID == id && i.State != model.IntentDone })
}

// objectOf returns the claim's NodeClaim object; nil where there is none, or another by its name.
func (j *diagnosis) objectOf(claim *model.Claim) *model.ClaimObject {
	object := j.objects[claim.Name]
	if object == nil || claim.ObjectUID != "" && object.Claim.ObjectUID != claim.ObjectUID {
		return nil
	}
	return object
}

// overdue reports whether an instance's node should have joined by now. EC2's time of launch and the ledger's time are
// both AWS's; the claim's own is only used, with a margin for a clock that is wrong, where EC2 says none.
func (j *diagnosis) overdue(claim *model.Claim, instance *model.Instance) bool {
	since := instance.LaunchedUnix
	if since == 0 {
		since = claim.LaunchedUnix + j.settings.YoungFor
	}
	return j.view.Records.NowUnix-since >= j.settings.JoinWithin
}

// orphan diagnoses an instance.
func (j *diagnosis) orphan(instance *model.Instance) {
	if j.unread || !Owned(*instance, j.view.Cluster) || over(instance) || j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {
		return
	}
	nodes := j.nodes[instance.ID]
	f := Finding{
		Kind: Orphan, Subject: instance.ID, Wait: j.settings.Confirm,
		Removes: slices.ContainsFunc(nodes, func(n model.Node) bool { return n.Registered() }),
		Claim:   j.gone[instance.ID], Instance: instance, Object: j.shown[instance.ID], Nodes: nodes,
	}
	if j.view.Live.Undefined && !Condemned(&f) && !Adoptable(&f) { // its NodeClaim would have had it adopted
		return
	}
	j.find(f)
}

// object diagnoses a NodeClaim object: whether what it shows is gone for good. One that never showed an instance and that the
// ledger knows nothing of was made by somebody else; one that people made is asked for again where it got no instance. Either is
// released where it is being deleted.
func (j *diagnosis) object(object *model.ClaimObject) {
	claim, finding := j.claims[object.Claim.Name], Finding{Kind: OrphanedNodeClaim, Subject: object.Claim.Name, Object: object}
	id := InstanceID(object.Claim.ProviderID)
	never := id == "" && (claim == nil || !claim.Live() && claim.Pool == "" && claim.InstanceID == "")
	switch {
	case object.ClassKind != "": // another controller's: its finalizer may have the name of ours, and is not ours to take off
		return
	case claim == nil && (j.unread && id != "" || j.view.Records.Unread.Has(model.UnreadClaim, object.Claim.Name)): // it is unknown whether its claim is gone
		return
	case never && (object.DeletedUnix == 0 || !object.Finalizer):
		return
	case never:
		finding.Wait = j.settings.Confirm
	case claim != nil && !claim.Live():
		if claim.ObjectUID != "" && claim.ObjectUID != object.Claim.ObjectUID || id != "" && id != claim.InstanceID {
			return
		}
		finding.Claim = claim
	case claim == nil && j.outlived(&finding, j.live[id]):
	case (claim == nil || unrelated(claim, object)) && id != "" && j.live[id] == nil:
		instance := j.instances[id]
		if instance == nil || !Owned(*instance, j.view.Cluster) || instance.State != "terminated" {
			return
		}
		finding.Instance, finding.Wait = instance, j.settings.Confirm
	default:
		return
	}
	j.find(finding)
}

// unrelated reports whether the object of a living claim's name is not the claim's, which has none yet: it shows the instance of an earlier
// claim of that name, the record of which was lost.
func unrelated(claim *model.Claim, object *model.ClaimObject) bool {
	return claim.ObjectUID == "" && claim.InstanceID != "" && InstanceID(object.Claim.ProviderID) != claim.InstanceID
}

// node diagnoses a Node object whose claim is gone: it goes too, unless it is Ready and EC2 does not say that its instance
// has ended. One that is being deleted already is left over while our finalizer holds it. So is one whose claim the ledger has
// forgotten, where EC2 says that its instance was ours and has ended.
func (j *diagnosis) node(node *model.Node) {
	id := InstanceID(node.ProviderID)
	claim, instance := j.gone[id], j.instances[id]
	if id == "" || j.live[id] != nil || node.DeletedUnix != 0 && !node.Finalizer {
		return
	}
	if claim == nil {
		if !j.unread && node.Finalizer && instance != nil && Owned(*instance, j.view.Cluster) && instance.State == "terminated" {
			j.find(Finding{Kind: OrphanedNode, Subject: node.Name, Wait: j.settings.Confirm, Instance: instance, Nodes: []model.Node{*node}})
		}
		return
	}
	if instance != nil && instance.State != "terminated" || instance == nil && node.Ready {
		return
	}
	j.find(Finding{Kind: OrphanedNode, Subject: node.Name, Claim: claim, Instance: instance, Nodes: []model.Node{*node}})
}

// poolDeleted says that a pool is deleted, with which the API server deletes its NodeClaims; "" where it exists, or that is unknown.
func (j *diagnosis) poolDeleted(pool string) string {
	if pool == "" || j.view.Live.Pools == nil || slices.Contains(j.view.Live.Pools, pool) {
		return ""
	}
	return "NodePool " + pool + " was deleted"
}

// Why says in a sentence what a finding is, for people.
func (f *Finding) Why() string {
	id := f.Subject
	if f.Claim != nil && f.Claim.InstanceID != "" {
		id = f.Claim.InstanceID
	}
	switch f.Kind {
	case Interrupted:
		return fmt.Sprintf("EC2 interrupts spot instance %s", id)
	case Stopping:
		return fmt.Sprintf("EC2 says that instance %s is %s", id, f.Detail)
	case NodeDeleted:
		return "its Node object was deleted"
	case BlockEnds:
		return fmt.Sprintf("the capacity block that instance %s runs in ends at %s", id, clock(f.Claim.BlockEndsUnix))
	case Impaired, Unhealthy, Expired, Deferred, Vanished:
		return f.Detail
	case Outlived:
		return fmt.Sprintf("NodeClaim %s is deleted with its CustomResourceDefinition; instance %s keeps running, as claim %s", f.Subject, id, f.Claim.Name)
	case Ended:
		return fmt.Sprintf("EC2 says that instance %s was terminated", id)
	case Missing:
		return fmt.Sprintf("EC2 has not shown instance %s for several reads", id)
	case Stranded:
		return fmt.Sprintf("launch %s is no longer in the ledger", f.Claim.Intent)
	case ObjectDeleted:
		if f.Detail != "" {
			return f.Detail
		}
		return "its NodeClaim object was deleted"
	case NodeGone:
		return fmt.Sprintf("its node %s left the cluster while instance %s runs", f.Claim.NodeName, id)
	case NeverJoined:
		return fmt.Sprintf("no node of instance %s joined in time; see its console output and the user data of its EC2NodeClass", id)
	case Orphan:
		return fmt.Sprintf("instance %s belongs to no claim", id)
	}
	return string(f.Kind)
}

// clock writes a moment for people, in UTC.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
