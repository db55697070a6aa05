package topology

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// matcher is a selector made ready: what each label it names may be. Its form is canonical, so that selectors that
// ask the same of every label are equal. The zero matcher matches nothing.
type matcher struct {
	some bool        // false = matches nothing
	keys []condition // by key, none twice; empty = matches everything
}

type condition struct {
	key string
	set requirement.Set
}

// Matches reports whether the selector matches the labels. A nil selector matches nothing, an empty one everything.
// Invalid, naming the first field that is wrong, where the selector cannot be read.
func Matches(s *model.Selector, labels map[string]string) (bool, error) {
	m, err := compile("selector", s)
	return m.matches(labels), err
}

// compile reads a selector; extra are further expressions that a selector which is not nil must meet, named by their
// own field.
func compile(field string, s *model.Selector, extra ...extraRequirement) (matcher, error) {
	if s == nil {
		return matcher{}, nil
	}
	sets := make(map[string]requirement.Set, len(s.MatchLabels)+len(s.Expressions)+len(extra))
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		r := model.Requirement{Key: key, Operator: model.In, Values: []string{s.MatchLabels[key]}}
		if err := narrow(sets, r); err != nil {
			return matcher{}, fault.Wrap(fault.Invalid, "", err, "%s.matchLabels", field)
		}
	}
	for i, r := range s.Expressions {
		if err := narrow(sets, r); err != nil {
			return matcher{}, fault.Wrap(fault.Invalid, "", err, "%s.matchExpressions[%d]", field, i)
		}
	}
	for _, e := range extra {
		if err := narrow(sets, e.requirement); err != nil {
			return matcher{}, fault.Wrap(fault.Invalid, "", err, "%s", e.field)
		}
	}
	return matcherOf(sets), nil
}

// extraRequirement is what matchLabelKeys or mismatchLabelKeys add to a selector.
type extraRequirement struct {
	field       string
	requirement model.Requirement
}

// fromKeys returns what a list of label keys adds to the selector of a pod with these labels. A key the pod has no label
// for adds nothing.
func fromKeys(field string, keys []string, operator model.Operator, labels map[string]string) []extraRequirement {
	var out []extraRequirement
	for i, key := range keys {
		if value, has := labels[key]; has {
			r := model.Requirement{Key: key, Operator: operator, Values: []string{value}}
			out = append(out, extraRequirement{field: fmt.Sprintf("%s[%d]", field, i), requirement: r})
		}
	}
	return out
}

// narrow adds one requirement of a label selector, which knows fewer operators than one of a node.
func narrow(sets map[string]requirement.Set, r model.Requirement) error {
	switch r.Operator {
	case model.In, model.NotIn, model.Exists, model.DoesNotExist:
	default:
		return fault.New(fault.Invalid, "", "%.100q has the operator %.100q; a label selector knows In, NotIn, Exists and DoesNotExist", r.Key, string(r.Operator))
	}
	// From would put today's names for old node labels, and a pod's labels have none; so that it only checks the key.
	if _, err := requirement.From([]model.Requirement{{Key: r.Key, Operator: model.Exists}}); err != nil {
		return err
	}
	set, err := requirement.Of(model.Requirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
	if err != nil {
		return err
	}
	if have, ok := sets[r.Key]; ok {
		set = have.Intersect(set)
	}
	sets[r.Key] = set
	return nil
}

// matcherOf brings the conditions into their one form: by key; nothing at all where one of them can never hold.
func matcherOf(sets map[string]requirement.Set) matcher {
	out := matcher{some: true}
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		if !sets[key].Possible() {
			return matcher{}
		}
		out.keys = append(out.keys, condition{key: key, set: sets[key]})
	}
	return out
}

func (m matcher) matches(labels map[string]string) bool {
	if !m.some {
		return false
	}
	for i := range m.keys {
		value, has := labels[m.keys[i].key]
		if has && !m.keys[i].set.Has(value) || !has && !m.keys[i].set.AllowsAbsent() {
			return false
		}
	}
	return true
}

// everything reports whether the selector was an empty one.
func (m matcher) everything() bool { return m.some && len(m.keys) == 0 }

// write adds the canonical text. Keys and values that passed as labels hold no character that separates them here.
func (m matcher) write(b *strings.Builder) {
	if !m.some {
		b.WriteString("none")
		return
	}
	for i := range m.keys {
		if i > 0 {
			b.WriteByte(';')
		}
		for _, r := range (requirement.Requirements{m.keys[i].key: m.keys[i].set}).List() {
			b.WriteString(r.Key + " " + string(r.Operator))
			for _, value := range r.Values {
				b.WriteByte(',')
				b.WriteString(strconv.Quote(value))
			}
			b.WriteByte('&')
		}
	}
}
