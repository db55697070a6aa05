package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// old reports whether a claim with a node is older than its expireAfter. It was made before its instance was launched,
// by the clock of whichever process made it: where that is earlier than EC2's time of launch, EC2 is believed.
func (j *diagnosis) old(f *Finding) bool {
	if !f.serves() || f.Claim.ExpireSeconds == nil {
		return false
	}
	since := f.born()
	age := j.view.Records.NowUnix - since
	if since <= 0 || age < max(0, *f.Claim.ExpireSeconds) {
		return false
	}
	f.Detail = fmt.Sprintf("it was created at %s and expires after %s (expireAfter)", clock(since), time.Duration(min(*f.Claim.ExpireSeconds, 1<<33))*time.Second)
	return true
}

// expire finds the claims that have expired, of each pool the oldest, as many as may be given up for their age at a
// time: people want their nodes renewed, not all taken at once (R30), and none while it is known that no instance of
// the claim's class can take its place (S32). Those of pools that expire within budgets are not this function's.
func (j *diagnosis) expire() {
	slices.SortStableFunc(j.expiring, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Claim.Pool, b.Claim.Pool), cmp.Compare(a.born(), b.born()), strings.Compare(a.Subject, b.Subject))
	})
	if len(j.expiring) == 0 {
		return
	}
	room := j.expiryAllowance()
	for _, f := range j.expiring {
		pool := f.Claim.Pool
		if slices.Contains(j.view.Live.Gentle, pool) {
			continue
		}
		if why := j.view.Live.PoolsUnread; why != "" && pool != "" {
			j.deferEnd(pool, model.EndedExpired, "claim "+f.Subject, "whether the NodePool wants expiry within its budgets is unknown: "+why)
			continue
		}
		if why := j.unusable(f.Claim.Class); why != "" {
			j.deferEnd(pool, model.EndedExpired, "claim "+f.Subject, why)
			continue
		}
		if room[pool] <= 0 {
			j.deferEnd(pool, model.EndedExpired, "claim "+f.Subject, "other nodes of the pool are expiring now")
			continue
		}
		room[pool]--
		j.find(f)
	}
}

// expiryAllowance returns how many more claims of each pool may be given up for their age now. Those found to end for
// anything else are not among the nodes that it is a part of: their ends come first.
func (j *diagnosis) expiryAllowance() map[string]int64 {
	nodes, ending, going := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for i := range j.findings {
		if f := &j.findings[i]; f.Claim != nil && f.Kind != Vanished {
			going[f.Claim.Name] = true
		}
	}
	for i := range j.view.Records.Claims {
		claim := &j.view.Records.Claims[i]
		switch {
		case going[claim.Name] && claim.State != model.Draining && claim.State != model.Terminating:
		case claim.State == model.Registered || claim.State == model.Initialized:
			nodes[claim.Pool]++
		case claim.FailureCode != model.EndedExpired || !claim.Live():
		case claim.Drain == nil || j.view.Records.NowUnix-claim.Drain.SinceUnix < j.settings.ExpireStuck:
			ending[claim.Pool]++
			nodes[claim.Pool]++
		}
	}
	anywhere := int64(0) // claims that cannot be read, and may be ending for their age in whatever pool
	for _, u := range j.view.Records.Unread {
		switch object := j.objects[u.Name]; {
		case u.Kind != model.UnreadClaim || u.Gone:
		case object == nil || object.Claim.Pool == "":
			anywhere++
		default:
			ending[object.Claim.Pool]++
			nodes[object.Claim.Pool]++
		}
	}
	room := map[string]int64{}
	for pool, n := range nodes {
		room[pool] = max(1, n*j.settings.ExpirePercent/100) - ending[pool] - anywhere
	}
	return room
}

// unusable says why no instance can be launched from a class now, as far as the ledger knows; "" where it does not know
// any reason. A class it knows nothing of is usable.
func (j *diagnosis) unusable(class string) string {
	records := &j.view.Records
	for i := range records.Classes {
		problems := records.Classes[i].Status.Problems
		if at := slices.IndexFunc(problems, model.ClassProblem.Stops); records.Classes[i].Name == class && at >= 0 {
			return fmt.Sprintf("EC2NodeClass %s is not ready, so no replacement could be launched: %s: %s", class, problems[at].Condition, problems[at].Message)
		}
	}
	for _, refusal := range records.Notes.Refusals {
		if refusal.Class == class && records.NowUnix < refusal.UntilUnix {
			return fmt.Sprintf("EC2 refuses launches from EC2NodeClass %s, so no replacement could be launched: %s: %s", class, refusal.Reason, refusal.Message)
		}
	}
	for _, suspension := range records.Notes.ClassSuspensions {
		if suspension.Class == class && records.NowUnix < suspension.UntilUnix {
			return fmt.Sprintf("instances of EC2NodeClass %s do not join, so no replacement could join", class)
		}
	}
	return ""
}
