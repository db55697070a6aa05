// Package chart holds what the chart in this folder comes to where people take its defaults, for those who apply it without Helm:
// tests that need the permissions in a cluster and nothing else. Package testenv/test/helm installs the chart itself.
package chart

import (
	"bytes"
	_ "embed"
	"slices"
)

//go:embed rendered/default.yaml
var defaults []byte

// Namespace is where it is all installed, as a manifest.
const Namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: joiner}\n"

// kinds are those of permissions.
var kinds = []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// Rights is what the functions may do in a cluster, bound to the groups joiner:functions, joiner:interruption, joiner:catalog and
// joiner:disrupt, what whoever takes over a cluster from Karpenter may, bound to joiner:adopt, and what the watcher may, bound to
// its service account in the namespace joiner, which comes first.
func Rights() []byte { return append([]byte(Namespace), of(kinds)...) }

// Webhook is the registration of who answers for admission, as an API server takes it.
func Webhook() []byte { return of([]string{"ValidatingWebhookConfiguration"}) }

// of returns the documents of some kinds, each after its separator.
func of(kinds []string) []byte {
	var out []byte
	for document := range bytes.SplitSeq(defaults, []byte("\n---\n")) {
		for line := range bytes.Lines(document) {
			if kind, found := bytes.CutPrefix(line, []byte("kind: ")); found && slices.Contains(kinds, string(bytes.TrimSpace(kind))) {
				out = append(append(out, "---\n"...), append(document, '\n')...)
			}
		}
	}
	return out
}
