package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// key names an object within its kind. Keys are ordered as their text namespace/name is, so that "a-b/x" comes before
// "a/x"; objects without a namespace are ordered by name.
type key struct{ namespace, name string }

func (k key) String() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

func parseKey(text string) key {
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return key{namespace, name}
	}
	return key{"", text}
}

// compare orders two keys by their text without building it.
func (k key) compare(other key) int {
	if k.namespace == other.namespace {
		return cmp.Compare(k.name, other.name)
	}
	n := min(len(k.namespace), len(other.namespace))
	if c := cmp.Compare(k.namespace[:n], other.namespace[:n]); c != 0 {
		return c
	}
	if len(k.namespace) < len(other.namespace) {
		return cmp.Compare("/", other.namespace[n:])
	}
	return cmp.Compare(k.namespace[n:], "/")
}

// CompareKeys orders two objects as snapshots do: by the text namespace/name.
func CompareKeys(namespaceA, nameA, namespaceB, nameB string) int {
	return key{namespaceA, nameA}.compare(key{namespaceB, nameB})
}

func podKey(p *model.Pod) key             { return key{p.Namespace, p.Name} }
func nodeKey(n *model.Node) key           { return key{"", n.Name} }
func poolKey(p *model.Pool) key           { return key{"", p.Name} }
func classKey(c *model.Class) key         { return key{"", c.Name} }
func claimKey(o *model.Object) key        { return key{"", o.Name} }
func daemonSetKey(d *model.DaemonSet) key { return key{d.Namespace, d.Name} }
func namespaceKey(n *model.Namespace) key { return key{"", n.Name} }
func budgetKey(b *model.PDB) key          { return key{b.Namespace, b.Name} }
func volumeKey(v *model.Volume) key       { return key{v.Namespace, v.Name} }
func storageKey(s *model.Storage) key     { return key{"", s.Name} }
func csiNodeKey(n *model.CSINode) key     { return key{"", n.Node} }
func bufferKey(b *model.Buffer) key       { return key{b.Namespace, b.Name} }
func overlayKey(o *model.Overlay) key     { return key{"", o.Name} }

func resourceClaimKey(c *model.ResourceClaim) key         { return key{c.Namespace, c.Name} }
func claimTemplateKey(t *model.ResourceClaimTemplate) key { return key{t.Namespace, t.Name} }
func deviceClassKey(c *model.DeviceClass) key             { return key{"", c.Name} }
func sliceKey(s *model.ResourceSlice) key                 { return key{"", s.Name} }

// ordered reports a list that is not strictly ascending by key.
func ordered[T any](kind string, list []T, keyOf func(*T) key) error {
	for i := 1; i < len(list); i++ {
		if keyOf(&list[i-1]).compare(keyOf(&list[i])) >= 0 {
			return fault.New(fault.Invalid, "Malformed",
				"%s[%d] %.300q does not come after the one before it", kind, i, keyOf(&list[i]))
		}
	}
	return nil
}

func orderedKeys(kind string, list []string) error {
	at := slices.IndexFunc(list, func(text string) bool { return text == "" })
	if at >= 0 {
		return fault.New(fault.Invalid, "Malformed", "gone.%s[%d] is empty", kind, at)
	}
	for i := 1; i < len(list); i++ {
		if parseKey(list[i-1]).compare(parseKey(list[i])) >= 0 {
			return fault.New(fault.Invalid, "Malformed",
				"gone.%s[%d] %.300q does not come after the one before it", kind, i, list[i])
		}
	}
	return nil
}
