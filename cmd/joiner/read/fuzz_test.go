package read_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

// FuzzReadFiles gives any text as a file: it is read or refused, the same every time, without a panic or a hang.
func FuzzReadFiles(f *testing.F) {
	for _, text := range []string{
		"", "---\n", "{", "{}", `{"items":[`, "\ufeff{}", "\x1f\x8b", "items:\n- a\n", "--- {a: b}\n...\n", "a: &a [*a]", "- - - -", "%YAML 1.1\n---\n{",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1e99"}}}]}}`,
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","labels":{"a":1}}}]}` + "\n---\nkind: Node",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n",
		"apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: a}\nspec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}, expireAfter: Never}\n",
	} {
		f.Add([]byte(text))
	}
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for i := range kept.Clusters {
		f.Add(kept.Clusters[i].List())
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			t.Skip("longer texts only take longer")
		}
		path := filepath.Join(folder, "a.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := read.Files([]string{path}, read.Options{})
		second, again := read.Files([]string{path}, read.Options{})
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("first %v, then %v", err, again)
		}
		if err == nil && !reflect.DeepEqual(first, second) {
			t.Fatalf("first %+v, then %+v", first, second)
		}
	})
}
