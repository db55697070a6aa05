package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Definitions are the names of those whose end takes NodePools, NodeClaims and EC2NodeClasses along.
var Definitions = []string{crds.NodePools, crds.NodeClaims, crds.EC2NodeClasses}

// karpenter looks for what a Karpenter in the cluster, or one that was there, means for installing the chart and for
// taking over.
func (s *Checker) karpenter(ctx context.Context) ([]check.Finding, error) {
	if _, err := s.described(ctx); err != nil {
		return nil, s.elsewhere(err)
	}
	client, err := s.reached(ctx)
	if err != nil {
		return nil, err
	}
	state, err := client.Karpenter(ctx)
	if err != nil {
		return nil, err
	}
	live, err := client.ReadLive(ctx)
	undefined := fault.CodeOf(err) == model.CodeUndefined
	if err != nil && !undefined {
		return nil, err
	}
	releases, err := ekscluster.DefinitionReleases(ctx, client, Definitions)
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	for _, d := range state.Deployments {
		if d.Replicas > 0 || d.Running > 0 {
			found = append(found, check.Finding{
				Level: check.Warn,
				Seen: fmt.Sprintf(
					"Karpenter runs (Deployment %s/%s, %d replicas): both would launch for the same pods",
					d.Namespace, d.Name, d.Replicas),
				Do: s.deploy("-c paused=true") + "; then docs/tasks/migrate-from-karpenter.md",
			})
		}
	}
	if len(live.Objects) > 0 && len(found) == 0 {
		found = append(found, check.Finding{Level: check.Warn,
			Seen: fmt.Sprintf("%d NodeClaims exist, and no Karpenter runs", len(live.Objects)),
			Do: s.deploy("-c paused=true") + "; then joiner adopt " + s.plan.Cluster +
				", which adopts their instances"})
	}
	owned := HelmReleaseFindings(releases)
	for i := range owned {
		owned[i].Do += "; before that, install the chart with --take-ownership, and with Helm 4 --force-conflicts"
	}
	if found = append(found, owned...); len(found) == 0 && undefined {
		return check.One(check.OK, "it is not installed", ""), nil
	}
	if len(found) == 0 {
		return check.One(check.OK,
			"it does not run, and no Helm release but Joiner's own has the CustomResourceDefinitions", ""), nil
	}
	return found, nil
}

// HelmReleaseFindings are findings of releases of Helm's that take definitions away when they are uninstalled.
func HelmReleaseFindings(releases []ekscluster.HelmRelease) []check.Finding {
	var found []check.Finding
	for _, r := range releases {
		found = append(found, check.Finding{
			Level: check.Warn, Object: fmt.Sprintf("Helm release %s/%s", r.Namespace, r.Name), Seen: ReleaseTrap(r),
			Do: fmt.Sprintf("make Helm forget that release: kubectl delete secret -n %s -l owner=helm,name=%s",
				r.Namespace, r.Name),
		})
	}
	return found
}

// ReleaseTrap says what uninstalling a release would do.
func ReleaseTrap(r ekscluster.HelmRelease) string {
	return fmt.Sprintf(
		"helm uninstall %s would delete the CustomResourceDefinitions %s, and with them all their objects",
		r.Name, strings.Join(r.Definitions, ", "))
}

// Left looks at what Karpenter left where Joiner runs.
func (s *Checker) Left(ctx context.Context, client *ekscluster.Client) ([]check.Finding, error) {
	state, err := client.Karpenter(ctx)
	if err != nil {
		return nil, err
	}
	releases, err := ekscluster.DefinitionReleases(ctx, client, Definitions)
	if err != nil {
		return nil, err
	}
	found := HelmReleaseFindings(releases)
	running := slices.IndexFunc(state.Deployments, func(d model.Controller) bool {
		return d.Replicas > 0 ||
			d.Running > 0
	})
	if running >= 0 {
		d := state.Deployments[running]
		found = append(found, check.Finding{Level: check.Warn,
			Seen: fmt.Sprintf("Karpenter runs (Deployment %s/%s, %d replicas): both launch for the same pods",
				d.Namespace, d.Name, d.Replicas),
			Do: fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=0; then joiner adopt %s", d.Name, d.Namespace,
				s.plan.Cluster)})
	}
	if len(found) == 0 {
		return check.One(check.OK, "it does not run, and no Helm release would delete the CustomResourceDefinitions",
			""), nil
	}
	return found, nil
}
