package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// StaticClaims returns up to n claims of a pool of fixed size: instances for no pod in particular, each the cheapest
// the pool may be bought as. There are fewer where its limits leave no room for more, and none where it cannot be used
// at all.
func StaticClaims(in Input, name string, n int) []model.PlannedClaim {
	snapshot := *in.Snapshot
	snapshot.Pools = nil
	for i := range in.Snapshot.Pools {
		if pool := in.Snapshot.Pools[i]; pool.Name == name {
			pool.Replicas = nil
			snapshot.Pools = []model.Pool{pool}
		}
	}
	in.Snapshot, in.Pending = &snapshot, []int{}
	claims, _ := fill(&in, n, nil)
	return claims
}

// fill returns up to n claims of the input's one pool with room for load beside their daemons, and why there can be
// none at all.
func fill(in *Input, n int, load model.Resources) ([]model.PlannedClaim, *model.Reason) {
	p := newSolver(question{in: in}, group.NoPreferences).planner
	pools := p.Pools()
	if len(pools) == 0 {
		return nil, nil
	}
	if pools[0].Skip != nil {
		return nil, pools[0].Skip
	}
	p.PackAlike(pools[0], n, load)
	claims, _ := p.Claims()
	return claims, nil
}

// StandaloneClaim returns the claim of no pool that somebody asks for in so many words: its template is like a pool's,
// and the instance's allocatable amounts are at least requests, what its daemons take included. It is the cheapest
// there is. Where there is none it returns why; NoOffering says that there is one at other times. The claim's name is
// made up.
func StandaloneClaim(in Input, template model.Template, requests model.Resources) (*model.PlannedClaim, *model.Reason) {
	snapshot := *in.Snapshot
	snapshot.Pools = []model.Pool{{Template: template}}
	in.Snapshot, in.Pending = &snapshot, []int{}
	class := template.ClassName
	if types := in.Catalogs[class]; len(types) > 0 && in.ClassProblems[class] == "" {
		types = slices.DeleteFunc(slices.Clone(types), func(t model.InstanceType) bool { return !resource.Fits(requests, t.Allocatable()) })
		if len(types) == 0 {
			return nil, &model.Reason{Code: ResourcesTooLarge, Remedy: oneRemedy, Message: fmt.Sprintf(
				"spec.resources.requests: none of the %d instance types of EC2NodeClass %q holds as much", len(in.Catalogs[class]), class)}
		}
		in.Catalogs = map[string][]model.InstanceType{class: types}
	}
	claims, reason := fill(&in, 1, model.Resources{model.Pods: 1}) // so that daemons alone are not too much
	switch {
	case reason != nil:
		return nil, ofClaim(*reason)
	case len(claims) == 0:
		return nil, &model.Reason{Code: NoOffering, Message: "no compatible instance type, zone and capacity type has capacity now",
			Remedy: "it is tried again; more instance types, zones or capacity types in spec.requirements make this rare"}
	}
	claims[0].Requests = requests
	return &claims[0], nil
}

const oneRemedy = "a NodeClaim is immutable: delete it and create one that requests less"

// ofClaim words a reason of a pool for a claim whose template it is.
func ofClaim(reason model.Reason) *model.Reason {
	reason.Message = strings.NewReplacer("spec.template.spec.", "spec.", "spec.template.metadata.", "metadata.").Replace(reason.Message)
	switch reason.Code {
	case ClassNotReady:
		reason.Remedy = "create or correct the EC2NodeClass"
	case NoInstanceTypes:
		reason.Message += ", of those that hold spec.resources.requests"
		reason.Remedy = oneRemedy
	default:
		reason.Remedy = "a NodeClaim is immutable: delete it and create a correct one"
	}
	return &reason
}
