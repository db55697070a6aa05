package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

const mostClaims = 60 // rows of NodeClaims

// Adoption writes for people what becomes of a cluster's NodeClaims; applied says that it was done and not only looked at.
func Adoption(out io.Writer, o *adopt.Outcome, applied bool) error {
	t := newTable(out)
	a := &adoption{t, o, applied}
	a.summary()
	a.running()
	a.rows()
	a.refused()
	a.unclaimed()
	a.end()
	_, err := io.WriteString(out, t.text.String())
	return err
}

type adoption struct {
	*table
	o       *adopt.Outcome
	applied bool
}

// counted is how many NodeClaims there are of a kind, and what those cost per hour.
type counted struct {
	words string
	n     int
	price model.MicroUSD
}

// counts sorts NodeClaims by what becomes of them, or became.
func (a *adoption) counts() []counted {
	kinds := []counted{{words: "to adopt"}, {words: "to finish"}, {words: "ours already"}, {words: "not launched yet"}, {words: "refused"}, {words: "failed"}}
	if a.applied {
		kinds[0].words, kinds[1].words = "adopted", "finished"
	}
	at := map[lifecycle.AdoptionVerdict]int{lifecycle.Take: 0, lifecycle.Resume: 1, lifecycle.Ours: 2, lifecycle.Await: 3, lifecycle.Refuse: 4}
	for i := range a.o.Items {
		item := &a.o.Items[i]
		kind := &kinds[at[item.Verdict]]
		if item.Problem != "" || a.applied && at[item.Verdict] < 2 && len(item.Done) == 0 {
			kind = &kinds[5]
		}
		kind.n, kind.price = kind.n+1, kind.price+item.Claim.Price
	}
	return kinds
}

func (a *adoption) summary() {
	kinds := a.counts()
	var parts []string
	for _, kind := range kinds {
		if kind.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", kind.n, kind.words))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to adopt"}
	}
	a.wrapped("", "  ", fmt.Sprintf("Cluster %s, %s: %s.", a.o.Cluster, explain.Many(len(a.o.Items), "NodeClaim"), strings.Join(parts, ", ")))
	if price := kinds[0].price; price > 0 {
		a.line("Nodes %s cost %s per hour, %s per month.", strings.Replace(kinds[0].words, "to adopt", "to be adopted", 1), dollars(price.USD()), dollarsRound(price.USD()*hoursPerMonth))
	}
	if a.o.Others > 0 {
		a.line("%s without a NodePool, such as those of managed node groups, left alone.",
			explain.Many(a.o.Others, "node"))
	}
}

func (a *adoption) running() {
	if len(a.o.Karpenter) == 0 {
		return
	}
	a.line("")
	a.line("KARPENTER SEEMS TO RUN")
	for _, why := range a.o.Karpenter {
		a.wrapped("  ", "    ", why)
	}
}

// rows writes a line for each NodeClaim that is ours or is to be.
func (a *adoption) rows() {
	rows := [][]string{{"NODECLAIM", "POOL", "INSTANCE", "TYPE", "ZONE", "$/HOUR", "STATE", "WHAT"}}
	more := 0
	for i := range a.o.Items {
		item := &a.o.Items[i]
		if item.Verdict == lifecycle.Await || item.Verdict == lifecycle.Refuse {
			continue
		}
		if len(rows) > mostClaims {
			more++
			continue
		}
		c := &item.Claim
		cost := ""
		if c.Price > 0 {
			cost = price(c.Price)
		}
		rows = append(rows, []string{
			short(item.Name, 32), short(c.Pool, 16), c.InstanceID, short(strings.TrimSpace(c.InstanceType+" "+c.CapacityType), 26), c.Zone, cost, string(c.State), a.what(item),
		})
	}
	if len(rows) > 1 {
		a.line("")
		a.grid(rows, ".....r..")
	}
	if more > 0 {
		a.line("and %s more; -o json has them all", explain.Many(more, "NodeClaim"))
	}
	for i := range a.o.Items {
		item := &a.o.Items[i]
		for _, note := range item.Notes {
			a.wrapped("  ", "    ", item.Name+": "+note)
		}
		if item.Problem != "" {
			a.wrapped("  ", "    ", item.Name+": FAILED: "+item.Problem)
		}
	}
}

// what says in a few words what is or was done about a NodeClaim.
func (a *adoption) what(item *adopt.Item) string {
	switch {
	case item.Problem != "":
		return "failed"
	case item.Verdict == lifecycle.Ours:
		return "ours"
	case !a.applied:
		return string(item.Verdict)
	case item.Verdict == lifecycle.Resume:
		return "mended"
	case len(item.Done) == 0:
		return "not reached"
	}
	return "adopted"
}

func (a *adoption) refused() {
	var of []*adopt.Item
	for i := range a.o.Items {
		if v := a.o.Items[i].Verdict; v == lifecycle.Await || v == lifecycle.Refuse {
			of = append(of, &a.o.Items[i])
		}
	}
	if len(of) == 0 {
		return
	}
	a.line("")
	a.line("NOT ADOPTED")
	for i, item := range of {
		if i == mostReasons {
			a.line("and %s more; -o json has them all", explain.Many(len(of)-i, "NodeClaim"))
			return
		}
		a.line("%s", item.Name)
		a.wrapped("  ", "    ", item.Code+": "+item.Message)
		a.wrapped("    Remedy: ", "      ", item.Remedy)
	}
}

func (a *adoption) unclaimed() {
	if len(a.o.Unclaimed) == 0 {
		return
	}
	a.line("")
	a.line("INSTANCES WITHOUT A NODECLAIM")
	for i := range a.o.Unclaimed {
		u := &a.o.Unclaimed[i]
		what := fmt.Sprintf("%s  %s in %s, NodePool %s, %s", u.Instance.ID, u.Instance.Type, u.Instance.Zone, u.Instance.Tags[model.LabelNodePool], u.Instance.State)
		if u.Node != "" {
			what += ", node " + u.Node
		}
		a.line("%s", what)
	}
	a.wrapped("    Remedy: ", "      ", "no controller terminates these: if they are not needed, drain their nodes and aws ec2 terminate-instances --instance-ids ...")
}

func (a *adoption) end() {
	kinds := a.counts()
	switch {
	case a.applied || kinds[0].n+kinds[1].n == 0:
	case len(a.o.Karpenter) > 0:
		a.line("")
		a.line("Nothing was written. Stop Karpenter, then run it again with --yes.")
	default:
		a.line("")
		a.line("Nothing was written. Run it again with --yes.")
	}
}

// What AdoptionJSON writes. Lists are never null.
type (
	adoptionJSON struct {
		Cluster    string          `json:"cluster"`
		Applied    bool            `json:"applied"`
		Karpenter  []string        `json:"karpenter"` // why Karpenter is taken to run
		NodeClaims []adoptedJSON   `json:"nodeClaims"`
		Unclaimed  []unclaimedJSON `json:"unclaimed"`
		OtherNodes int             `json:"otherNodes"`
		Warnings   []string        `json:"warnings"`
	}
	adoptedJSON struct {
		Name         string         `json:"name"`
		Verdict      string         `json:"verdict"` // adopt, mend, ours, wait, refuse
		NodePool     string         `json:"nodePool"`
		NodeClass    string         `json:"nodeClass"`
		Node         string         `json:"node"`
		InstanceID   string         `json:"instanceId"`
		InstanceType string         `json:"instanceType"`
		Zone         string         `json:"zone"`
		CapacityType string         `json:"capacityType"`
		State        string         `json:"state"`                // of the claim
		Drift        string         `json:"drift"`                // reason
		Price        model.MicroUSD `json:"priceMicroUSDPerHour"` // 0 = not known
		PricePerHour float64        `json:"pricePerHour"`         // dollars, as earlier versions wrote it
		Code         string         `json:"code"`
		Message      string         `json:"message"`
		Remedy       string         `json:"remedy"`
		Notes        []string       `json:"notes"`
		Due          []string       `json:"due"`  // record, tag, stamp, untaint
		Done         []string       `json:"done"` // of them
		Problem      string         `json:"problem"`
	}
	unclaimedJSON struct {
		InstanceID   string `json:"instanceId"`
		InstanceType string `json:"instanceType"`
		Zone         string `json:"zone"`
		State        string `json:"state"`
		NodePool     string `json:"nodePool"`
		Node         string `json:"node"`
	}
)

// AdoptionJSON writes the same for programs.
func AdoptionJSON(out io.Writer, o *adopt.Outcome, applied bool) error {
	written := adoptionJSON{
		Cluster: o.Cluster, Applied: applied, Karpenter: list(o.Karpenter), NodeClaims: []adoptedJSON{}, Unclaimed: []unclaimedJSON{},
		OtherNodes: o.Others, Warnings: list(o.Warnings),
	}
	for i := range o.Items {
		item := &o.Items[i]
		c := &item.Claim
		written.NodeClaims = append(written.NodeClaims, adoptedJSON{
			Name: item.Name, Verdict: string(item.Verdict), NodePool: c.Pool, NodeClass: c.Class, Node: c.NodeName, InstanceID: c.InstanceID,
			InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, State: string(c.State), Drift: c.Drift, Price: c.Price, PricePerHour: c.Price.USD(),
			Code: item.Code, Message: item.Message, Remedy: item.Remedy, Notes: list(item.Notes), Due: due(item), Done: list(item.Done), Problem: item.Problem,
		})
	}
	for i := range o.Unclaimed {
		u := &o.Unclaimed[i]
		written.Unclaimed = append(written.Unclaimed, unclaimedJSON{
			u.Instance.ID, u.Instance.Type, u.Instance.Zone, u.Instance.State, u.Instance.Tags[model.LabelNodePool], u.Node,
		})
	}
	return Indented(out, written)
}

// due are the effects an item asks for, in their order.
func due(item *adopt.Item) []string {
	out := []string{}
	for _, effect := range []struct {
		name string
		asks bool
	}{
		{adopt.EffectRecord, item.Verdict == lifecycle.Take}, {adopt.EffectTag, item.Tag}, {adopt.EffectStamp, item.Stamp}, {adopt.EffectUntaint, item.Untaint},
	} {
		if effect.asks {
			out = append(out, effect.name)
		}
	}
	return out
}

func list(of []string) []string {
	if of == nil {
		return []string{}
	}
	return of
}
