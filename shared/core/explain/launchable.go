package explain

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// launchable is of pods that an instance can be had for: why it was not asked for yet.
func (c *podCase) launchable(planned *model.PlannedClaim) *Cause {
	now := c.cluster.now()
	what := fmt.Sprintf("a node of NodePool %s (%s %s in %s at $%.4f per hour)", planned.Pool, planned.Offering.InstanceType, planned.Offering.CapacityType, planned.Offering.Zone, planned.Price.USD())
	ledger := c.cluster.ledger()
	if ledger == nil {
		return &Cause{Code: Planned, Since: c.pod.CreatedUnix, Message: "can have " + what + ", which Joiner launches for it",
			Remedy: c.askInstallation()}
	}
	if cause := c.barred(ledger, planned.Pool); cause != nil {
		return cause
	}
	if failed := c.failed(); failed != nil {
		failed.Message = fmt.Sprintf("waits for %s: %s", what, failed.Message)
		return failed
	}
	age := now - c.pod.CreatedUnix
	heartbeat := ledger.Manifest
	switch {
	case ledger.Allowance.ClosedUntilUnix > now:
		return &Cause{Code: Throttled, Message: fmt.Sprintf("waits for %s: EC2 throttles the account, and is not called before %s", what, stamp(ledger.Allowance.ClosedUntilUnix)),
			Remedy: "wait; if it lasts, check what else in the account calls EC2"}
	case heartbeat == nil:
		return &Cause{Code: WatcherSilent, Message: fmt.Sprintf("waits for %s: no watcher has ever published the cluster, so pending pods are found once a minute", what),
			Remedy: "check that the chart is installed and its watcher runs: joiner doctor " + c.cluster.Installation.Registration.Cluster}
	case now-heartbeat.HeartbeatAt > silentSeconds:
		return &Cause{Code: WatcherSilent, Since: heartbeat.HeartbeatAt, Message: fmt.Sprintf("waits for %s: the watcher's last heartbeat was %s ago, so pending pods are found once a minute", what, ago(heartbeat.HeartbeatAt, now)),
			Remedy: "check why the watcher does not run: joiner doctor " + c.cluster.Installation.Registration.Cluster}
	case age <= batchSeconds:
		return &Cause{Code: Batching, Since: c.pod.CreatedUnix, Message: fmt.Sprintf("waits for %s since %d s: the batch of pods stays open for at most 5 s", what, age)}
	case age > overdueSeconds:
		return &Cause{Code: Overdue, Since: c.pod.CreatedUnix, Message: fmt.Sprintf("waits for %s for %s, longer than it should", what, ago(c.pod.CreatedUnix, now)),
			Remedy: "check the provision function: joiner doctor " + c.cluster.Installation.Registration.Cluster + ", and its log"}
	}
	return &Cause{Code: Planned, Since: c.pod.CreatedUnix, Message: "waits for " + what + ", which the next run of joiner-provision launches"}
}

func (c *podCase) askInstallation() string {
	if c.cluster.Installation != nil {
		return ""
	}
	return "wait; the installation knows the result: the same command without -f"
}

// barred is what keeps provisioning from launching although it could.
func (c *podCase) barred(ledger *model.Ledger, pool string) *Cause {
	now, notes := c.cluster.now(), &ledger.Notes
	if notes.LostUnix != 0 && now-notes.LostUnix < lostSeconds {
		return &Cause{Code: LedgerLost, Since: notes.LostUnix, Message: "waits until the NodeClaims that exist are taken into the ledger, which knew none of them",
			Remedy: fmt.Sprintf("none: it continues by itself, at %s at the latest", stamp(notes.LostUnix+lostSeconds))}
	}
	shape := c.shape()
	names := []string{"NodePool/" + pool, fmt.Sprintf("Pods/%s/%s/%s", c.pod.Namespace, shape.OwnerKind, shape.OwnerName)}
	for _, q := range notes.Quarantine {
		if q.Count >= quarantineCount && q.UntilUnix > now && slices.Contains(names, q.What) {
			return &Cause{Code: Quarantined, Message: fmt.Sprintf("waits because planning failed %d times over %s, which is left out until %s", q.Count, q.What, stamp(q.UntilUnix)),
				Remedy: "report it: the provision function's log has the trace"}
		}
	}
	return nil
}

// failed returns what the latest launch for the pod failed by, where that is recent and nothing was launched for it since.
func (c *podCase) failed() *Cause {
	decisions := c.cluster.Installation.Decisions
	for i := len(decisions) - 1; i >= 0 && c.cluster.now()-decisions[i].AtUnix <= recentSeconds; i-- {
		for r := len(decisions[i].Rounds) - 1; r >= 0; r-- {
			for f := range decisions[i].Rounds[r].Failed {
				claim := &decisions[i].Rounds[r].Failed[f]
				if slices.ContainsFunc(claim.Pods, func(p model.PodRef) bool { return p.UID == c.pod.UID }) {
					return &Cause{Code: LaunchFailed, Since: decisions[i].AtUnix, Claim: claim.Name,
						Message: fmt.Sprintf("the last try, at %s, failed: %s: %s", stamp(decisions[i].AtUnix), claim.FailureCode, claim.FailureMessage),
						Remedy:  "none: it is tried again without the unavailable offerings; more instance types or zones make it likelier"}
				}
			}
		}
	}
	return nil
}
