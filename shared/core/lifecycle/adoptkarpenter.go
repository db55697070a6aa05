package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// AdoptionVerdict says what becomes of a NodeClaim when a cluster that Karpenter ran becomes ours.
type AdoptionVerdict string

// The verdicts.
const (
	Take   AdoptionVerdict = "adopt"  // it gets a claim in the ledger, and its instance our tag
	Resume AdoptionVerdict = "mend"   // it is in the ledger, and something is missing elsewhere: an earlier run was cut short
	Ours   AdoptionVerdict = "ours"   // nothing is left to do
	Await  AdoptionVerdict = "wait"   // it has no instance yet
	Refuse AdoptionVerdict = "refuse" // it is left alone, for a reason that somebody has to look at
)

// AdoptedIntent begins the intents of instances that were adopted from Karpenter.
const AdoptedIntent = "adopted-"

// Handover is everything that is looked at when a cluster that Karpenter ran becomes ours. EC2 must have been read
// before the ledger, and the ledger before the API server.
type Handover struct {
	Cluster string
	CA      []byte // of its API server
	// Instances are those that carry the cluster's tag and a NodePool tag, and those of NodeClaims that were asked for
	// by id because they were not among them.
	Instances     []model.Instance
	Records       model.ClusterRecords
	Live          model.LiveState
	Config        model.Configuration
	InstanceTypes []model.InstanceTypeInfo // of the region, with prices; none where no catalog is at hand
	Intent        string                   // that those are adopted under which have none
}

// Adoption is what becomes of one NodeClaim. The fields below Remedy say what there is to do, in this order.
type Adoption struct {
	Verdict AdoptionVerdict
	Name    string      // of the NodeClaim
	Claim   model.Claim // as it is, or is to be, in the ledger; of others as far as the object shows it
	Code    string      // of Await and Refuse: why, for programs
	Message string      // of Await and Refuse: why, a sentence
	Remedy  string      // of Await and Refuse: what to do
	Notes   []string    // what else people should know, sentences

	Tag     bool // the instance is to get the claim's intent as a tag
	Stamp   bool // annotations of the object are to be brought up to the claim's
	Untaint bool // the node carries the taint of a disruption that Karpenter did not get to
}

// Unclaimed is an instance with the cluster's tag and a NodePool tag that no NodeClaim shows.
type Unclaimed struct {
	Instance model.Instance
	Node     string // that it runs as; empty = none
}

// Adoptions says of every NodeClaim what becomes of it, by name, and which instances no NodeClaim shows, by id.
func Adoptions(h *Handover) ([]Adoption, []Unclaimed) {
	d := newTakeover(h)
	var out []Adoption
	for i := range h.Live.Objects {
		out = append(out, d.adoption(&h.Live.Objects[i]))
	}
	slices.SortStableFunc(out, func(a, b Adoption) int { return strings.Compare(a.Name, b.Name) })
	return out, d.unclaimed()
}

// takeover is a handover with what is looked up in it.
type takeover struct {
	*Handover
	instances map[string]*model.Instance
	nodes     map[string][]*model.Node // by instance id
	shown     map[string][]string      // names of NodeClaims by the instance id they show
	claims    map[string]*model.Claim  // of the ledger, by name
	live      map[string]*model.Claim  // of the ledger, by instance id
	pools     map[string]*model.Pool
	classes   map[string]*model.Class
}

func newTakeover(h *Handover) *takeover {
	d := &takeover{
		Handover: h, instances: map[string]*model.Instance{}, nodes: map[string][]*model.Node{}, shown: map[string][]string{},
		claims: map[string]*model.Claim{}, live: map[string]*model.Claim{}, pools: map[string]*model.Pool{}, classes: map[string]*model.Class{},
	}
	for i := range h.Instances {
		d.instances[h.Instances[i].ID] = &h.Instances[i]
	}
	for i := range h.Live.Nodes {
		if id := InstanceID(h.Live.Nodes[i].ProviderID); id != "" {
			d.nodes[id] = append(d.nodes[id], &h.Live.Nodes[i])
		}
	}
	for i := range h.Live.Objects {
		if claim := &h.Live.Objects[i].Claim; InstanceID(claim.ProviderID) != "" {
			d.shown[InstanceID(claim.ProviderID)] = append(d.shown[InstanceID(claim.ProviderID)], claim.Name)
		}
	}
	for i := range h.Records.Claims {
		claim := &h.Records.Claims[i]
		d.claims[claim.Name] = claim
		if claim.Live() && claim.InstanceID != "" {
			d.live[claim.InstanceID] = claim
		}
	}
	for i := range h.Config.Pools {
		d.pools[h.Config.Pools[i].Name] = &h.Config.Pools[i]
	}
	for i := range h.Config.Classes {
		d.classes[h.Config.Classes[i].Class.Name] = &h.Config.Classes[i].Class
	}
	return d
}

// adoption evaluates one NodeClaim.
func (d *takeover) adoption(object *model.ClaimObject) Adoption {
	id := InstanceID(object.Claim.ProviderID)
	recorded, other := d.claims[object.Claim.Name], d.live[id]
	switch {
	case object.ClassKind != "":
		return refusal(object, "OtherClass", "spec.nodeClassRef is of kind "+object.ClassKind+", and instances are launched from EC2NodeClasses here",
			"leave it to its own controller")
	case recorded != nil && recorded.Live() && (id == "" || recorded.InstanceID == id):
		return d.ours(object, recorded)
	case recorded != nil && recorded.Live():
		return refusal(object, "ClaimExists", fmt.Sprintf("the ledger has a claim of this name with instance %s, and the object shows %s", cmp.Or(recorded.InstanceID, "none"), id),
			"find out which of the two instances belongs to the claim, and delete the NodeClaim of the other")
	case recorded != nil:
		return refusal(object, "ClaimEnded", fmt.Sprintf("the ledger says that the claim of this name has ended (%s)", cmp.Or(recorded.FailureCode, "Gone")),
			"none: one of the next resyncs removes what is left of it")
	case other != nil:
		return d.ours(object, other)
	case id == "":
		return unlaunched(object)
	}
	if code, message, remedy := d.objection(object, id); code != "" {
		return refusal(object, code, message, remedy)
	}
	return d.take(object, id)
}

func refusal(object *model.ClaimObject, code, message, remedy string) Adoption {
	return Adoption{Verdict: Refuse, Name: object.Claim.Name, Claim: object.Claim, Code: code, Message: message, Remedy: remedy}
}

// unlaunched is about a NodeClaim that shows no instance.
func unlaunched(object *model.ClaimObject) Adoption {
	if object.DeletedUnix != 0 {
		return refusal(object, "NothingToEnd", "it is being deleted and has no instance, so there is nothing to terminate",
			fmt.Sprintf(`remove its finalizer: kubectl patch nodeclaim %s --type=merge -p '{"metadata":{"finalizers":null}}'`, object.Claim.Name))
	}
	a := refusal(object, "NotLaunched", "Karpenter has not launched an instance for it yet",
		"wait until it has, or, if Karpenter does not run any more, kubectl delete nodeclaim "+object.Claim.Name+" and run this again")
	a.Verdict = Await
	return a
}

// objection says why a NodeClaim with an instance is left alone; code is empty where it is not.
func (d *takeover) objection(object *model.ClaimObject, id string) (code, message, remedy string) {
	claim, instance, nodes := &object.Claim, d.instances[id], d.nodes[id]
	deleted := object.DeletedUnix != 0
	switch {
	case claim.Pool == "":
		return "NoNodePool", "it belongs to no NodePool, and its instance has no NodePool tag by which Joiner could manage it",
			"drain and delete it while Karpenter still runs, or leave it as it is"
	case len(d.shown[id]) > 1:
		return "SharedInstance", fmt.Sprintf("NodeClaims %s all have instance %s", strings.Join(d.shown[id], ", "), id),
			"delete those that do not belong to the instance"
	case len(nodes) > 1:
		return "MultipleNodesFound", fmt.Sprintf("%d nodes carry provider id %s", len(nodes), claim.ProviderID), "delete those that do not belong to the instance"
	case instance == nil && !deleted:
		return "InstanceMissing", fmt.Sprintf("EC2 does not show instance %s", id),
			fmt.Sprintf("if it is only a few minutes old, run this again; if it is terminated, kubectl delete nodeclaim %s and run this again", claim.Name)
	case instance == nil:
		return "", "", ""
	}
	if code, message, remedy = d.foreign(claim, instance); code != "" || deleted || over(instance) {
		return code, message, remedy
	}
	switch class := d.classes[claim.Class]; {
	case instance.State == "stopping" || instance.State == "stopped":
		return "InstanceStopped", fmt.Sprintf("instance %s is %s", id, instance.State),
			fmt.Sprintf("start it, or kubectl delete nodeclaim %s and run this again", claim.Name)
	case joined(object) && len(nodes) == 0:
		return "NodeMissing", fmt.Sprintf("its node %s does not exist although instance %s is %s", cmp.Or(claim.NodeName, "(no name)"), id, instance.State),
			fmt.Sprintf("kubectl delete nodeclaim %s and run this again, or restart the instance's kubelet so that it registers again", claim.Name)
	case class != nil && len(class.Unsupported) > 0:
		return "ClassUnsupported", fmt.Sprintf("EC2NodeClass %s has fields that are not supported, so no replacement could be launched: %s", class.Name, class.Unsupported[0]),
			"change the EC2NodeClass, and run this again"
	}
	return "", "", ""
}

// foreign says why an instance is not the cluster's by its tags.
func (d *takeover) foreign(claim *model.Claim, instance *model.Instance) (code, message, remedy string) {
	add := func(key, value string) string {
		return fmt.Sprintf("check that the instance belongs to this cluster, then: aws ec2 create-tags --resources %s --tags 'Key=%s,Value=%s'", instance.ID, key, value)
	}
	pool, named := instance.Tags[model.LabelNodePool], instance.Tags[tagNodeClaim]
	switch {
	case instance.Tags[tagCluster+d.Cluster] != "owned":
		return "NotTagged", fmt.Sprintf("instance %s does not have the tag %s%s=owned", instance.ID, tagCluster, d.Cluster), add(tagCluster+d.Cluster, "owned")
	case pool == "":
		return "NotTagged", fmt.Sprintf("instance %s does not have the tag %s", instance.ID, model.LabelNodePool), add(model.LabelNodePool, claim.Pool)
	case pool != claim.Pool:
		return "OtherPool", fmt.Sprintf("instance %s is tagged for NodePool %s, and the NodeClaim belongs to %s", instance.ID, pool, claim.Pool),
			"find out which is right, and correct the tag"
	case named != "" && named != claim.Name:
		return "OtherClaim", fmt.Sprintf("instance %s is tagged for NodeClaim %s", instance.ID, named), "find out which NodeClaim the instance belongs to, and delete the other or correct the tag"
	}
	return "", "", ""
}

// tagNodeClaim names the NodeClaim of an instance, once it has joined.
const tagNodeClaim = "karpenter.sh/nodeclaim"

// joined reports whether the object shows that a node of its instance registered. Conditions of one that is being
// deleted are not told; the name of the node is written with the first of them.
func joined(object *model.ClaimObject) bool {
	switch object.Claim.State {
	case model.Registered, model.Initialized:
		return true
	}
	return object.Claim.RegisteredUnix != 0 || object.Claim.NodeName != ""
}

// take is a NodeClaim that becomes ours.
func (d *takeover) take(object *model.ClaimObject, id string) Adoption {
	instance := d.instances[id]
	var node *model.Node
	if nodes := d.nodes[id]; len(nodes) == 1 {
		node = nodes[0]
	}
	a := Adoption{Verdict: Take, Name: object.Claim.Name, Claim: d.claim(object, id, node)}
	if instance != nil {
		a.Tag = instance.Tags[tagIntent] == "" && !over(instance)
	}
	d.complete(&a, object, node)
	switch claim := &a.Claim; {
	case claim.State == model.Draining, claim.State == model.Terminating:
		a.Notes = append(a.Notes, "it is being deleted: its drain continues where Karpenter stopped")
	case instance != nil && over(instance):
		a.Notes = append(a.Notes, fmt.Sprintf("its instance is %s: the claim is closed with one of the next resyncs", instance.State))
	case d.pools[claim.Pool] == nil:
		a.Notes = append(a.Notes, fmt.Sprintf("there is no NodePool %s: the instance is kept, and its drift is not checked", claim.Pool))
	case d.classes[claim.Class] == nil:
		a.Notes = append(a.Notes, fmt.Sprintf("there is no EC2NodeClass %s: the instance is kept, and its drift is not checked", claim.Class))
	case claim.Drift != "":
		a.Notes = append(a.Notes, "it has drifted ("+claim.Drift+") and stays so")
	}
	return a
}

// claim is the record a NodeClaim becomes.
func (d *takeover) claim(object *model.ClaimObject, id string, node *model.Node) model.Claim {
	claim := object.Claim
	claim.InstanceID, claim.Intent, claim.State = id, d.Intent, model.Launched
	now := d.Records.NowUnix
	if instance := d.instances[id]; instance != nil {
		claim.Intent = cmp.Or(instance.Tags[tagIntent], d.Intent)
		bought := claim.CapacityType // of a reservation that ended it is found by comparing
		ofInstance(&claim, instance, now)
		if bought == model.Reserved {
			claim.CapacityType, claim.Reservation = bought, instance.Reservation
		}
	}
	if claim.LaunchedUnix == 0 {
		claim.LaunchedUnix = cmp.Or(claim.CreatedUnix, now)
	}
	if node != nil {
		if len(node.Capacity) > 0 {
			claim.Capacity, claim.Allocatable = node.Capacity, node.Allocatable
		}
		claim.NodeName, claim.NodeUID = node.Name, node.UID
	}
	if joined(object) {
		claim.State, claim.RegisteredUnix = model.Registered, cmp.Or(claim.RegisteredUnix, now)
		if object.Claim.State == model.Initialized || claim.InitializedUnix != 0 {
			claim.State, claim.InitializedUnix = model.Initialized, cmp.Or(claim.InitializedUnix, now)
		}
	} else {
		claim.NodeName, claim.NodeUID, claim.RegisteredUnix, claim.InitializedUnix = "", "", 0, 0
	}
	claim.Price = d.price(&claim)
	claim.Reserved = reserved(&claim)
	claim.Annotations, _ = Rehashed(claim, d.pools[claim.Pool], d.classes[claim.Class], d.CA)
	if object.DeletedUnix != 0 {
		ending(&claim, object, node, now)
	}
	return claim
}

// ending makes a claim whose object is being deleted one that is to end, as of now: Karpenter began to empty its node,
// and nobody else would go on. One whose node never joined has nothing to empty.
func ending(claim *model.Claim, object *model.ClaimObject, node *model.Node, nowUnix int64) {
	var nodes []model.Node
	if node != nil {
		nodes = append(nodes, *node)
	}
	claim.Drain = &model.Drain{SinceUnix: nowUnix, DeadlineUnix: cmp.Or(object.DeadlineUnix, claim.Deadline(object.DeletedUnix))}
	claim.FailureCode, claim.FailureMessage = model.EndedObjectDeleted, "its NodeClaim object was deleted before the cluster was adopted from Karpenter"
	claim.State, _ = Next(claim.State, AsksEnd(claim, nodes))
}

// reserved is what a claim holds of its pool's limits: what its instance has, and costs.
func reserved(claim *model.Claim) model.Resources {
	out := model.Resources{model.Nodes: 1}
	maps.Copy(out, claim.Capacity)
	out[model.Nodes] = 1
	if claim.Price > 0 {
		out[model.Dollars] = int64(claim.Price)
	}
	return out
}

// price is what a claim's instance costs per hour as far as the catalog says. One in a reservation costs nothing more.
func (d *takeover) price(claim *model.Claim) model.MicroUSD {
	for i := range d.InstanceTypes {
		if d.InstanceTypes[i].Name != claim.InstanceType {
			continue
		}
		for _, o := range d.InstanceTypes[i].Offerings {
			if o.Zone == claim.Zone && o.CapacityType == claim.CapacityType {
				return o.Price
			}
		}
	}
	return 0
}

// ours is a NodeClaim whose instance the ledger has a claim of.
func (d *takeover) ours(object *model.ClaimObject, recorded *model.Claim) Adoption {
	a := Adoption{Verdict: Ours, Name: object.Claim.Name, Claim: *recorded}
	instance := d.instances[recorded.InstanceID]
	if instance != nil && instance.Tags[tagIntent] == "" && !over(instance) && recorded.Intent != "" {
		if code, message, remedy := d.foreign(&object.Claim, instance); code != "" {
			return refusal(object, code, message, remedy)
		}
		a.Tag = true
	}
	if strings.HasPrefix(recorded.Intent, AdoptedIntent) && recorded.Name == object.Claim.Name {
		var node *model.Node
		if nodes := d.nodes[recorded.InstanceID]; len(nodes) == 1 {
			node = nodes[0]
		}
		d.complete(&a, object, node)
	}
	if a.Tag || a.Stamp || a.Untaint {
		a.Verdict = Resume
	}
	return a
}

// complete says what is missing on the object and the node of a claim. Of one that is to end neither matters any more.
func (d *takeover) complete(a *Adoption, object *model.ClaimObject, node *model.Node) {
	if object.DeletedUnix != 0 || a.Claim.State == model.Draining || a.Claim.State == model.Terminating {
		return
	}
	for _, key := range []string{
		model.AnnotationPoolHash, model.AnnotationPoolHashVersion, model.AnnotationClassHash, model.AnnotationClassHashVersion,
	} {
		if want := a.Claim.Annotations[key]; want != "" && object.Claim.Annotations[key] != want {
			a.Stamp = true
		}
	}
	if node != nil && node.DeletedUnix == 0 {
		a.Untaint = slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
	}
}

// unclaimed are the instances that no NodeClaim shows, no claim has, and no tag makes ours.
func (d *takeover) unclaimed() []Unclaimed {
	var out []Unclaimed
	for id, instance := range d.instances {
		managed := instance.Tags[tagCluster+d.Cluster] == "owned" && instance.Tags[model.LabelNodePool] != "" && instance.Tags[tagIntent] == ""
		if !managed || over(instance) || d.live[id] != nil || len(d.shown[id]) > 0 {
			continue
		}
		u := Unclaimed{Instance: *instance}
		if nodes := d.nodes[id]; len(nodes) > 0 {
			u.Node = nodes[0].Name
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Unclaimed) int { return strings.Compare(a.Instance.ID, b.Instance.ID) })
	return out
}

// Running says why a Karpenter is taken to be at work in a cluster, a sentence for each reason; none where it is not. A
// lease that was renewed in the last minute speaks for one whose Deployment has another name.
func Running(k model.Karpenter, nowUnix int64) []string {
	const fresh = 60
	var out []string
	for _, d := range k.Deployments {
		if d.Replicas == 0 && d.Running > 0 {
			out = append(out, fmt.Sprintf("Deployment %s/%s has %d pods left; wait until they have ended", d.Namespace, d.Name, d.Running))
		}
		if d.Replicas > 0 {
			out = append(out, fmt.Sprintf("Deployment %s/%s has spec.replicas %d and %d pods; scale it down: kubectl scale deployment %s -n %s --replicas=0",
				d.Namespace, d.Name, d.Replicas, d.Running, d.Name, d.Namespace))
		}
	}
	if l := k.Lease; l != nil && l.RenewedUnix > nowUnix-fresh {
		out = append(out, fmt.Sprintf("lease %s/%s was renewed %d s ago by %s; if Karpenter was just stopped, wait a minute",
			l.Namespace, l.Name, max(0, nowUnix-l.RenewedUnix), cmp.Or(l.Holder, "nobody")))
	}
	return out
}

// Stops reports whether a Karpenter that is taken to be at work was asked to stop: no Deployment asks for a replica,
// and pods or the lease are left.
func Stops(k model.Karpenter, nowUnix int64) bool {
	return len(Running(k, nowUnix)) > 0 && !slices.ContainsFunc(k.Deployments, func(d model.Controller) bool { return d.Replicas > 0 })
}
