package eventqueue

import (
	"slices"
	"testing"
	"time"
)

func TestRunKeepsTheOrderOfTimeAndOfEntry(t *testing.T) {
	var a Queue
	var done []string
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	note := func(name string) func() { return func() { done = append(done, name) } }
	a.Add(start.Add(2*time.Second), note("c"))
	a.Add(start.Add(time.Second), func() {
		done = append(done, "a")
		a.Add(start.Add(time.Second), note("made due by a"))
	})
	a.Add(start.Add(time.Second), note("b"))
	dropped := a.Add(start.Add(time.Second), note("dropped"))
	a.Add(start.Add(3*time.Second), note("later"))
	a.Drop(dropped)
	a.Drop(dropped)
	a.Drop(nil)
	a.Run(start.Add(2 * time.Second))
	if want := []string{"a", "b", "made due by a", "c"}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
	if at, due := a.Next(); !due || !at.Equal(start.Add(3*time.Second)) {
		t.Errorf("next at %v, %v", at, due)
	}
}
