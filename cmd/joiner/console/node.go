package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// NodeDetail is a node as it is opened. No list is nil.
type NodeDetail struct {
	Row        Row                `json:"row"`
	Claim      string             `json:"claim"`
	ClaimState string             `json:"claimState"`
	Instance   string             `json:"instance"`
	Image      string             `json:"image"`
	Decision   string             `json:"decision"` // that launched it
	Command    string             `json:"command"`  // that disrupts it
	Drift      string             `json:"drift"`
	Taints     []string           `json:"taints"`
	Conditions []string           `json:"conditions"` // that are not as on a healthy node
	Times      []Moment           `json:"times"`      // of its life, oldest first
	Why        string             `json:"why"`        // it is there, stays, or goes: in a sentence
	Launch     *explain.Launch    `json:"birth"`      // why it was launched; null = not known
	Stays      []model.KeptReason `json:"stays"`      // what spoke against disrupting it in the last dry run
	Pods       []PodLine          `json:"pods"`       // most expensive first
}

// Moment is when something happened.
type Moment struct {
	What   string `json:"what"`
	AtUnix int64  `json:"at"`
}

// PodLine is a pod on a node.
type PodLine struct {
	Name   string `json:"name"` // namespace/name
	Owner  string `json:"owner"`
	CPU    int64  `json:"cpu"`    // milli-CPU
	Memory int64  `json:"memory"` // MiB
	Daemon bool   `json:"daemon"`
}

// DetailOfNode returns the node of a row, by what is recorded of it: each of the facts may be absent.
func DetailOfNode(c *Cluster, row Row, facts explain.NodeFacts) NodeDetail {
	answer := explain.Node(c.State, row.Name, explain.Find(c.State, row.Name), facts)
	out := NodeDetail{Row: row, Why: answer.Line(), Launch: answer.Launch, Taints: []string{}, Conditions: []string{}, Times: []Moment{}, Stays: answer.Stays, Pods: []PodLine{}}
	if out.Stays == nil {
		out.Stays = []model.KeptReason{}
	}
	claims, snapshot := c.ledger().Claims, c.snapshot()
	for i := range claims {
		if claim := &claims[i]; claim.Name == row.ID {
			out.claim(claim)
		}
	}
	for i := range snapshot.Nodes {
		if node := &snapshot.Nodes[i]; node.Name == row.Name {
			out.node(node)
		}
	}
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if pod.NodeName != row.Name || pod.Terminal() || pod.Buffer != "" {
			continue
		}
		shape := snapshot.ShapeOf(pod)
		out.Pods = append(out.Pods, PodLine{
			Name: pod.Key(), Owner: strings.TrimSpace(shape.OwnerKind + " " + shape.OwnerName), Daemon: shape.OwnerKind == "DaemonSet" || shape.OwnerKind == "Node",
			CPU: shape.Requests[model.CPU], Memory: shape.Requests[model.Memory] / mebibyte,
		})
	}
	slices.SortFunc(out.Pods, func(a, b PodLine) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (n *NodeDetail) claim(claim *model.Claim) {
	n.Claim, n.ClaimState, n.Instance, n.Image = claim.Name, string(claim.State), claim.InstanceID, claim.ImageID
	n.Decision, n.Command = claim.Decision, claim.Command
	n.Drift = strings.TrimSuffix(claim.Drift+": "+claim.DriftMessage, ": ")
	for _, moment := range []Moment{
		{"requested", claim.CreatedUnix}, {"launched", claim.LaunchedUnix}, {"registered", claim.RegisteredUnix}, {"initialized", claim.InitializedUnix},
		{"drifted", claim.DriftUnix},
	} {
		if moment.AtUnix > 0 {
			n.Times = append(n.Times, moment)
		}
	}
	if claim.NodeName == "" {
		for _, pod := range claim.Pods {
			n.Pods = append(n.Pods, PodLine{Name: pod.Key(), Owner: "planned onto it"})
		}
	}
}

func (n *NodeDetail) node(node *model.Node) {
	for _, taint := range node.Taints {
		n.Taints = append(n.Taints, taintText(taint))
	}
	for _, condition := range node.Conditions {
		n.Conditions = append(n.Conditions, fmt.Sprintf("%s is %s", condition.Type, condition.Status))
	}
}

// PoolDetail is a NodePool as it is opened. No list is nil.
type PoolDetail struct {
	Name             string          `json:"name"`
	Class            string          `json:"class"` // kind and name
	Weight           int32           `json:"weight"`
	Replicas         *int64          `json:"replicas"` // of a static pool; null = it is none
	Nodes            int             `json:"nodes"`    // those that are on their way included
	Price            model.MicroUSD  `json:"price"`    // per hour
	Policy           string          `json:"policy"`
	ConsolidateAfter string          `json:"consolidateAfter"`
	ExpireAfter      string          `json:"expireAfter"`
	Requirements     []string        `json:"requirements"`
	Taints           []string        `json:"taints"`
	Limits           []PoolLimit     `json:"limits"`
	Budgets          []string        `json:"budgets"` // as they are written, a line each
	Allowed          []PoolAllowance `json:"allowed"`
	Conditions       []PoolCondition `json:"conditions"`
}

// PoolLimit is a limit of a NodePool and what its nodes have of it.
type PoolLimit struct {
	Resource string  `json:"resource"`
	Used     string  `json:"used"`
	Limit    string  `json:"limit"`
	Share    float64 `json:"share"` // of the limit that is used
}

// PoolAllowance is what the budgets of a NodePool allow for some reasons.
type PoolAllowance struct {
	Reasons []string `json:"reasons"`
	Most    int      `json:"most"` // nodes that may be disrupted at once; -1 = all of them
	Busy    int      `json:"busy"` // that are disrupted now, or are not ready
	Of      int      `json:"of"`   // nodes that percentages are of
	Until   int64    `json:"until,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// PoolCondition is a condition as the status of the NodePool has it.
type PoolCondition struct {
	Type    string `json:"type"`
	Met     bool   `json:"met"`
	Message string `json:"message"`
}

// DetailOfPool returns a NodePool with what its limits and budgets leave.
func DetailOfPool(c *Cluster, pool *model.Pool, rows []Row) PoolDetail {
	out := PoolDetail{
		Name: pool.Name, Class: pool.Template.ClassKind + " " + pool.Template.ClassName, Weight: pool.Weight,
		Replicas: pool.Replicas, Policy: pool.Disruption.Policy,
		ConsolidateAfter: after(pool.Disruption.ConsolidateAfterSeconds),
		ExpireAfter:      after(pool.Template.ExpireAfterSeconds),
		Requirements:     []string{}, Taints: []string{},
		Limits: limitsOf(pool, c.State.Ask.Usage[pool.Name]), Budgets: []string{}, Conditions: conditionsOf(c, pool),
	}
	for i := range rows {
		if rows[i].Pool == pool.Name {
			out.Nodes++
			out.Price += rows[i].Price
		}
	}
	for _, r := range pool.Template.Requirements {
		out.Requirements = append(out.Requirements, requirementText(r))
	}
	for _, taint := range pool.Template.Taints {
		out.Taints = append(out.Taints, taintText(taint))
	}
	for _, b := range pool.Disruption.Budgets {
		out.Budgets = append(out.Budgets, budgetText(b))
	}
	out.Allowed = allowances(c, pool)
	return out
}

// after writes a time of a spec, of which nil is Never.
func after(seconds *int64) string {
	if seconds == nil {
		return "Never"
	}
	return explain.Duration(time.Duration(*seconds) * time.Second)
}

func requirementText(r model.Requirement) string {
	set, err := requirement.Of(r)
	if err != nil {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, " ")))
	}
	return set.Text(r.Key)
}

func taintText(t model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

func budgetText(b model.Budget) string {
	text := "nodes " + b.Nodes
	if len(b.Reasons) > 0 {
		text += " for " + strings.Join(b.Reasons, ", ")
	}
	if b.Schedule != "" {
		text += fmt.Sprintf(", at %q %s for %s", b.Schedule, cmp.Or(b.TimeZone, "UTC"), after(&b.DurationSeconds))
	}
	return text
}

func limitsOf(pool *model.Pool, used model.Resources) []PoolLimit {
	out := []PoolLimit{}
	for _, name := range resource.Names(pool.Limits) {
		limit := pool.Limits[name]
		share := 1.0
		if limit > 0 {
			share = float64(used[name]) / float64(limit)
		}
		out = append(out, PoolLimit{name, amount(name, used[name]), amount(name, limit), share})
	}
	return out
}

// allowances returns what the budgets leave, for reasons for which they leave the same together: of each the budget
// that leaves the least.
func allowances(c *Cluster, pool *model.Pool) []PoolAllowance {
	of, counts := counted(c, pool.Name)
	byReason := budget.ByReason(pool)
	out := []PoolAllowance{}
	for _, reason := range model.DisruptionReasons {
		if reason.Budget != reason.Name {
			continue
		}
		bounds, until, err := budget.Bounds(pool.Disruption.Budgets, reason.Name, of, c.now())
		bound, busy := budget.Tightest(bounds, counts, byReason)
		a := PoolAllowance{Reasons: []string{reason.Name}, Most: bound.Nodes, Busy: busy, Of: of, Until: until}
		switch {
		case err != nil:
			a.Most, a.Problem = 0, err.Error()
		case bound.Nodes == budget.Unlimited:
			a.Most = -1
		}
		same := func(o PoolAllowance) bool {
			return o.Most == a.Most && o.Busy == a.Busy && o.Until == a.Until && o.Problem == a.Problem
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Reasons = append(out[i].Reasons, reason.Name)
			continue
		}
		out = append(out, a)
	}
	return out
}

// counted returns how many nodes of a pool percentages are of, and those that its budgets count. Without an
// installation there may be nodes without a claim.
func counted(c *Cluster, pool string) (of int, busy budget.Counts) {
	claims := map[string]*model.Claim{}
	ledger := c.ledger()
	for i := range ledger.Claims {
		claims[ledger.Claims[i].NodeName] = &ledger.Claims[i]
	}
	busy = budget.Counts{}
	nodes := c.snapshot().Nodes
	for i := range nodes {
		node := &nodes[i]
		if node.Pool() != pool {
			continue
		}
		claim := claims[node.Name]
		if budget.Measured(node, claim) {
			of++
		}
		if budget.Busy(node, claim, claim != nil && claim.Command != "") {
			busy[budget.CauseOf(claim, ledger.Commands)]++
		}
	}
	return of, busy
}

// conditionsOf returns the conditions of a NodePool by what validation and its class say.
func conditionsOf(c *Cluster, pool *model.Pool) []PoolCondition {
	class := c.State.Ask.ClassProblems[pool.Template.ClassName]
	valid := strings.Join(pool.Invalid, " ")
	out := []PoolCondition{
		{"ValidationSucceeded", valid == "", valid},
		{"NodeClassReady", class == "", class},
		{"Ready", valid == "" && class == "", ""},
	}
	for _, stop := range c.ledger().StopsInForce() {
		if stop.Scope == model.StopPool && stop.Pool == pool.Name {
			out = append(out, PoolCondition{"Voluntary disruption", false, cmp.Or(stop.Why, "it is stopped")})
		}
	}
	return out
}
