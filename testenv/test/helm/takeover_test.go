package helm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/api/crds"
)

// ofKarpenter is a chart that installs the definitions as Karpenter's chart karpenter-crd does: in templates, with nothing that has
// them stay.
func ofKarpenter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "make the chart", os.MkdirAll(filepath.Join(dir, "templates"), 0o755))
	must(t, "write", os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: karpenter-crd\nversion: 1.14.1\n"), 0o644))
	for i, manifest := range crds.Manifests() {
		if strings.Contains(string(manifest), "capacitybuffers") { // which is not Karpenter's
			continue
		}
		must(t, "write", os.WriteFile(filepath.Join(dir, "templates", fmt.Sprintf("%d.yaml", i)), manifest, 0o644))
	}
	return dir
}

// TestA4KarpentersDefinitionsSurviveTheEndOfTheirRelease: a cluster whose definitions came by Karpenter's own chart is taken over as
// the page says. The chart warns of the release that lists the definitions still, doctor's look finds it, and once Helm has been made to
// forget it as both say, uninstalling it ends nothing. Left as it is, it takes the definitions away, and NodeClaims with them.
func TestA4KarpentersDefinitionsSurviveTheEndOfTheirRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane")
	}
	plane, r := startPlane(t)
	ctx, admin := t.Context(), client(t, plane.Config())
	check, err := ekscluster.New(plane.Config(), "shop", "us-west-2")
	must(t, "connect", err)
	names := []string{crds.NodePools, crds.NodeClaims, crds.EC2NodeClasses}
	karpenter := Release{Helm: r.Helm, Kubeconfig: r.Kubeconfig, Namespace: "kube-system"}
	given := values(t, "default")
	given["watcher"] = map[string]any{"replicas": 0}
	given["webhook"] = map[string]any{"enabled": false}

	// As it comes: the release karpenter-crd, and objects of its definitions.
	_, err = karpenter.run(ctx, nil, "install", "karpenter-crd", ofKarpenter(t))
	must(t, "install Karpenter's definitions", err)
	for _, name := range names {
		eventually(t, name+" is there", func() error {
			_, err := admin.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			return err
		})
	}
	must(t, "apply a pool and a claim", plane.Apply(ctx, []byte(somePool), []byte(someClaim)))
	alive := func(what string) {
		t.Helper()
		for _, name := range names {
			if crd, err := admin.Resource(definitions).Get(ctx, name, metav1.GetOptions{}); err != nil || crd.GetDeletionTimestamp() != nil {
				t.Fatalf("%s: definition %s is going, or gone: %v", what, name, err)
			}
		}
		if claim, err := admin.Resource(nodeClaims).Get(ctx, "held", metav1.GetOptions{}); err != nil || claim.GetDeletionTimestamp() != nil {
			t.Fatalf("%s: the NodeClaim is going, or gone: %v", what, err)
		}
	}

	// 1. The chart takes the definitions over and says what stays behind; doctor's look finds it.
	printed, err := r.run(ctx, given, "upgrade", "--install", "--create-namespace", Name, r.chart(), "--take-ownership", "--force-conflicts")
	must(t, "install joiner", err)
	const forget = "kubectl delete secret -n kube-system -l owner=helm,name=karpenter-crd"
	if !strings.Contains(string(printed), "release karpenter-crd in namespace kube-system") || !strings.Contains(string(printed), forget) {
		t.Errorf("the chart says nothing of the release that lists the definitions:\n%s", printed)
	}
	found, err := ekscluster.DefinitionReleases(ctx, check, names)
	must(t, "look", err)
	if len(found) != 1 || found[0].Namespace != "kube-system" || found[0].Name != "karpenter-crd" || len(found[0].Definitions) != 3 {
		t.Errorf("found %+v", found)
	}

	// 2. What both say to do, and then what people do to clean up.
	kubectl(t, plane, nil, strings.Fields(forget)[1:]...)
	if _, err := karpenter.run(ctx, nil, "uninstall", "karpenter-crd"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Helm knows the release still: %v", err)
	}
	alive("after the page")
	if found, err = ekscluster.DefinitionReleases(ctx, check, names); err != nil || len(found) > 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	printed, err = r.run(ctx, given, "upgrade", Name, r.chart())
	must(t, "upgrade joiner", err)
	if strings.Contains(string(printed), "karpenter-crd") {
		t.Errorf("the chart warns of what is no more:\n%s", printed)
	}
	must(t, "uninstall joiner", r.Uninstall(ctx))
	alive("after Joiner's release is gone")

	// 3. Who does not follow it: the definitions go with the old release, though they are Joiner's. This is what the page is for.
	must(t, "install joiner", r.Install(ctx, given))
	_, err = karpenter.run(ctx, nil, "install", "karpenter-crd", ofKarpenter(t), "--take-ownership", "--force-conflicts")
	must(t, "install Karpenter's definitions again", err)
	must(t, "take over again", r.Install(ctx, given, "--take-ownership", "--force-conflicts"))
	_, err = karpenter.run(ctx, nil, "uninstall", "karpenter-crd")
	must(t, "uninstall Karpenter's definitions", err)
	eventually(t, "the claim is being deleted", func() error {
		claim, err := admin.Resource(nodeClaims).Get(ctx, "held", metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && claim.GetDeletionTimestamp() != nil {
			return nil
		}
		return fmt.Errorf("it is there as it was: %w", err)
	})
}
