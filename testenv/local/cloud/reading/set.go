package reading

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// Variable is the environment variable with the readings of a process: "id=other,id=default", or "all=other" for every one. Later
// entries win.
const Variable = "JOINER_READINGS"

const (
	takesDefault = "default"
	takesOther   = "other"
	everyDoubt   = "all"
)

// Set says which reading is taken of each doubt. It does not change. nil is what the environment says.
type Set struct {
	other map[string]bool // by id
}

// Default returns the set with the default of every doubt, whatever the environment says.
func Default() *Set { return &Set{} }

// Other returns the environment's set, with the other reading of the doubts of some ids. It panics where there is no such doubt.
func Other(ids ...string) *Set { return environment().with(true, ids) }

// Strict returns the environment's set, with the default reading of the doubts of some ids. It panics where there is no such doubt.
func Strict(ids ...string) *Set { return environment().with(false, ids) }

// AllOther returns the set with the other reading of every doubt.
func AllOther() *Set {
	s, err := Parse(everyDoubt + "=" + takesOther)
	if err != nil {
		panic(err)
	}
	return s
}

// Parse reads what Variable holds. An error names the entry and what it may be.
func Parse(text string) (*Set, error) {
	s := &Set{other: map[string]bool{}}
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		id, which, _ := strings.Cut(entry, "=")
		if which != takesOther && which != takesDefault {
			return nil, fmt.Errorf("%s: %q says neither %s=%s nor %s=%s", Variable, entry, id, takesOther, id, takesDefault)
		}
		ids := []string{id}
		if id == everyDoubt {
			ids = idsOf(doubts)
		}
		for _, id := range ids {
			if !known(id) {
				return nil, fmt.Errorf("%s: %q is no doubt; there are %s, %s", Variable, id, everyDoubt, strings.Join(idsOf(doubts), ", "))
			}
			s.other[id] = which == takesOther
		}
	}
	return s, nil
}

// Takes reports whether the other reading of a doubt is taken. It panics where there is no doubt of that id.
func (s *Set) Takes(id string) bool {
	if !known(id) {
		panic("reading: no doubt is called " + id)
	}
	if s == nil {
		s = environment()
	}
	return s.other[id]
}

// Others returns the ids of the doubts of which the other reading is taken, sorted.
func (s *Set) Others() []string {
	if s == nil {
		s = environment()
	}
	return slices.Sorted(func(yield func(string) bool) {
		for id, other := range s.other {
			if other && !yield(id) {
				return
			}
		}
	})
}

// String returns the set as Parse reads it.
func (s *Set) String() string {
	var out []string
	for _, id := range s.Others() {
		out = append(out, id+"="+takesOther)
	}
	return strings.Join(out, ",")
}

// With returns the set with the other reading of the doubts of some ids.
func (s *Set) With(ids ...string) *Set {
	if s == nil {
		s = environment()
	}
	return s.with(true, ids)
}

// Without returns the set with the default reading of the doubts of some ids.
func (s *Set) Without(ids ...string) *Set {
	if s == nil {
		s = environment()
	}
	return s.with(false, ids)
}

func (s *Set) with(other bool, ids []string) *Set {
	out := &Set{other: map[string]bool{}}
	maps.Copy(out.other, s.other)
	for _, id := range ids {
		if !known(id) {
			panic("reading: no doubt is called " + id)
		}
		out.other[id] = other
	}
	return out
}

// environment returns what the environment said when it was first asked. Readings that cannot be read end the process: a test that
// went on would show something else than it was asked for.
var environment = sync.OnceValue(func() *Set {
	s, err := Parse(os.Getenv(Variable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return s
})

func known(id string) bool {
	return slices.ContainsFunc(doubts, func(d Doubt) bool { return d.ID == id })
}

func idsOf(of []Doubt) []string {
	out := make([]string, len(of))
	for i, d := range of {
		out[i] = d.ID
	}
	slices.Sort(out)
	return out
}
