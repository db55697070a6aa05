package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// InstanceLifetime is one instance from its launch to its end.
type InstanceLifetime struct {
	Claim        string         `json:"claim"`
	Pool         string         `json:"nodePool,omitempty"`
	InstanceID   string         `json:"instanceId,omitempty"`
	ProviderID   string         `json:"providerID,omitempty"`
	Node         string         `json:"node,omitempty"`
	InstanceType string         `json:"instanceType,omitempty"`
	Zone         string         `json:"zone,omitempty"`
	CapacityType string         `json:"capacityType,omitempty"`
	Price        model.MicroUSD `json:"pricePerHour"` // what it was launched at
	Decision     string         `json:"decision,omitempty"`
	LaunchedUnix int64          `json:"launched"`
	EndUnix      int64          `json:"ended,omitempty"` // when it was asked to end or was found gone, from when it costs nothing; 0 = it runs
	Command      string         `json:"command,omitempty"`
	Reason       string         `json:"reason,omitempty"` // why it ended, one of the Ended… codes
}

// InstanceLifetimes returns the instances that records and the ledger name, by time of launch, then by claim. Of an instance that is named more
// than once its removal counts before the ledger, and the ledger before the decision that launched it.
func InstanceLifetimes(decisions []model.Decision, removals []model.Removal, claims []model.Claim) []InstanceLifetime {
	known := map[string]InstanceLifetime{} // by claim and instance
	put := func(c *model.Claim) {
		if c.InstanceID == "" && c.ProviderID == "" || c.LaunchedUnix == 0 {
			return // there was no instance
		}
		known[c.Name+" "+cmp.Or(c.InstanceID, c.ProviderID)] = lifeOf(c)
	}
	for i := range decisions {
		for r := range decisions[i].Rounds {
			for k := range decisions[i].Rounds[r].Launched {
				put(&decisions[i].Rounds[r].Launched[k])
			}
		}
	}
	for i := range claims {
		put(&claims[i])
	}
	for i := range removals {
		put(ended(&removals[i]))
	}
	out := make([]InstanceLifetime, 0, len(known))
	for _, life := range known {
		out = append(out, life)
	}
	slices.SortFunc(out, func(a, b InstanceLifetime) int {
		return cmp.Or(cmp.Compare(a.LaunchedUnix, b.LaunchedUnix), strings.Compare(a.Claim, b.Claim), strings.Compare(a.InstanceID, b.InstanceID))
	})
	return out
}

// ended returns the claim of a removal with all that the record says of its end.
func ended(r *model.Removal) *model.Claim {
	claim := r.Claim
	claim.State, claim.GoneUnix = model.Gone, cmp.Or(r.GoneUnix, claim.GoneUnix)
	claim.Command, claim.FailureCode = cmp.Or(r.Command, claim.Command), cmp.Or(r.Reason, claim.FailureCode)
	claim.Price, claim.NodeName = cmp.Or(claim.Price, r.PricePerHour), cmp.Or(claim.NodeName, r.Node)
	return &claim
}

func lifeOf(c *model.Claim) InstanceLifetime {
	life := InstanceLifetime{
		Claim: c.Name, Pool: c.Pool, InstanceID: c.InstanceID, ProviderID: c.ProviderID, Node: c.NodeName, InstanceType: c.InstanceType, Zone: c.Zone,
		CapacityType: c.CapacityType, Price: c.Price, Decision: c.Decision, LaunchedUnix: c.LaunchedUnix, Command: c.Command,
	}
	if c.State == model.Gone {
		life.EndUnix, life.Reason = c.GoneUnix, c.FailureCode
	}
	if c.Drain != nil && c.Drain.EndUnix != 0 { // EC2 takes its time to say so
		life.EndUnix, life.Reason = c.Drain.EndUnix, c.FailureCode
	}
	return life
}

// seconds returns for how long the instance ran between two times.
func (l *InstanceLifetime) seconds(fromUnix, toUnix int64) int64 {
	end := toUnix
	if l.EndUnix != 0 {
		end = min(end, l.EndUnix)
	}
	return max(0, end-max(fromUnix, l.LaunchedUnix))
}

// cost returns what the instance cost between two times.
func (l *InstanceLifetime) cost(fromUnix, toUnix int64) model.MicroUSD {
	return over(l.Price, l.seconds(fromUnix, toUnix))
}

// over returns what a price per hour comes to in some seconds, to the nearest millionth of a dollar.
func over(perHour model.MicroUSD, seconds int64) model.MicroUSD {
	total := int64(perHour) * seconds
	if total < 0 {
		return -over(-perHour, seconds)
	}
	return model.MicroUSD((total + 1800) / 3600)
}
