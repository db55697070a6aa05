package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Difference is how a plan made once more differs from the one that is recorded. Empty lists = in nothing of theirs.
type Difference struct {
	Identical bool            `json:"identical"` // to the last byte
	Claims    []ClaimChange   `json:"claims,omitempty"`
	Commands  []CommandChange `json:"commands,omitempty"`
	Pods      []PodChange     `json:"pods,omitempty"` // by key
	PriceWas  model.MicroUSD  `json:"priceWas"`       // per hour: of all claims to be launched; of the judge, once the plan is carried out
	PriceIs   model.MicroUSD  `json:"priceIs"`
}

// ClaimChange is a machine that only one of the plans has, or both otherwise.
type ClaimChange struct {
	Was *Bought `json:"was,omitempty"` // nil = added
	Is  *Bought `json:"is,omitempty"`  // nil = removed
}

// Bought is a planned machine in short.
type Bought struct {
	Name  string         `json:"name"`
	Pool  string         `json:"pool,omitempty"`
	Offer model.OfferKey `json:"offer"` // the cheapest acceptable
	Price model.MicroUSD `json:"price"` // of it, per hour
	Types int            `json:"types"` // instance types that would do
	Pods  int            `json:"pods"`
}

// CommandChange is a command that only one of the plans has, or both otherwise.
type CommandChange struct {
	Nodes []string `json:"nodes"`
	Was   *Given   `json:"was,omitempty"` // nil = added
	Is    *Given   `json:"is,omitempty"`  // nil = removed
}

// Given is a planned command in short.
type Given struct {
	Reason       string         `json:"reason"`
	Replacements []Bought       `json:"replacements,omitempty"`
	PodsMoved    int            `json:"podsMoved"`
	Savings      model.MicroUSD `json:"savings"` // per hour
}

// PodChange is a pod that the plans give different places.
type PodChange struct {
	Pod string `json:"pod"`           // namespace/name
	Was string `json:"was,omitempty"` // a node or claim; empty = none
	Is  string `json:"is,omitempty"`
}

// Differ compares two plans of one question. Claims are the same where their names are, or else where they share their first pod.
func Differ(was, is *model.Plan) Difference {
	out := Difference{Identical: Identical(was, is), PriceWas: was.Price, PriceIs: is.Price}
	if out.Identical {
		return out
	}
	names := map[string]string{} // of claims that are the same, as they are now by what they were
	matched := make([]bool, len(is.Claims))
	match := func(alike func(a, b *model.PlannedClaim) bool) {
		for i := range was.Claims {
			a := &was.Claims[i]
			if _, known := names[a.Name]; known {
				continue
			}
			for j := range is.Claims {
				if !matched[j] && alike(a, &is.Claims[j]) {
					names[a.Name], matched[j] = is.Claims[j].Name, true
					out.claim(a, &is.Claims[j])
					break
				}
			}
		}
	}
	match(func(a, b *model.PlannedClaim) bool { return a.Name == b.Name })
	match(func(a, b *model.PlannedClaim) bool {
		return a.Pool == b.Pool && len(a.Pods) > 0 && len(b.Pods) > 0 && a.Pods[0] == b.Pods[0]
	})
	for i := range was.Claims {
		if _, known := names[was.Claims[i].Name]; !known {
			out.claim(&was.Claims[i], nil)
		}
	}
	for j := range is.Claims {
		if !matched[j] {
			out.claim(nil, &is.Claims[j])
		}
	}
	out.pods(placesOf(was), placesOf(is), names)
	return out
}

// claim notes a claim of either plan where it is not the same in both.
func (d *Difference) claim(was, is *model.PlannedClaim) {
	if was == nil || is == nil || !sameClaim(was, is) {
		d.Claims = append(d.Claims, ClaimChange{bought(was), bought(is)})
	}
}

// sameClaim reports whether two claims are the same but for their names.
func sameClaim(a, b *model.PlannedClaim) bool {
	one, other := *a, *b
	one.Name, other.Name = "", ""
	return Identical(one, other)
}

func bought(c *model.PlannedClaim) *Bought {
	if c == nil {
		return nil
	}
	return &Bought{Name: c.Name, Pool: c.Pool, Offer: c.Offer, Price: c.Price, Types: len(c.InstanceTypes), Pods: len(c.Pods)}
}

func placesOf(plan *model.Plan) map[string]string {
	out := map[string]string{}
	for i := range plan.Claims {
		for _, pod := range plan.Claims[i].Pods {
			out[pod.Key()] = plan.Claims[i].Name
		}
	}
	for i := range plan.Nominations {
		for _, pod := range plan.Nominations[i].Pods {
			out[pod.Key()] = plan.Nominations[i].Node
		}
	}
	return out
}

// pods notes those that do not go where they went.
func (d *Difference) pods(was, is map[string]string, names map[string]string) {
	for key, place := range was { // sorted below
		if is[key] != place && (names[place] == "" || is[key] != names[place]) {
			d.Pods = append(d.Pods, PodChange{key, place, is[key]})
		}
	}
	for key, place := range is {
		if _, known := was[key]; !known {
			d.Pods = append(d.Pods, PodChange{key, "", place})
		}
	}
	slices.SortFunc(d.Pods, func(a, b PodChange) int { return cmp.Compare(a.Pod, b.Pod) })
}

// DifferDisrupt compares two plans about giving back. Commands are the same where they give back the same nodes.
func DifferDisrupt(was, is *model.DisruptPlan) Difference {
	out := Difference{Identical: Identical(was, is), PriceWas: was.PriceAfter, PriceIs: is.PriceAfter}
	if out.Identical {
		return out
	}
	nodes := func(c *model.PlannedCommand) string { return strings.Join(c.Nodes, " ") }
	now := map[string]*model.PlannedCommand{}
	for i := range is.Commands {
		now[nodes(&is.Commands[i])] = &is.Commands[i]
	}
	before := map[string]bool{}
	for i := range was.Commands {
		a := &was.Commands[i]
		b := now[nodes(a)]
		before[nodes(a)] = true
		if b == nil || !Identical(a, b) {
			out.Commands = append(out.Commands, CommandChange{a.Nodes, given(a), given(b)})
		}
	}
	for i := range is.Commands {
		if b := &is.Commands[i]; !before[nodes(b)] {
			out.Commands = append(out.Commands, CommandChange{b.Nodes, nil, given(b)})
		}
	}
	return out
}

func given(c *model.PlannedCommand) *Given {
	if c == nil {
		return nil
	}
	out := &Given{Reason: c.Reason, PodsMoved: c.PodsMoved, Savings: c.Savings}
	for i := range c.Replacements {
		out.Replacements = append(out.Replacements, *bought(&c.Replacements[i]))
	}
	return out
}
