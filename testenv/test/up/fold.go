package main

import (
	"fmt"
	"strings"
	"time"
)

// foldFor is how long facts of one kind are gathered before they are told in one line.
const foldFor = 400 * time.Millisecond

// fold is what came together of one kind.
type fold struct {
	kind  string
	names []string // in the order in which they came
	tell  func(names []string) string
}

// gather tells of a thing in one line with all others of its kind that come within a moment. The caller holds the
// mutex.
func (s *story) gather(kind, name string, tell func(names []string) string) {
	for _, f := range s.folds {
		if f.kind == kind {
			f.names = append(f.names, name)
			return
		}
	}
	f := &fold{kind: kind, names: []string{name}, tell: tell}
	s.folds = append(s.folds, f)
	time.AfterFunc(foldFor, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for i := range s.folds {
			if s.folds[i] == f {
				s.folds = append(s.folds[:i], s.folds[i+1:]...)
				s.line("%s", f.tell(f.names))
				return
			}
		}
	})
}

// flush tells what is being gathered.
func (s *story) flush() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, f := range s.folds {
		s.line("%s", f.tell(f.names))
	}
	s.folds = nil
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
