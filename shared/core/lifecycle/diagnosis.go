package lifecycle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

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

func (j *diagnosis) find(finding Finding) {
	if finding.Code == "" {
		finding.Code = codes[finding.Kind]
	}
	j.findings = append(j.findings, finding)
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

// poolDeleted says that a pool is deleted, with which the API server deletes its NodeClaims; "" where it exists, or
// that is unknown.
func (j *diagnosis) poolDeleted(pool string) string {
	if pool == "" || j.view.Live.Pools == nil || slices.Contains(j.view.Live.Pools, pool) {
		return ""
	}
	return "NodePool " + pool + " was deleted"
}

// putOff is what is put off in one pool for one reason.
type putOff struct {
	claims int
	why    string // of the first in order
	until  string
}

// deferEnd notes that the end of a claim is put off.
func (j *diagnosis) deferEnd(pool, code, why, until string) {
	key := [2]string{pool, code}
	if j.deferred[key] == nil {
		j.deferred[key] = &putOff{why: why, until: until}
	}
	h := j.deferred[key]
	h.claims, h.why, h.until = h.claims+1, min(h.why, why), min(h.until, until)
}

// reportDeferred finds what is put off, one finding for each pool and code.
func (j *diagnosis) reportDeferred() {
	for key, h := range j.deferred {
		j.find(Finding{Kind: Deferred, Subject: key[0], Code: key[1], Detail: fmt.Sprintf("%s: %s (%s)", cmp.Or(map[string]string{
			model.EndedUnhealthy: "repair is postponed", model.EndedExpired: "expiry is postponed",
		}[key[1]], "a removal is postponed"), h.until, andOthers(h.why, h.claims-1))})
	}
}

func andOthers(what string, others int) string {
	switch others {
	case 0:
		return what
	case 1:
		return what + ", and one more"
	}
	return fmt.Sprintf("%s, and %d more", what, others)
}
