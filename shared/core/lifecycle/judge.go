package lifecycle

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Kind says what a finding is.
type Kind string

// The kinds, in the order they are reported in.
const (
	Ended         Kind = "Ended"         // EC2 says in so many words that a claim's instance was terminated
	Missing       Kind = "Missing"       // EC2 does not show a claim's instance, and no Ready node speaks for it
	Stranded      Kind = "Stranded"      // a claim waits for a launch that is not in the ledger
	Retired       Kind = "Retired"       // a claim's instance is to end and has not
	ObjectDeleted Kind = "ObjectDeleted" // somebody deleted a claim's NodeClaim object
	NodeGone      Kind = "NodeGone"      // a claim's node left the cluster, and its instance runs on
	NeverJoined   Kind = "NeverJoined"   // a claim's instance runs, and no node of it ever joined
	Orphan        Kind = "Orphan"        // an instance of ours that no claim has and no open launch may yet name
	LeftObject    Kind = "LeftObject"    // a NodeClaim object whose claim is gone, or whose instance is and that nobody recorded
	LeftNode      Kind = "LeftNode"      // a Node object whose claim is gone
)

var rank = map[Kind]int{
	Ended: 0, Missing: 1, Stranded: 2, Retired: 3, ObjectDeleted: 4, NodeGone: 5, NeverJoined: 6, Orphan: 7, LeftObject: 8, LeftNode: 9,
}

// Finding is one thing that looks wrong.
type Finding struct {
	Kind    Kind
	Subject string // what it is about: the name of a claim or object, or an instance id
	Wait    int64  // seconds it must have looked so in every look before it is acted upon; 0 = at once
	Removes bool   // acting takes a node away that EC2 does not say has ended

	Claim    *model.Claim       // of all but some orphans and objects; of an orphan, the claim that had the instance and is Gone
	Instance *model.Instance    // where EC2 shows it
	Object   *model.ClaimObject // the claim's or the instance's, where there is one
	Nodes    []model.Node       // the instance's, by name; more than one where something is very wrong
}

// View is everything a judgement looks at. EC2 must have been read before the ledger, and the ledger before the API
// server.
type View struct {
	Cluster string
	// Instances are those that carry the cluster's tags, and those of claims that were asked for by id because they were
	// not among them. Duplicates are allowed.
	Instances []model.Instance
	Survey    model.Survey
	Sight     model.Sight
}

// Settings are the numbers of a judgement, in seconds. The zero value of a field means the default named with it.
type Settings struct {
	Confirm    int64 // between the first look and the one that acts: 30
	JoinWithin int64 // for a machine's node to join, after its launch by EC2's clock: 900
	// EC2 may take minutes to show a new instance. A claim whose age by its own clock is OldAfter, or whose instance has
	// been missing for YoungFor, is not new, however the clock that dated it was set: 600, and 300.
	OldAfter int64
	YoungFor int64
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

// Judge returns what looks wrong, by kind and then by subject: at most one finding for each claim, instance and object.
func Judge(view View, settings Settings) []Finding {
	j := index(view, settings.WithDefaults())
	for i := range view.Survey.Claims {
		if claim := &view.Survey.Claims[i]; claim.Live() {
			j.claim(claim)
		}
	}
	for _, id := range j.ids {
		j.orphan(j.instances[id])
	}
	for i := range view.Sight.Objects {
		j.object(&view.Sight.Objects[i])
	}
	for i := range view.Sight.Nodes {
		j.node(&view.Sight.Nodes[i])
	}
	sort.SliceStable(j.findings, func(a, b int) bool {
		x, y := &j.findings[a], &j.findings[b]
		if x.Kind != y.Kind {
			return rank[x.Kind] < rank[y.Kind]
		}
		return x.Subject < y.Subject
	})
	return j.findings
}

// judge is a view with what is looked up in it.
type judge struct {
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
}

func index(view View, settings Settings) *judge {
	j := &judge{
		view: view, settings: settings, instances: map[string]*model.Instance{}, nodes: map[string][]model.Node{},
		objects: map[string]*model.ClaimObject{}, shown: map[string]*model.ClaimObject{}, claims: map[string]*model.Claim{},
		live: map[string]*model.Claim{}, gone: map[string]*model.Claim{}, waiting: map[string]bool{},
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
	for _, node := range view.Sight.Nodes {
		if id := InstanceID(node.ProviderID); id != "" {
			j.nodes[id] = append(j.nodes[id], node)
		}
	}
	for i := range view.Sight.Objects {
		object := &view.Sight.Objects[i]
		j.objects[object.Claim.Name] = object
		if id := InstanceID(object.Claim.ProviderID); id != "" {
			j.shown[id] = object
		}
	}
	for _, intent := range view.Survey.Intents {
		if intent.State != model.IntentDone {
			j.waiting[intent.ID] = true
		}
	}
	for i := range view.Survey.Claims {
		claim := &view.Survey.Claims[i]
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

func (j *judge) find(finding Finding) { j.findings = append(j.findings, finding) }

// claim judges a live claim.
func (j *judge) claim(claim *model.Claim) {
	if claim.State == model.Intended {
		if !j.open(claim.Intent) {
			j.find(Finding{Kind: Stranded, Subject: claim.Name, Wait: j.settings.Confirm, Claim: claim})
		}
		return
	}
	if claim.InstanceID == "" {
		return
	}
	finding := Finding{
		Subject: claim.Name, Claim: claim, Instance: j.instances[claim.InstanceID], Object: j.objectOf(claim), Nodes: j.nodes[claim.InstanceID],
	}
	joined := claim.State != model.Launched
	switch instance := finding.Instance; {
	case instance == nil:
		if slices.ContainsFunc(finding.Nodes, func(n model.Node) bool { return n.Ready }) {
			return
		}
		finding.Kind, finding.Wait, finding.Removes = Missing, j.settings.YoungFor, joined
		if j.view.Survey.NowUnix-max(claim.CreatedUnix, claim.LaunchedUnix) >= j.settings.OldAfter {
			finding.Wait = j.settings.Confirm
		}
	case instance.State == "terminated":
		finding.Kind = Ended
	case over(instance):
		return
	case claim.State == model.Terminating:
		finding.Kind = Retired
	case claim.ObjectUID != "" && (finding.Object == nil || finding.Object.DeletedUnix != 0):
		finding.Kind, finding.Wait, finding.Removes = ObjectDeleted, j.settings.Confirm, joined
	case joined && len(finding.Nodes) == 0:
		finding.Kind, finding.Wait, finding.Removes = NodeGone, j.settings.Confirm, true
	case !joined && len(finding.Nodes) == 0 && j.overdue(claim, instance):
		finding.Kind, finding.Wait = NeverJoined, j.settings.Confirm
	default:
		return
	}
	j.find(finding)
}

// open reports whether an intent is in the ledger and open.
func (j *judge) open(id string) bool {
	return slices.ContainsFunc(j.view.Survey.Intents, func(i model.Intent) bool { return i.ID == id && i.State != model.IntentDone })
}

// objectOf returns the claim's NodeClaim object; nil where there is none, or another by its name.
func (j *judge) objectOf(claim *model.Claim) *model.ClaimObject {
	object := j.objects[claim.Name]
	if object == nil || claim.ObjectUID != "" && object.Claim.ObjectUID != claim.ObjectUID {
		return nil
	}
	return object
}

// overdue reports whether a machine's node should have joined by now. EC2's time of launch and the ledger's time are
// both AWS's; the claim's own is only used, with a margin for a clock that is wrong, where EC2 says none.
func (j *judge) overdue(claim *model.Claim, instance *model.Instance) bool {
	since := instance.LaunchedUnix
	if since == 0 {
		since = claim.LaunchedUnix + j.settings.YoungFor
	}
	return j.view.Survey.NowUnix-since >= j.settings.JoinWithin
}

// orphan judges an instance.
func (j *judge) orphan(instance *model.Instance) {
	if !Owned(*instance, j.view.Cluster) || over(instance) || j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {
		return
	}
	nodes := j.nodes[instance.ID]
	j.find(Finding{
		Kind: Orphan, Subject: instance.ID, Wait: j.settings.Confirm,
		Removes: slices.ContainsFunc(nodes, func(n model.Node) bool { return n.Registered() }),
		Claim:   j.gone[instance.ID], Instance: instance, Object: j.shown[instance.ID], Nodes: nodes,
	})
}

// object judges a NodeClaim object: whether what it shows is gone for good. One that never showed a machine and that the
// ledger knows nothing of was made by somebody else.
func (j *judge) object(object *model.ClaimObject) {
	claim, finding := j.claims[object.Claim.Name], Finding{Kind: LeftObject, Subject: object.Claim.Name, Object: object}
	id := InstanceID(object.Claim.ProviderID)
	switch {
	case claim != nil && !claim.Live():
		if claim.ObjectUID != "" && claim.ObjectUID != object.Claim.ObjectUID || id != "" && id != claim.InstanceID {
			return
		}
		finding.Claim = claim
	case claim == nil && id != "" && j.live[id] == nil:
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

// node judges a Node object whose claim is gone: it goes too, unless it is Ready and EC2 does not say that its machine
// has ended. One that is being deleted already is left over while our finalizer holds it.
func (j *judge) node(node *model.Node) {
	id := InstanceID(node.ProviderID)
	claim, instance := j.gone[id], j.instances[id]
	if id == "" || claim == nil || j.live[id] != nil || node.DeletedUnix != 0 && !node.Finalizer {
		return
	}
	if instance != nil && instance.State != "terminated" || instance == nil && node.Ready {
		return
	}
	j.find(Finding{Kind: LeftNode, Subject: node.Name, Claim: claim, Instance: instance, Nodes: []model.Node{*node}})
}

// Why says in a sentence what a finding is, for people.
func (f *Finding) Why() string {
	id := f.Subject
	if f.Claim != nil && f.Claim.InstanceID != "" {
		id = f.Claim.InstanceID
	}
	switch f.Kind {
	case Ended:
		return fmt.Sprintf("EC2 says that instance %s was terminated", id)
	case Missing:
		return fmt.Sprintf("EC2 has not shown instance %s for several reads", id)
	case Stranded:
		return fmt.Sprintf("launch %s is not in the ledger any more", f.Claim.Intent)
	case ObjectDeleted:
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
