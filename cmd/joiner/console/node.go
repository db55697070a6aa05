package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
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
		text := taint.Key
		if taint.Value != "" {
			text += "=" + taint.Value
		}
		n.Taints = append(n.Taints, text+":"+taint.Effect)
	}
	for _, condition := range node.Conditions {
		n.Conditions = append(n.Conditions, fmt.Sprintf("%s is %s", condition.Type, condition.Status))
	}
}
