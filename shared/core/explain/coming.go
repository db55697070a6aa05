package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// coming says what an instance on its way still waits for; role says what it is to the pod.
func coming(cluster *Cluster, claim *model.Claim, role string) *Cause {
	now := cluster.now()
	out := &Cause{Claim: claim.Name, Node: claim.NodeName}
	node := cluster.nodeOf(claim)
	switch {
	case claim.State == model.Intended:
		out.Code, out.Since = Launching, claim.CreatedUnix
		out.Message = fmt.Sprintf("waits for NodeClaim %s, which %s and was requested from EC2 %s ago; EC2's answer is not recorded yet", claim.Name, role, ago(claim.CreatedUnix, now))
		if now-claim.CreatedUnix > slowSeconds {
			out.Remedy = "none: the next resync asks EC2 for the result"
		}
	case node == nil:
		out.Code, out.Since = Joining, claim.LaunchedUnix
		out.Message = fmt.Sprintf("waits for NodeClaim %s (%s), which %s: the instance was launched %s ago and its node has not joined", claim.Name, boughtText(claim), role, ago(claim.LaunchedUnix, now))
		if claim.WaitMessage != "" {
			out.Message += ": " + claim.WaitMessage
		}
		out.Remedy = "wait: most join within a minute or two"
		if now-claim.LaunchedUnix > slowSeconds {
			join := cluster.Ask.Snapshot.WaitsOf(claim.Pool).JoinOr(joinSeconds)
			out.Remedy = fmt.Sprintf("check the instance's console output (aws ec2 get-console-output --latest --instance-id %s), its image, user data, role and security groups, and its route to the API server; it is terminated at %s",
				cmp.Or(claim.InstanceID, "ID"), stamp(claim.LaunchedUnix+join))
		}
	default:
		unready(node, claim, out)
		out.Message = fmt.Sprintf("waits for node %s, which %s and joined: %s", node.Name, role, out.Message)
	}
	return out
}

// unready says why a node that has joined is not initialized.
func unready(node *model.Node, claim *model.Claim, out *Cause) {
	out.Node, out.Since = node.Name, cmp.Or(claim.RegisteredUnix, node.CreatedUnix)
	var startup []string
	for _, taint := range node.Taints {
		if slices.ContainsFunc(claim.StartupTaints, func(t model.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect }) {
			startup = append(startup, text(taint))
		}
	}
	var missing []string
	for name, amount := range claim.Requests {
		if strings.Contains(name, "/") && amount > 0 && node.Allocatable[name] == 0 {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	switch {
	case !node.Ready:
		out.Code, out.Message = NodeNotReady, "it is not Ready yet"
		out.Remedy = "wait; if it stays so, check its conditions and its network plugin: kubectl describe node " + node.Name
		for _, c := range node.Conditions {
			if c.Type != "Ready" {
				out.Message += fmt.Sprintf(" (%s is %s)", c.Type, c.Status)
				break
			}
		}
	case len(startup) > 0:
		out.Code, out.Message = StartupTaint, "its startup taint "+strings.Join(startup, ", ")+" is still there"
		out.Remedy = "the controller that the taint is for removes it: check that its pod runs on the node"
	case len(missing) > 0:
		out.Code, out.Message = DeviceMissing, "its allocatable has no "+strings.Join(missing, ", ")+" yet"
		out.Remedy = "check that the device plugin runs on the node"
	case claim.WaitMessage != "":
		out.Code, out.Message = cmp.Or(claim.WaitReason, NodeNotReady), claim.WaitMessage
	default:
		out.Code, out.Message = FitsThere, "kube-scheduler binds the pod with its next try, within seconds"
	}
}

// boughtText says what instance a claim got.
func boughtText(claim *model.Claim) string {
	if claim.InstanceType == "" {
		return "its instance is unknown"
	}
	what := claim.InstanceType
	for _, part := range []string{claim.CapacityType, claim.InstanceID} {
		if part != "" {
			what += " " + part
		}
	}
	if claim.Zone != "" {
		what += " in " + claim.Zone
	}
	if claim.Price > 0 {
		what += fmt.Sprintf(", $%.4f per hour", claim.Price.USD())
	}
	return what
}

// stateText says how far a claim is.
func stateText(claim *model.Claim, now int64) string {
	switch claim.State {
	case model.Intended:
		return "which was requested from EC2 " + ago(claim.CreatedUnix, now) + " ago"
	case model.Launched:
		return "which was launched " + ago(claim.LaunchedUnix, now) + " ago and has not registered"
	case model.Registered:
		return "which has registered and is not ready yet"
	case model.Initialized:
		return "which is ready"
	}
	return "which is to be terminated, too"
}
