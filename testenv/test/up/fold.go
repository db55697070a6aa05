package main

import (
	"fmt"
	"strings"
	"time"
)

// foldFor is how long facts of one kind are gathered before they are printed in one line.
const foldFor = 400 * time.Millisecond

// fold is what came together of one kind.
type fold struct {
	kind  string
	names []string // in the order in which they came
	line  func(names []string) string
}

// many is a number of things, in the plural unless it is one.
func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// named are things by their names where they are few, else their number.
func named(names []string, what string) string {
	const few = 3
	if len(names) > few {
		return many(len(names), what)
	}
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ")
}

// is goes with a number of things.
func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
