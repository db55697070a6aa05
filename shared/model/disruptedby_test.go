package model

import "testing"

func TestWhatIsSaidOfACommandIsReadBack(t *testing.T) {
	id, nodes, replacements, ok := ParseDisruptedBy(DisruptedBy("01J-2", 3, 1) + ": its pods cost $0.1000 less an hour elsewhere")
	if !ok || id != "01J-2" || nodes != 3 || replacements != 1 {
		t.Errorf("read %q %d %d %t", id, nodes, replacements, ok)
	}
	if id, _, _, ok := ParseDisruptedBy("the node is given back by command 01J-2 (3 for 1): x"); !ok || id != "01J-2" { // as earlier versions wrote it
		t.Errorf("read %q %t of an earlier version", id, ok)
	}
	for _, other := range []string{"", "EC2 takes it back", "the node is disrupted by command x", "the node is disrupted by command x (99999999999999999999 for 1)"} {
		if _, _, _, ok := ParseDisruptedBy(other); ok {
			t.Errorf("%q was read", other)
		}
	}
}
