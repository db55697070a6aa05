package requirement

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Requirements are what a node's labels may be, by normalized key. A key that is missing may be anything. Nil is a valid
// empty value. Methods return new values and leave their receivers alone.
type Requirements map[string]Set

// From returns the meaning of a list: keys normalized, requirements on one key intersected. Invalid, naming the first
// requirement that is wrong, where any is; requirements that contradict each other are not wrong.
func From(list []model.Requirement) (Requirements, error) {
	out := make(Requirements, len(list))
	for _, r := range list {
		if !validKey(r.Key) {
			return nil, fault.New(fault.Invalid, "", "%q is not a label key", shorten(r.Key))
		}
		set, err := Of(r)
		if err != nil {
			return nil, err
		}
		out.narrow(Normalize(r.Key), set)
	}
	return out, nil
}

// FromSelector returns the requirements of a node selector: every label with exactly its value.
func FromSelector(labels map[string]string) (Requirements, error) {
	list := make([]model.Requirement, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, model.Requirement{Key: key, Operator: model.In, Values: []string{labels[key]}})
	}
	return From(list)
}

// FromLabels returns what an existing node or a template's labels say. Nothing is checked, because they are facts. Where
// a label is there under its old and its present name, the present one counts.
func FromLabels(labels map[string]string) Requirements {
	out := make(Requirements, len(labels))
	for key, value := range labels {
		current := Normalize(key)
		if _, both := labels[current]; current == key || !both {
			out[current] = Values(value)
		}
	}
	return out
}

// Keys returns the keys, sorted.
func (r Requirements) Keys() []string { return slices.Sorted(maps.Keys(r)) }

// Get returns what key may be: anything where there is no requirement on it.
func (r Requirements) Get(key string) Set {
	if set, ok := r[key]; ok {
		return set
	}
	return Any()
}

// Has reports whether there is a requirement on key.
func (r Requirements) Has(key string) bool {
	_, ok := r[key]
	return ok
}

// With returns r with the requirement on key narrowed to set.
func (r Requirements) With(key string, set Set) Requirements {
	out := r.clone()
	out.narrow(key, set)
	return out
}

// Without returns r less its requirement on key.
func (r Requirements) Without(key string) Requirements {
	out := r.clone()
	delete(out, key)
	return out
}

// Intersect returns what meets both.
func (r Requirements) Intersect(other Requirements) Requirements {
	out := r.clone()
	for key, set := range other {
		out.narrow(key, set)
	}
	return out
}

// Possible reports whether every key leaves something over.
func (r Requirements) Possible() bool {
	for _, set := range r {
		if !set.Possible() {
			return false
		}
	}
	return true
}

// MinValues reports whether any requirement asks for minValues.
func (r Requirements) MinValues() bool {
	for _, set := range r {
		if set.minimum > 0 {
			return true
		}
	}
	return false
}

// Equal reports whether both mean the same, key by key.
func (r Requirements) Equal(other Requirements) bool { return maps.EqualFunc(r, other, Set.Equal) }

// Matches reports whether a node with exactly these labels (normalized keys) meets r. Labels that r does not name do
// not matter.
func (r Requirements) Matches(labels map[string]string) bool {
	return r.MatchesBy(func(key string) (string, bool) { value, has := labels[key]; return value, has })
}

// MatchesBy is Matches of the labels that label returns.
func (r Requirements) MatchesBy(label func(key string) (value string, has bool)) bool {
	for key, set := range r {
		value, present := label(key)
		if present && !set.Has(value) || !present && !set.absent {
			return false
		}
	}
	return true
}

// Compatible reports why incoming cannot be met on something that r describes; nil where it can. A key that r does not
// name counts as absent, unless mayBeUndefined says that it can still become anything (nil = no key can).
func (r Requirements) Compatible(incoming Requirements, mayBeUndefined func(key string) bool) *Conflict {
	for _, key := range incoming.Keys() {
		wanted := incoming[key]
		have, defined := r[key]
		if !defined {
			if wanted.absent || wanted.Possible() && mayBeUndefined != nil && mayBeUndefined(key) {
				continue
			}
			return &Conflict{Key: key, Incoming: wanted, Undefined: true, Hint: Hint(key, r.Keys())}
		}
		if !have.Meets(wanted) {
			return &Conflict{Key: key, Incoming: wanted, Existing: have}
		}
	}
	return nil
}

// Conflict says which key of two lists of requirements cannot be met by one node.
type Conflict struct {
	Key       string
	Incoming  Set
	Existing  Set    // meaningless where Undefined
	Undefined bool   // the other side knows no such label
	Hint      string // the key that was likely meant; "" where none is near
}

func (c *Conflict) Error() string {
	if !c.Undefined {
		return c.Incoming.Text(c.Key) + " does not meet " + c.Existing.Text(c.Key)
	}
	text := c.Incoming.Text(c.Key) + ": no value of this label is known"
	if c.Hint != "" {
		text += "; did you mean " + c.Hint + "?"
	}
	return text
}

func (r Requirements) clone() Requirements {
	out := make(Requirements, len(r)+1)
	maps.Copy(out, r)
	return out
}

func (r Requirements) narrow(key string, set Set) {
	if have, ok := r[key]; ok {
		set = have.Intersect(set)
	}
	r[key] = set
}
