package sim

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/world"
)

// What people change is published seconds later: until then a function that is handed an old batch may find something to do.
func TestC5AClusterThatSomebodyJustChangedIsNotAtRest(t *testing.T) {
	at := func(ago time.Duration, actor string) world.Entry {
		return world.Entry{At: world.Start.Add(-ago), Actor: actor, Fact: world.ObjectWritten{Kind: world.KindNode, Name: "n", Verb: "update"}}
	}
	for _, c := range []struct {
		entries []world.Entry
		want    bool
	}{
		{nil, true},
		{[]world.Entry{at(time.Minute, "")}, true},
		{[]world.Entry{at(time.Second, ""), at(0, "disrupt-1")}, false},
		{[]world.Entry{at(time.Second, "disrupt-1")}, true},
	} {
		if got := untouched(c.entries, world.Start); got != c.want {
			t.Errorf("%+v: %t, want %t", c.entries, got, c.want)
		}
	}
}
