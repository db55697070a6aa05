package lifecycle

import (
	"cmp"
	"fmt"
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
	// Instances are those that carry the cluster's tags, and those of claims that were asked for by id because they
	// were not among them. Duplicates are allowed.
	Instances []model.Instance
	Records   model.ClusterRecords
	Live      model.LiveState

	// Definitions are those of the API server where they were read, which they need only be where a finding Obeys; nil
	// = they are taken to stand.
	Definitions *model.Definitions

	Interrupted []model.SpotInterruption // spot instances that EC2 takes back
	Impaired    []model.Impairment       // what EC2's status checks say of instances, whoever owns them
}

// What a warning of EC2 leaves. Source: EC2 user guide, spot interruption notices and interruptible capacity
// reservations.
const (
	WarningSeconds = 120 // from the warning until EC2 ends the instance
	MarginSeconds  = 5   // by which pods are out before
)

// Settings are the numbers of a judgment, in seconds. The zero value of a field means its default:
// see WithDefaults.
type Settings struct {
	Confirm    int64 // between the first check and the one that acts
	JoinWithin int64 // for an instance's node to join, after its launch by EC2's clock
	// EC2 may take minutes to show a new instance. A claim whose age by its own clock is OldAfter, or whose instance
	// has been missing for YoungFor, is not new, however the clock that dated it was set.
	OldAfter int64
	YoungFor int64

	// Where EC2 does not say since when it takes an instance back, who asks has learned of it up to half a minute
	// later, and has SpotLeft of WarningSeconds.
	SpotLeft    int64
	FailedFor   int64 // how long status checks must have failed
	BlockNotice int64 // before the end of a capacity block its instances are emptied
	BlockLeft   int64 // before the end of a capacity block EC2 ends its instances

	RepairAfter   int64 // for how long any condition of a node may be bad; 0 = each as long as Repairs says
	RepairPercent int64 // of a pool's nodes, rounded up: where more are unhealthy, none is repaired
	// ExpirePercent of a pool's nodes, at least one, are given up because of their age at a time. A drain older than
	// ExpireStuck seconds is not waited for by the next.
	ExpirePercent int64
	ExpireStuck   int64
}

// WithDefaults returns the settings with the defaults filled in.
func (s Settings) WithDefaults() Settings {
	s.Confirm = cmp.Or(s.Confirm, 30)
	s.JoinWithin = cmp.Or(s.JoinWithin, 15*60)
	s.OldAfter = cmp.Or(s.OldAfter, 10*60)
	s.YoungFor = cmp.Or(s.YoungFor, 5*60)
	s.SpotLeft = cmp.Or(s.SpotLeft, 85)
	s.FailedFor = cmp.Or(s.FailedFor, 120)
	s.BlockNotice = cmp.Or(s.BlockNotice, 40*60)
	s.BlockLeft = cmp.Or(s.BlockLeft, 30*60)
	s.RepairPercent = cmp.Or(s.RepairPercent, 20)
	s.ExpirePercent = cmp.Or(s.ExpirePercent, 10)
	s.ExpireStuck = cmp.Or(s.ExpireStuck, 30*60)
	return s
}

// Tags that together make an instance ours.
const (
	tagIntent  = "joiner.sh/intent"
	tagCluster = "kubernetes.io/cluster/"
)

// Owned reports whether an instance carries the three tags that make it this cluster's to end: its cluster, a NodePool
// and an intent.
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

// over reports whether an instance has ended or is ending.
func over(instance *model.Instance) bool {
	return instance.State == "terminated" || instance.State == "shutting-down"
}

// serves reports whether the finding's claim has a node that is to stay.
func (f *Finding) serves() bool {
	return f.Claim.State == model.Registered || f.Claim.State == model.Initialized
}

// born returns since when a finding's claim has had its instance, 0 where nothing says so.
func (f *Finding) born() int64 {
	since := cmp.Or(f.Claim.CreatedUnix, f.Claim.LaunchedUnix)
	if f.Instance != nil {
		since = max(since, f.Instance.LaunchedUnix)
	}
	return since
}

func deadlineOf(object *model.ClaimObject) int64 {
	if object == nil {
		return 0
	}
	return object.DeadlineUnix
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
		return fmt.Sprintf("no node of instance %s joined within %s; see its console output and the user data of its EC2NodeClass",
			id, cmp.Or(f.Detail, "its time"))
	case Orphan:
		return fmt.Sprintf("instance %s belongs to no claim", id)
	}
	return string(f.Kind)
}

// clock writes a moment for people, in UTC.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
