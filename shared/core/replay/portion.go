package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/model"
)

// portion leaves in the input what one plan takes of the pods that wait. Where that is not all of them, pods that a claim on its way was
// launched for are on it, as if they were bound: nothing is planned twice, and what they hold counts.
func (p *Provision) portion(waits []int) {
	q := p.input
	p.taken = fairshare.Select(p.Input.Snapshot, waits, q.Most, q.Served, q.PlannedTo)
	if len(p.taken.Later) > 0 {
		p.Input.Snapshot, waits = BindToClaims(p.Input.Snapshot, waits, q.Claims)
		p.Input.Homed = true
		p.taken = fairshare.Select(p.Input.Snapshot, waits, q.Most, q.Served, q.PlannedTo)
	}
	p.Input.Pending, p.Input.Later = p.taken.Pods, p.taken.Later
}

// Priority returns a pod's priority where it asks for capacity.
func (p *Provision) Priority(ref model.PodRef) (priority int32, asks bool) {
	pod := p.pod(ref)
	if pod == nil {
		return 0, false
	}
	return p.Input.Snapshot.PriorityOf(pod), true
}

// Selection says what the question's bound left in the input of the pods that wait.
func (p *Provision) Selection() fairshare.Selection { return p.taken }

// ServedNamespaces returns the namespaces with pods that wait that something was launched for lately, the one that waits longest first, as a question
// says them; nil where pods of one namespace wait alone.
func ServedNamespaces(seen *model.Snapshot, waits []int, claims []model.Claim) []string {
	last := map[string]int64{}
	for _, i := range waits {
		last[seen.Pods[i].Namespace] = 0
	}
	if len(last) < 2 {
		return nil
	}
	for i := range claims {
		for _, pod := range claims[i].Pods {
			if at, waits := last[pod.Namespace]; waits {
				last[pod.Namespace] = max(at, claims[i].CreatedUnix)
			}
		}
	}
	maps.DeleteFunc(last, func(_ string, at int64) bool { return at == 0 })
	return slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(a, b)) })
}

// BindToClaims returns the snapshot with the pods that wait for claims on their way bound to those, and the pods that wait for none. A claim is
// on its way until its node is initialized: then kube-scheduler has bound its pods, or something keeps them from it.
func BindToClaims(seen *model.Snapshot, waits []int, claims []model.Claim) (*model.Snapshot, []int) {
	nodes := make(map[string]*model.Node, len(seen.Nodes)) // by provider id
	for i := range seen.Nodes {
		if node := &seen.Nodes[i]; node.ProviderID != "" {
			nodes[node.ProviderID] = node
		}
	}
	homes := map[string]string{} // names of claims or nodes by the UIDs of pods
	for i := range claims {
		claim := &claims[i]
		if !claim.Live() || claim.Ending() || claim.State == model.Initialized {
			continue
		}
		name := claim.Name
		if node := nodes[claim.ProviderID]; node != nil {
			if node.Initialized() || node.DeletedUnix != 0 || IsDisrupted(node) {
				continue
			}
			name = node.Name
		}
		for _, pod := range claim.Pods {
			if pod.UID != "" && (homes[pod.UID] == "" || name < homes[pod.UID]) {
				homes[pod.UID] = name
			}
		}
	}
	if len(homes) == 0 {
		return seen, waits
	}
	out := *seen
	out.Pods = slices.Clone(seen.Pods)
	var left []int
	for _, i := range waits {
		if home := homes[out.Pods[i].UID]; home != "" {
			out.Pods[i].NodeName = home
		} else {
			left = append(left, i)
		}
	}
	return &out, left
}
