package model

import (
	"crypto/sha256"
	"encoding/hex"
)

// Why nodes are disrupted or replaced voluntarily.
const (
	ReasonEmpty         = "Empty"
	ReasonDrifted       = "Drifted"
	ReasonUnderutilized = "Underutilized"
	ReasonExpired       = "Expired"        // where the pool wants its expiry to obey budgets
	ReasonReplicas      = "OverReplicated" // a static pool has more instances than spec.replicas
)

// DisruptionReason is one of them, with all that follows from it alone.
type DisruptionReason struct {
	Name   string
	Budget string // the reason that budgets name it by; "" = none bounds it
	Renews bool   // its nodes are not to stay as they are, whatever that costs
	Why    string // for people, of a node
}

// DisruptionReasons are all there are.
var DisruptionReasons = []DisruptionReason{
	{ReasonEmpty, ReasonEmpty, false, "no pods that count run there"},
	{ReasonDrifted, ReasonDrifted, true, "an instance launched now would differ"},
	{ReasonUnderutilized, ReasonUnderutilized, false, "its pods cost less elsewhere"},
	{ReasonExpired, ReasonDrifted, true, "it is older than spec.expireAfter"},
	{ReasonReplicas, "", false, "its NodePool has more instances than spec.replicas"},
}

// ReasonNamed returns what follows from a reason; of one that is not known, its name as why, and nothing else.
func ReasonNamed(name string) DisruptionReason {
	for _, r := range DisruptionReasons {
		if r.Name == name {
			return r
		}
	}
	return DisruptionReason{Name: name, Why: name}
}

// DisruptPlan is what a decision about disruption says to do. Same input, same plan, byte for byte.
type DisruptPlan struct {
	Commands []PlannedCommand `json:"commands"` // in the order they are to be committed; may be empty, never nil
	Kept     []KeptNode       `json:"kept"`     // nodes of pools that are in no command, by name
	// Quiet are the claims whose nodes no pod has come to or left for as long as consolidateAfter of their NodePool
	// asks for, by node. What follows from it is in Commands and Kept, so that it is not written down.
	Quiet []string `json:"-"`
	// Waiting counts the nodes that are empty, drifted, too old or too many and stay, by reason and blocker; Delayed is
	// what is not saved by that, and by commands to consolidate that were found and wait, per hour. Both follow from
	// the rest and are not written down.
	Waiting []WaitingNodes `json:"-"`
	Delayed MicroUSD       `json:"-"`
	// Of all nodes of pools, per hour, now and once the commands are carried out. A node whose offering is not known
	// counts nothing.
	PriceBefore MicroUSD `json:"priceBefore"`
	PriceAfter  MicroUSD `json:"priceAfter"`
	// Constrained says that budgets alone kept something back, so that the next window is to be looked at again.
	Constrained bool `json:"constrained,omitempty"`
	// ReplanUnix is when the plan may be another without anything having changed: a consolidateAfter that runs out, a
	// window that opens or closes, a do-not-disrupt that ends; 0 = there is no such time.
	ReplanUnix int64 `json:"again,omitempty"`
}

// PlannedCommand disrupts some nodes together, for one reason. Its replacements are ready before any of them is
// drained.
type PlannedCommand struct {
	Reason       string         `json:"reason"`
	Nodes        []string       `json:"nodes"`        // sorted; at most MaxCommandNodes
	Replacements []PlannedClaim `json:"replacements"` // may be empty, never nil
	// which of the nodes' pods go to nodes that exist or are on their way, by node; never nil
	Moves     []Nomination `json:"moves"`
	PodsMoved int          `json:"podsMoved"` // pods that will be made anew elsewhere
	// per hour; below 0 where a replacement costs more, as drift's may
	Savings MicroUSD `json:"savings"`

	// its node is terminated before what replaces it is launched, for there is no capacity for both
	TerminateFirst bool `json:"terminateFirst,omitempty"`

	GivenUpSpreads []Unspread `json:"givenUp,omitempty"` // preferences of its pods that are given up for it

	// What the command is to remember: see Command.
	Inputs    string   `json:"inputs,omitempty"`
	Workloads []string `json:"workloads,omitempty"`
}

// WaitingNodes is how many nodes there is one reason to disrupt and one kind of obstacle to it.
type WaitingNodes struct {
	Reason  string `json:"reason"`  // ReasonEmpty and the like
	Blocker string `json:"blocker"` // Budget, Capacity, Pods, Quiet, Stopped, Turn, Other
	Nodes   int    `json:"nodes"`
}

// Unspread is a ScheduleAnyway topology spread of pods that a command moves, which is kept less well after it.
type Unspread struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"` // of the pods
	Key       string `json:"key"`   // the constraint's topologyKey
	MaxSkew   int32  `json:"maxSkew"`
	Skew      int32  `json:"skew"` // after the command
	Message   string `json:"message"`
}

// ReplacementFailed is the FailureCode of a command that was undone because a replacement did not come, or did not come
// in time.
const ReplacementFailed = "ReplacementFailed"

// ReplacementBarred is the FailureCode of a command that was undone because a replacement cannot be launched: it is
// beyond its pool's limits, or its pool or class cannot be used any more. Nothing was asked of EC2, so that it says
// nothing about capacity.
const ReplacementBarred = "ReplacementBarred"

// MaxCommandNodes is how many nodes one command disrupts at most: the ledger writes it in one transaction.
const MaxCommandNodes = 40

// KeptNode is a node that stays, with why.
type KeptNode struct {
	Node    string       `json:"node"`
	Reasons []KeptReason `json:"reasons"` // never empty
}

// KeptReason is a "no" as data.
type KeptReason struct {
	Code    string `json:"code"` // one of the codes of core/disruption
	Message string `json:"message"`
}

// CommandState is how far a command has come.
type CommandState string

// The states of a command.
const (
	// recorded with its claims; its nodes are being tainted and looked at again
	CommandCommitted CommandState = "Committed"
	CommandReplacing CommandState = "Replacing" // it holds on a later check; its replacements are asked for
	CommandDone      CommandState = "Done"      // its claims are Draining
	CommandUndoing   CommandState = "Undoing"   // it does not hold, or a replacement failed: taints are taken off
	CommandUndone    CommandState = "Undone"    // nothing of it is left on any node
)

// Open reports whether the command holds claims.
func (s CommandState) Open() bool {
	return s == CommandCommitted || s == CommandReplacing || s == CommandUndoing
}

// Going reports whether the command is to be carried out: what it disrupts is as good as gone.
func (s CommandState) Going() bool { return s.Open() && s != CommandUndoing }

// Command is a PlannedCommand on its way, as the ledger keeps it. Times are by the ledger's clock.
type Command struct {
	ID       string       `json:"id"`
	Version  int64        `json:"version"` // bumped by every write; writers condition on it
	State    CommandState `json:"state"`
	Reason   string       `json:"reason"`
	Targets  []Target     `json:"targets"` // by claim
	Decision string       `json:"decision,omitempty"`

	// Replacements are to be launched by provision under exactly these names, once State is Replacing.
	Replacements []PlannedClaim `json:"replacements,omitempty"`
	// Its node is terminated before what replaces it is launched, by provision and under another name.
	TerminateFirst bool     `json:"terminateFirst,omitempty"`
	PodsMoved      int      `json:"podsMoved"`
	Savings        MicroUSD `json:"savings"`

	// What it was evaluated by, and whose pods it moves: to tell an opposite decision by.
	Epoch  int64  `json:"epoch"`
	Seq    int64  `json:"seq"`
	Inputs string `json:"inputs,omitempty"` // digest of prices, pools and unavailable offerings it depends on
	// namespace/kind/name of the moved pods' owners, sorted, at most MaxWorkloads
	Workloads []string `json:"workloads,omitempty"`

	SinceUnix     int64 `json:"since"`               // when it was committed
	TaintedUnix   int64 `json:"tainted,omitempty"`   // when its nodes were last seen to carry the taint, all of them
	ReplacingUnix int64 `json:"replacing,omitempty"` // when it was found to hold
	EndedUnix     int64 `json:"ended,omitempty"`     // when it became Done or Undone
	ReportedUnix  int64 `json:"told,omitempty"`      // when people were last told what it waits for

	FailureCode    string `json:"failureCode,omitempty"` // why it is undone
	FailureMessage string `json:"failureMessage,omitempty"`

	// FailedOfferings is what gave no capacity while the command waited for its replacements, each as
	// UnavailableOffering.About names it, at most MaxFailedOfferings: what it is undone for is not tried again by the
	// next one at once.
	FailedOfferings []UnavailableOffering `json:"dry,omitempty"`
}

// MaxFailedOfferings is how many unavailable offerings a command remembers.
const MaxFailedOfferings = 200

// MaxWorkloads is how many owners a command remembers.
const MaxWorkloads = 100

// Target is a node a command disrupts, as it was evaluated.
type Target struct {
	Claim        string   `json:"claim"`
	Pool         string   `json:"pool"`
	Class        string   `json:"class"`
	Node         string   `json:"node"`
	NodeUID      string   `json:"nodeUID"`
	Price        MicroUSD `json:"price"`
	InstanceType string   `json:"instanceType,omitempty"`
	Zone         string   `json:"zone,omitempty"`
	CapacityType string   `json:"capacityType,omitempty"`
	// PodDigest of each pod that would have to leave, as it was evaluated; sorted
	Pods []string `json:"pods,omitempty"`
}

// PodDigest stands for a pod's UID where many are kept: 32 bits of its digest. That another pod of one node has the
// same is not to be expected.
func PodDigest(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:4])
}

// BudgetVersion counts the commands of a pool. A command is committed on condition of the turns of its pools, so that
// of two that were evaluated by the same budget one is refused.
type BudgetVersion struct {
	Pool    string `json:"pool"`
	Version int64  `json:"version"` // 0 = there was none yet
}

// Stop says that nothing is disrupted voluntarily: in a pool, a cluster, or an account and region.
type Stop struct {
	Scope     StopScope `json:"scope"`
	Pool      string    `json:"pool,omitempty"` // of StopPool
	Why       string    `json:"why,omitempty"`
	By        string    `json:"by,omitempty"` // who, as far as known
	SinceUnix int64     `json:"since,omitempty"`
}

// StopScope is how far a Stop reaches.
type StopScope string

// The scopes of stops.
const (
	StopPool    StopScope = "pool"
	StopCluster StopScope = "cluster"
	StopRegion  StopScope = "region" // every cluster of the account in the region
)

// DisruptNotes are what the disruption function of a cluster remembers from one run to the next. Only the holder of its
// lease writes them.
type DisruptNotes struct {
	Version int64 `json:"version"` // 0 = never written
	AtUnix  int64 `json:"at"`

	// The last check that found nothing to do, and what it depended on: while all of it is the same and DueUnix has not
	// come, there is nothing to look at.
	Epoch   int64  `json:"epoch,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
	Ledger  string `json:"ledger,omitempty"` // digest of what the ledger says beyond the snapshot
	Catalog string `json:"catalog,omitempty"`
	DueUnix int64  `json:"again,omitempty"`

	// Constrained says that budgets alone kept something back at that check. What frees them may show in the ledger
	// alone, so that it is read each time.
	Constrained bool `json:"constrained,omitempty"`

	// Empty says that there was nothing of ours at that check, nor for an hour before: no instance, launch or command,
	// no room to be kept, no pod that waits, no class that is not ready.
	Empty bool `json:"empty,omitempty"`

	KeptUnix int64 `json:"kept,omitempty"` // when a check that disrupted nothing was last kept; 0 = never
	HintUnix int64 `json:"hint,omitempty"` // for when the next check was asked for; 0 = for none

	// WatcherAhead is the watcher's heartbeat at the last check, where its clock was ahead; zero = it was not.
	WatcherAhead HeartbeatAhead `json:"ahead,omitzero"`

	// Alarms are the alarms that stop NodePools, as the last check found them, by NodePool.
	Alarms []AlarmStop `json:"alarms,omitempty"`

	// Reported says of nodes why they stay, as people were last told, by node.
	Reported []ReportedNode `json:"told,omitempty"`
}

// HeartbeatAhead is a watcher's heartbeat, written by a clock that may be ahead of the ledger's.
type HeartbeatAhead struct {
	Epoch     int64 `json:"epoch"`
	Heartbeat int64 `json:"beat"`    // Unix seconds by the watcher's clock
	SeenAt    int64 `json:"seen"`    // Unix seconds by the ledger's clock, when it was looked at last
	Seconds   int64 `json:"seconds"` // by which the clock may have been ahead
}

// Of returns by how many seconds the watcher's clock may have been ahead when it wrote the manifest's heartbeat, as far
// as one knows who looks now (Unix seconds by the ledger's clock) and has looked before. The same heartbeat was not
// written since. Another one was, so that the clock was ahead no further than from that look to its time.
func (a HeartbeatAhead) Of(manifest Manifest, nowUnix int64) int64 {
	least := manifest.HeartbeatAt - nowUnix
	switch {
	case a.Epoch != manifest.Epoch:
	case a.Heartbeat == manifest.HeartbeatAt:
		least = max(least, a.Seconds)
	default:
		least = max(least, min(a.Seconds, manifest.HeartbeatAt-a.SeenAt))
	}
	return least
}

// ReportedNode is what people last learned of a node that stays.
type ReportedNode struct {
	Node   string `json:"node"`
	Code   string `json:"code"`
	AtUnix int64  `json:"at"`
}
