package helm

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	webhooks    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	nodeClaims  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	nodePools   = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

// startPlane starts a control plane of the test's own.
func startPlane(t *testing.T) (*kube.ControlPlane, Release) {
	t.Helper()
	plane, err := kube.Start(t.Context(), kube.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	return plane, Release{Helm: plane.Assets().Helm, Kubeconfig: plane.KubeconfigPath()}
}

func client(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	out, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

const someClaim = `apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: held, finalizers: [karpenter.sh/termination]}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`

const somePool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: kept}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`

// A release is installed over definitions that another made, upgraded with its definitions, uninstalled without them, and comes
// back to what is there.
func TestInstallUpgradeAndUninstall(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane")
	}
	plane, r := startPlane(t)
	ctx, admin := t.Context(), client(t, plane.Config())
	given := values(t, "default")
	delete(given, "webhook")                         // the chart makes a certificate
	given["watcher"] = map[string]any{"replicas": 0} // nobody runs it here

	// 1. Definitions of Karpenter's, or of kubectl's, are not taken over by accident.
	must(t, "apply the definitions", plane.Apply(ctx, crds.Manifests()...))
	err := r.Install(ctx, given)
	if err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
		t.Fatalf("the definitions of others are taken over: %v", err)
	}
	older := r
	older.Chart = olderChart(t)
	must(t, "install over them", older.Install(ctx, given, "--take-ownership", "--force-conflicts"))

	// 2. An upgrade brings the definitions up to date and keeps the certificate.
	read := func(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
		t.Helper()
		var in dynamic.ResourceInterface = admin.Resource(resource)
		if namespace != "" {
			in = admin.Resource(resource).Namespace(namespace)
		}
		object, err := in.Get(ctx, name, metav1.GetOptions{})
		must(t, "read "+name, err)
		return object
	}
	describes := func() string {
		text, err := read(definitions, "", crds.NodePools).MarshalJSON()
		must(t, "write", err)
		return string(text)
	}
	if !strings.Contains(describes(), marked) {
		t.Fatal("the older chart's definition is not there")
	}
	secret := read(secrets, "joiner", "joiner-webhook")
	given["watcher"] = map[string]any{"replicas": 0, "logLevel": "debug"}
	must(t, "upgrade", r.Install(ctx, given))
	if strings.Contains(describes(), marked) {
		t.Error("after the upgrade the definition is the older chart's")
	}
	again := read(secrets, "joiner", "joiner-webhook")
	was, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	is, _, _ := unstructured.NestedStringMap(again.Object, "data")
	if was["tls.key"] == "" || was["tls.key"] != is["tls.key"] {
		t.Error("the upgrade changed the certificate, which replicas and API server learn of at different times")
	}
	hooks, _, _ := unstructured.NestedSlice(read(webhooks, "", "joiner").Object, "webhooks")
	if ca, _, _ := unstructured.NestedString(hooks[0].(map[string]any), "clientConfig", "caBundle"); ca == "" || ca != is["ca.crt"] {
		t.Error("the API server is not told who signed the certificate")
	}
	if text, _ := read(deployments, "joiner", "joiner-watcher").MarshalJSON(); !bytes.Contains(text, []byte(`"value":"debug"`)) {
		t.Error("the upgrade changed no setting")
	}

	// 3. Uninstalled, objects stay; a claim that is deleted waits for somebody to release it.
	must(t, "apply a pool and a claim", plane.Apply(ctx, []byte(somePool), []byte(someClaim)))
	must(t, "uninstall", r.Uninstall(ctx))
	read(nodePools, "", "kept")
	must(t, "delete the claim", admin.Resource(nodeClaims).Delete(ctx, "held", metav1.DeleteOptions{}))
	if held := read(nodeClaims, "", "held"); held.GetDeletionTimestamp() == nil {
		t.Error("the claim is not being deleted")
	}
	config, err := plane.User("interruption", "joiner:interruption")
	must(t, "make a user", err)
	interruption, free := client(t, config), []byte(`{"metadata":{"finalizers":[]}}`)
	_, err = interruption.Resource(nodeClaims).Patch(ctx, "held", types.MergePatchType, free, metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("without the chart functions have rights: %v", err)
	}

	// 4. Installed again, what was held is released.
	must(t, "install again", r.Install(ctx, given))
	eventually(t, "the claim is let go of", func() error {
		_, err := interruption.Resource(nodeClaims).Patch(ctx, "held", types.MergePatchType, free, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})

	// 5. In the documented order nothing hangs.
	must(t, "delete the pools", admin.Resource(nodePools).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	must(t, "uninstall", r.Uninstall(ctx))
	for _, name := range []string{crds.NodePools, crds.NodeClaims, crds.EC2NodeClasses} {
		must(t, "delete the definition", admin.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{}))
		eventually(t, name+" is gone", func() error {
			_, err := admin.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return apierrors.NewConflict(definitions.GroupResource(), name, err)
		})
	}
}

const marked = "as an older chart said it"

// olderChart is a copy of the chart whose definition of NodePool says something else.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, "copy the chart", os.CopyFS(dir, os.DirFS(ChartDir()).(fs.ReadDirFS)))
	path := filepath.Join(dir, "files", "crds", "karpenter.sh_nodepools.yaml")
	text, err := os.ReadFile(path)
	must(t, "read", err)
	changed := bytes.Replace(text, []byte("      openAPIV3Schema:\n        description: "), []byte("      openAPIV3Schema:\n        description: "+marked+" "), 1)
	if bytes.Equal(changed, text) {
		t.Fatal("nothing to change")
	}
	must(t, "write", os.WriteFile(path, changed, 0o644))
	return dir
}

// eventually waits for what takes the API server a moment.
func eventually(t *testing.T, what string, done func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = done(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
