package explore

import (
	"crypto/sha256"
	"fmt"
	"maps"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// fingerprint is a digest of the world's objects, whatever the order in which they came to be what they are: the exclusive
// or of one digest for each.
type fingerprint struct {
	parts map[string][32]byte
	whole [32]byte
}

func newFingerprint() fingerprint { return fingerprint{parts: map[string][32]byte{}} }

func (f *fingerprint) clone() fingerprint { return fingerprint{maps.Clone(f.parts), f.whole} }

func (f *fingerprint) sum() [32]byte { return f.whole }

// put notes what an object is now.
func (f *fingerprint) put(key, value string) {
	next := sha256.Sum256([]byte(key + "\x00" + value))
	before := f.parts[key]
	for i := range next {
		f.whole[i] ^= before[i] ^ next[i]
	}
	f.parts[key] = next
}

// enter takes in a fact. fmt writes maps in order of their keys.
func (f *fingerprint) enter(fact world.Fact) {
	switch fact := fact.(type) {
	case world.LeaseTaken:
		f.put("lease/"+fact.Fence.Lease, fmt.Sprintf("%+v", fact.Fence))
	case world.LeaseReleased:
		f.put("lease/"+fact.Fence.Lease, "free")
	case world.LedgerWritten:
		for _, c := range fact.Claims {
			if c.After != nil {
				f.put("claim/"+c.After.Name, fmt.Sprintf("%+v", *c.After))
			} else {
				f.put("claim/"+c.Before.Name, "")
			}
		}
		for _, i := range fact.Intents {
			f.put("intent/"+i.ID, fmt.Sprintf("%s %d %d", i.State, i.Attempt, i.DueUnix))
		}
		for _, u := range fact.Usage {
			f.put("usage/"+u.Pool, fmt.Sprint(u.Reserved))
		}
		for _, m := range fact.Unavailable {
			f.put(fmt.Sprintf("mark/%v", m.About()), fmt.Sprintf("%+v", m))
		}
		for _, m := range fact.Cleared {
			f.put(fmt.Sprintf("mark/%v", m.About()), "")
		}
		if len(fact.Claims)+len(fact.Intents)+len(fact.Usage)+len(fact.Unavailable)+len(fact.Cleared) == 0 {
			f.unkept("ledger/"+fact.Op, fmt.Sprint(fact.Fence))
		}
	case world.FleetCalled:
		f.put("call/"+fact.Intent, fmt.Sprintf("%v %s %v", fact.Errors, fact.Refused, fact.Instances))
	case world.InstanceStarted:
		f.put("machine/"+fact.Instance.ID, fact.Instance.Tags["joiner.sh/intent"])
	case world.InstanceEnded:
		f.put("machine/"+fact.ID, "ended")
	case world.ObjectWritten:
		value := fact.Verb
		switch {
		case fact.Verb == "gone":
		case fact.Node != nil:
			value = fmt.Sprintf("%s %v %v %v", fact.UID, fact.Node.Labels, fact.Node.Taints, fact.Node.Ready)
		case fact.Claim != nil:
			value = fmt.Sprintf("%s %s %d", fact.UID, fact.Claim.State, fact.Claim.Version)
		case fact.Pod != nil:
			value = fmt.Sprintf("%s %s %v", fact.UID, fact.Pod.NodeName, fact.Pod.Unschedulable)
		}
		f.put(fact.Kind+"/"+fact.Name, value)
	}
}

// unkept notes a change of something whose value is not known here: every one makes another state.
func (f *fingerprint) unkept(key, value string) {
	before := f.parts[key]
	f.put(key, value+string(before[:]))
}
