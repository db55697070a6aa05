package helm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// withChart starts a control plane with the chart and nobody who would answer for it: no watcher, no function, no webhook.
func withChart(t *testing.T) *kube.ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("a control plane")
	}
	plane, r := startPlane(t)
	given := values(t, "default")
	given["watcher"] = map[string]any{"replicas": 0}
	given["webhook"] = map[string]any{"enabled": false}
	must(t, "install", r.Install(t.Context(), given))
	return plane
}

// kubectl runs kubectl, which must succeed, and returns what it printed.
func kubectl(t *testing.T, plane *kube.ControlPlane, stdin []byte, args ...string) string {
	t.Helper()
	printed, _, err := plane.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return printed
}

// What people have for Karpenter is applied by kubectl as it is, in either way, and applied again it is unchanged: the API server
// adds nothing that the files do not say, and forgets nothing.
func TestManifestsForKarpenterAreAppliedAsTheyAre(t *testing.T) {
	plane := withChart(t)
	paths, err := filepath.Glob("../../../shared/api/testdata/manifests/*.yaml")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d manifests: %v", len(paths), err)
	}
	paths = append(paths, "../../../infra/examples/nodepool.yaml")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, "read", err)
		objects, err := kube.Objects(text)
		must(t, "read "+path, err)
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, way := range [][]string{{"apply", "-f", path}, {"apply", "-f", path}, {"apply", "--server-side", "-f", path}, {"diff", "-f", path}, {"diff", "--server-side", "-f", path}} {
				printed := kubectl(t, plane, nil, way...)
				if want := " unchanged"; way[1] == "-f" && way[0] == "apply" && strings.Count(printed, " created")+strings.Count(printed, want)+strings.Count(printed, " configured") != len(objects) {
					t.Errorf("kubectl %s: %s", strings.Join(way, " "), printed)
				}
			}
			for _, object := range objects {
				var stored unstructured.Unstructured
				must(t, "read back", yaml.Unmarshal([]byte(kubectl(t, plane, nil, "get", object.GetKind(), object.GetName(), "-o", "yaml")), &stored.Object))
				if lost := absent("", object.Object["spec"], stored.Object["spec"]); len(lost) > 0 {
					t.Errorf("%s %s: %s", object.GetKind(), object.GetName(), strings.Join(lost, "; "))
				}
			}
		})
	}
}

// absent says what of wanted is not in got: every field and element of it must be there, as it was written.
func absent(at string, wanted, got any) []string {
	switch w := wanted.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		var out []string
		for name, value := range w {
			out = append(out, absent(at+"."+name, value, g[name])...)
		}
		return out
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s has %d elements, %d were written", at, len(g), len(w))}
		}
		var out []string
		for i := range w {
			out = append(out, absent(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
		}
		return out
	}
	if fmt.Sprint(wanted) != fmt.Sprint(got) {
		return []string{fmt.Sprintf("%s is %v, %v was written", at, got, wanted)}
	}
	return nil
}

// What kubectl prints of a cluster that Karpenter runs is applied as it is: spec, labels, annotations, finalizers and every field of
// status are kept, and nothing is added.
func TestAClusterOfKarpenterIsAppliedAsItIs(t *testing.T) {
	plane := withChart(t)
	wanted, err := kube.Objects(examples.Karpenter)
	must(t, "read", err)
	restored, err := plane.Restore(t.Context(), examples.Karpenter)
	must(t, "restore", err)
	if len(restored) != len(wanted) || len(wanted) != 9 {
		t.Fatalf("%d objects of %d", len(restored), len(wanted))
	}
	for i, want := range wanted {
		got, name := restored[i], want.GetKind()+" "+want.GetName()
		forgetOwnTaints(got, want)
		for _, field := range []string{"spec", "status"} {
			if wrong := append(absent(field, want.Object[field], got.Object[field]), absent(field, got.Object[field], want.Object[field])...); len(wrong) > 0 {
				t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
			}
		}
		if !equality.Semantic.DeepEqual(got.GetLabels(), want.GetLabels()) || !equality.Semantic.DeepEqual(got.GetFinalizers(), want.GetFinalizers()) {
			t.Errorf("%s: labels %v, finalizers %v", name, got.GetLabels(), got.GetFinalizers())
		}
		for key, value := range want.GetAnnotations() {
			if is := got.GetAnnotations()[key]; is != value && key != "kubectl.kubernetes.io/last-applied-configuration" {
				t.Errorf("%s: annotation %s is %q, and was %q", name, key, is, value)
			}
		}
		// Without what says which object of which cluster it is, which kubectl refuses of any kind, the other way takes it, too.
		plain := want.DeepCopy()
		for _, field := range []string{"uid", "resourceVersion", "managedFields", "ownerReferences", "creationTimestamp", "generation"} {
			unstructured.RemoveNestedField(plain.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(plain.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
		text, err := yaml.Marshal(plain.Object)
		must(t, "write", err)
		kubectl(t, plane, text, "apply", "--server-side", "-f", "-")
	}
}

// forgetOwnTaints takes off a node the taints that Kubernetes itself gives every new one.
func forgetOwnTaints(got, want *unstructured.Unstructured) {
	if want.GetKind() != "Node" {
		return
	}
	taints, _, _ := unstructured.NestedSlice(got.Object, "spec", "taints")
	taints = slices.DeleteFunc(taints, func(taint any) bool {
		key, _, _ := unstructured.NestedString(taint.(map[string]any), "key")
		return strings.HasPrefix(key, "node.kubernetes.io/")
	})
	if len(taints) == 0 {
		unstructured.RemoveNestedField(got.Object, "spec", "taints")
		return
	}
	_ = unstructured.SetNestedSlice(got.Object, taints, "spec", "taints") // of what was just read
}

// Nonsense is refused with every program of ours down, and kubectl says which field it is, what it says, and what would do.
func TestNonsenseIsRefusedWithEverythingDown(t *testing.T) {
	plane := withChart(t)
	for name, tt := range map[string]struct {
		from, to string // what is replaced in somePool
		says     []string
	}{
		"an operator":            {"operator: In", "operator: Is", []string{"spec.template.spec.requirements[0].operator", `"Is"`, `"In"`, `"Exists"`}},
		"In without a value":     {"values: [amd64]", "values: []", []string{"spec.template.spec.requirements", "In"}},
		"a label of ours":        {"kubernetes.io/arch", "karpenter.sh/nodepool", []string{"spec.template.spec.requirements", "karpenter.sh/nodepool", "restricted"}},
		"a budget":               {"spec:\n  template:", "spec:\n  disruption: {budgets: [{nodes: 10 percent}]}\n  template:", []string{"spec.disruption.budgets[0].nodes", `"10 percent"`}},
		"a duration":             {"spec:\n  template:", "spec:\n  disruption: {consolidateAfter: soon}\n  template:", []string{"spec.disruption.consolidateAfter", `"soon"`}},
		"a weight":               {"spec:\n  template:", "spec:\n  weight: 101\n  template:", []string{"spec.weight", "101", "100"}},
		"a field nobody knows":   {"spec:\n  template:", "spec:\n  limit: {cpu: 1}\n  template:", []string{"spec.limit"}},
		"a schedule without end": {"spec:\n  template:", "spec:\n  disruption: {budgets: [{nodes: '1', schedule: '@daily'}]}\n  template:", []string{"spec.disruption.budgets[0]", "duration"}},
	} {
		text := strings.Replace(somePool, tt.from, tt.to, 1)
		if text == somePool {
			t.Fatalf("%s: nothing is replaced", name)
		}
		_, reported, err := plane.Kubectl(t.Context(), []byte(text), "apply", "-f", "-")
		if err == nil {
			t.Errorf("%s: it is applied", name)
		}
		for _, want := range tt.says {
			if !strings.Contains(reported, want) {
				t.Errorf("%s: %q is not said in %s", name, want, reported)
			}
		}
		t.Logf("%s: %s", name, reported)
	}
}
