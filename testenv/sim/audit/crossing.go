package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Crossing holds that no cluster's state is ever read or written by another's run, where many share a control plane: rows of the
// ledger, leases, published snapshots, decisions, messages, objects of the API server, launches and instances. Whose run it is says the
// name of the actor, which ends in @ and the cluster; who acts for all, such as a tick, has no such name and is not held to it.
//
// Besides, whatever the ledger or the API server of a cluster says of a pod, an object or an instance is of that cluster. Objects have the
// same names everywhere, so it goes by UIDs and ids, which are given once.
type Crossing struct {
	owner map[string]string // cluster by UID, instance id or intent
	seen  map[string]int    // what was evaluated, by kind
}

// NewCrossing returns an auditor that has seen nothing.
func NewCrossing() *Crossing { return &Crossing{owner: map[string]string{}, seen: map[string]int{}} }

// Seen returns how many things of each kind were evaluated: none of them shows nothing.
func (c *Crossing) Seen() map[string]int { return c.seen }

// Check takes in what happened.
func (c *Crossing) Check(entries []world.Entry) []Violation {
	var found []Violation
	for _, e := range entries {
		_, actor, named := strings.Cut(e.Actor, "@")
		belongs := func(kind, object, cluster string) {
			if cluster == "" || object == "" {
				return
			}
			c.seen[kind]++
			if before, known := c.owner[object]; known && before != cluster {
				found = append(found, Violation{Rule: "D8", Seq: e.Seq, At: e.At, Object: object, Text: fmt.Sprintf("the %s of cluster %s shows in cluster %s", kind, before, cluster)})
			}
			c.owner[object] = cluster
		}
		touches := func(kind, cluster string) {
			if !named || cluster == "" {
				return
			}
			c.seen[kind]++
			if cluster != actor {
				found = append(found, Violation{Rule: "D8", Seq: e.Seq, At: e.At, Object: e.Actor, Text: fmt.Sprintf("it touches the %s of cluster %s", kind, cluster)})
			}
		}
		switch fact := e.Fact.(type) {
		case world.Touched:
			touches(fact.What, fact.Cluster)
		case world.LeaseTaken:
			touches("lease", fact.Fence.Cluster)
		case world.LeaseReleased:
			touches("lease", fact.Fence.Cluster)
		case world.ManifestMoved:
			touches("pointer", fact.Cluster)
		case world.WatchFollowed:
			touches("watch", fact.Cluster)
		case world.MessageMoved:
			touches("message", fact.Group)
		case world.ObjectWritten:
			touches("object", fact.Cluster)
			if fact.Kind != world.KindBudget && fact.Kind != world.KindVolume { // whose names stand for their UIDs here
				belongs(fact.Kind, fact.UID, fact.Cluster)
			}
			if fact.Node != nil {
				belongs("machine", instanceOf(fact.Node.ProviderID), fact.Cluster)
			}
			if fact.Claim != nil {
				belongs("machine", fact.Claim.InstanceID, fact.Cluster)
			}
		case world.LedgerWritten:
			touches("ledger", fact.Cluster)
			if fact.Fence != nil && fact.Fence.Cluster != fact.Cluster {
				found = append(found, Violation{Rule: "D8", Seq: e.Seq, At: e.At, Object: e.Actor, Text: fmt.Sprintf("it writes the ledger of cluster %s with the lease of %s", fact.Cluster, fact.Fence.Cluster)})
			}
			for _, intent := range fact.Intents {
				belongs("launch", intent.ID, fact.Cluster)
			}
			for _, change := range fact.Claims {
				if claim := change.After; claim != nil {
					belongs("launch", claim.Intent, fact.Cluster)
					belongs("machine", claim.InstanceID, fact.Cluster)
					belongs("NodeClaim", claim.ObjectUID, fact.Cluster)
					belongs("NodePool", claim.PoolUID, fact.Cluster)
					for _, pod := range claim.Pods {
						belongs("Pod", pod.UID, fact.Cluster)
					}
				}
			}
		case world.FleetCalled:
			touches("launch", fact.Cluster)
			belongs("launch", fact.Intent, fact.Cluster)
			for _, id := range fact.Instances {
				belongs("machine", id, fact.Cluster)
			}
		case world.InstanceStarted:
			touches("machine", fact.Cluster)
			belongs("machine", fact.Instance.ID, fact.Cluster)
		case world.TerminateCalled:
			for _, id := range fact.IDs {
				touches("machine", c.owner[id])
			}
		case world.InstanceEnding:
			touches("machine", c.owner[fact.ID])
		}
	}
	return found
}

// Quiet holds nothing more.
func (c *Crossing) Quiet(time.Time) []Violation { return nil }

// instanceOf is the instance id at the end of a provider id.
func instanceOf(provider string) string { return provider[strings.LastIndex(provider, "/")+1:] }
