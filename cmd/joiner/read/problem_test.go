package read_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

func TestReadSaysWhereAMistakeIs(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
	for _, c := range []struct{ name, text, want string }{
		{"a quantity", pod + "---\n" + pod + "spec: {containers: [{name: a}, {name: b, resources: {requests: {cpu: 1x}}}]}\n",
			`FILE: document 2: Pod web: spec.containers[1].resources.requests.cpu: "1x": not a quantity; write a number with or without a unit, such as 500m, 2 or 4Gi`},
		{"an object of a namespace", "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web}, spec: {hostNetwork: 'yes'}}",
			`FILE: document 1: Pod shop/web: spec.hostNetwork: "yes": not a boolean; write true or false, without quotes`},
		{"an item", `{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},{"kind":"Node","apiVersion":"v1","metadata":{"name":"b","labels":{"a.b/c":1}}}]}`,
			`FILE: document 1, item 2: Node b: metadata.labels["a.b/c"]: 1: not a string; put it in quotes`},
		{"a time", "{apiVersion: v1, kind: Pod, metadata: {name: web, creationTimestamp: today}}",
			`FILE: document 1: Pod web: metadata.creationTimestamp: "today": not a time; write one such as 2026-01-02T15:04:05Z`},
		{"a number", "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {weight: heavy}}",
			`FILE: document 1: NodePool a: spec.weight: "heavy": not a whole number of 32 bits; write one without quotes`},
		{"a number too large", "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {weight: 99999999999}}",
			`FILE: document 1: NodePool a: spec.weight: 99999999999: not a whole number of 32 bits; write one without quotes`},
		{"a list", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {tolerations: {key: a}}}",
			`FILE: document 1: Pod web: spec.tolerations: {"key":"a"}: not a list; write one item to a line, each after a dash`},
		{"an object", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: [1]}",
			`FILE: document 1: Pod web: spec: [1]: not an object; write its fields below it, indented`},
		{"no name", "{apiVersion: v1, kind: Pod}", `FILE: document 1: Pod: metadata.name: not set; name the object, so that the plan can refer to it`},
		{"no kind", "{apiVersion: v1, metadata: {name: a}}", `FILE: document 1: a: kind: not set; name the kind of the object, such as kind: Pod`},
		{"no version", "{kind: Pod, metadata: {name: a}}", `FILE: document 1: Pod a: apiVersion: not set; name the version of the kind, such as apiVersion: v1`},
		{"no object", "just text", `FILE: document 1: "just text": not an object; write one with apiVersion and kind`},
		{"a list without a kind", "- a\n- b\n", `FILE: document 1: ["a","b"]: not an object; write one with apiVersion and kind`},
		{"broken YAML", pod + "---\n" + pod + "spec: {\n", `FILE: document 2: not YAML: line 8: did not find expected node content`},
		{"a name twice", "apiVersion: v1\nkind: Pod\nkind: Node\n", `FILE: document 1: not YAML: line 3: key "kind" already set in map`},
		{"JSON that ends early", `{"kind":"Pod","metadata":{"na`, `FILE: document 1: not JSON: the text ends in the middle of an object`},
		{"JSON with a comma too many", `{"kind":"Pod",}`, `FILE: document 1: not JSON: `},
		{"an item that ends early", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata"`, `FILE: document 1, item 2: not JSON: the text ends in the middle of an object`},
		{"lists without end", strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, 9) + strings.Repeat(`]}`, 9), `items: lists are nested more than 4 deep; flatten them`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := file(t, "cluster.yaml", c.text)
			_, err := read.Files([]string{path}, read.Options{})
			want := strings.ReplaceAll(c.want, "FILE", path)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("read\n%s\ngot  %v\nwant %s", c.text, err, want)
			}
		})
	}
}

func TestReadTellsOfSeveralMistakesAtOnceButNotOfAll(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "{apiVersion: v1, kind: Pod, metadata: {name: web-%d}, spec: {priority: high}}\n---\n", i)
	}
	_, err := read.Files([]string{file(t, "a.yaml", text.String())}, read.Options{})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 10 || !strings.Contains(lines[0], "document 1: Pod web-0: spec.priority") || !strings.Contains(lines[9], "document 10: Pod web-9: spec.priority") {
		t.Errorf("got %d lines:\n%v", len(lines), err)
	}
}

// A line of YAML longer than any buffer, and a value of JSON as long, are read in one piece.
func TestReadTakesLongLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, text := range []string{
		"{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {a: " + long + "}}}",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"a":"` + long + `"}}}`,
	} {
		if got := pods(mustRead(t, file(t, "a.yaml", text))); len(got) != 1 {
			t.Errorf("read %v", got)
		}
	}
}
