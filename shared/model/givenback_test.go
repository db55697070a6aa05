package model

import "testing"

func TestWhatIsSaidOfACommandIsReadBack(t *testing.T) {
	id, nodes, replacements, ok := ParseDisruptedBy(DisruptedBy("01J-2", 3, 1) + ": its pods cost $0.1000 less an hour elsewhere")
	if !ok || id != "01J-2" || nodes != 3 || replacements != 1 {
		t.Errorf("read %q %d %d %t", id, nodes, replacements, ok)
	}
	for _, other := range []string{"", "EC2 takes it back", "the node is given back by command x", "the node is given back by command x (99999999999999999999 for 1)"} {
		if _, _, _, ok := ParseDisruptedBy(other); ok {
			t.Errorf("%q was read", other)
		}
	}
}
