package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Cluster is a cluster at one time, as far as it is known. It is read and never written to.
type Cluster struct {
	// Ask is what a planner would be asked then. Its Snapshot is the cluster, and its Claims are the live ones that are capacity.
	Ask pack.Input
	// Types are the instance types of every class, whatever may be bought now, by class name; nil = those of Ask.Catalogs.
	Types map[string][]model.InstanceType
	// Plan is what it would answer; nil = core/pack is asked.
	Plan *model.Plan
	// Installation is what only an installation knows; nil = the cluster is given as files.
	Installation *Installation
}

// Installation is what the ledger and the records say beside the cluster.
type Installation struct {
	Registration model.Registration
	Ledger       model.Ledger
	// Switch is what the installation's stop switch says: "", "disruption" or "everything".
	Switch string
	// Past says that the question is about a time that is over: what the ledger says is of now, and only records count.
	Past bool

	Decisions   []model.Decision  // of the time before, by time
	Disruptions []model.Disrupted // the same of disruption
	Removals    []model.Removal   // by time
}

// Cause is the one answer: what keeps something as it is, and what would change that soonest.
type Cause struct {
	Code    string `json:"code"`              // one of those of this package, of core/pack or of core/disruption
	Message string `json:"message"`           // part of a sentence
	Remedy  string `json:"remedy,omitempty"`  // empty = nothing is to be done
	Since   int64  `json:"since,omitempty"`   // Unix seconds; 0 = not known
	Node    string `json:"node,omitempty"`    // it is about
	Claim   string `json:"claim,omitempty"`   // it is about
	Command string `json:"command,omitempty"` // it is about
}

// HistoryEvent is something that was decided or happened.
type HistoryEvent struct {
	AtUnix   int64  `json:"at"`
	Text     string `json:"text"` // a sentence
	Decision string `json:"decision,omitempty"`
	Claim    string `json:"claim,omitempty"`
}

// now is the time of the cluster.
func (s *Cluster) now() int64 { return s.Ask.NowUnix }

// ledger returns the ledger where what it says is of the cluster's time; nil where it is not known.
func (s *Cluster) ledger() *model.Ledger {
	if s.Installation == nil || s.Installation.Past {
		return nil
	}
	return &s.Installation.Ledger
}

// node returns a node of the cluster by name; nil where there is none.
func (s *Cluster) node(name string) *model.Node {
	nodes := s.Ask.Snapshot.Nodes
	for i := range nodes {
		if nodes[i].Name == name {
			return &nodes[i]
		}
	}
	return nil
}

// nodeOf returns the node of a claim's instance; nil where it has not joined.
func (s *Cluster) nodeOf(claim *model.Claim) *model.Node {
	nodes := s.Ask.Snapshot.Nodes
	for i := range nodes {
		if claim.ProviderID != "" && nodes[i].ProviderID == claim.ProviderID || claim.ProviderID == "" && claim.NodeName == nodes[i].Name {
			return &nodes[i]
		}
	}
	return nil
}

// claims are all that are known: the ledger's, else those the planner is given.
func (s *Cluster) claims() []model.Claim {
	if ledger := s.ledger(); ledger != nil {
		return ledger.Claims
	}
	return s.Ask.Claims
}

// claimOn returns the live claim whose instance is the node; nil where there is none.
func (s *Cluster) claimOn(node *model.Node) *model.Claim {
	claims := s.claims()
	for i := range claims {
		c := &claims[i]
		if c.Live() && (node.ProviderID != "" && c.ProviderID == node.ProviderID || c.ProviderID == "" && c.NodeName == node.Name) {
			return c
		}
	}
	return nil
}

// claim returns the claim of a name; nil where there is none.
func (s *Cluster) claim(name string) *model.Claim {
	claims := s.claims()
	for i := range claims {
		if claims[i].Name == name {
			return &claims[i]
		}
	}
	return nil
}

// pool returns a NodePool by name; nil where there is none.
func (s *Cluster) pool(name string) *model.Pool {
	pools := s.Ask.Snapshot.Pools
	if i := slices.IndexFunc(pools, func(p model.Pool) bool { return p.Name == name }); i >= 0 {
		return &pools[i]
	}
	return nil
}

// stamp writes a time for people.
func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// ago writes how long something has been going on: "3m20s".
func ago(from, to int64) string {
	if from == 0 || to < from {
		return "a moment"
	}
	d := time.Duration(to-from) * time.Second
	if d >= 2*time.Hour {
		d = d.Round(time.Minute)
	}
	return Duration(d)
}

// Duration writes a duration without zeros at its end: "3m20s", "2h".
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Many counts things: "1 pod", "2 pods".
func Many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
