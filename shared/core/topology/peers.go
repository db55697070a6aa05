package topology

import (
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Peers is a set of pods, selected by namespace and labels. It does not change. The zero Peers holds no pod.
type Peers struct {
	pods  matcher
	names []string // namespaces named or selected, sorted; none where every is
	every bool     // of all namespaces

	// Of namespaces that nothing is known of, those the selector takes by name alone.
	known    Namespaces
	selector matcher

	key string
}

// PeersOfTerm returns the pods that an affinity or anti-affinity term of owner is about. They are in the namespaces the term
// names and those its namespace selector selects; in owner's own where it has neither. An empty namespace selector
// selects all, a nil one none. The labels named by matchLabelKeys must be as owner's and those by mismatchLabelKeys
// must not; where owner has no such label they say nothing. Without a label selector there are no such pods.
//
// Invalid, naming field and value, where a selector cannot be read.
func PeersOfTerm(term *model.PodTerm, owner *model.PodShape, ns Namespaces) (Peers, error) {
	extra := append(fromKeys("matchLabelKeys", term.MatchLabelKeys, model.In, owner.Labels),
		fromKeys("mismatchLabelKeys", term.MismatchLabelKeys, model.NotIn, owner.Labels)...)
	pods, err := compile("labelSelector", term.Selector, extra...)
	if err != nil {
		return Peers{}, err
	}
	selector, err := compile("namespaceSelector", term.NamespaceSelector)
	if err != nil {
		return Peers{}, err
	}
	names := term.Namespaces
	if len(names) == 0 && term.NamespaceSelector == nil {
		names = []string{owner.Namespace}
	}
	return peers(pods, names, selector, ns), nil
}

// PeersOfSpread returns the pods a spread constraint of owner counts: those of owner's namespace that its selector selects and
// whose labels named by matchLabelKeys are as owner's. Neither a nil nor an empty selector counts any pod: kube-scheduler
// takes the empty one for no selector at all.
//
// Invalid, naming field and value, where the selector cannot be read.
func PeersOfSpread(s *model.Spread, owner *model.PodShape) (Peers, error) {
	pods, err := compile("labelSelector", s.Selector, fromKeys("matchLabelKeys", s.MatchLabelKeys, model.In, owner.Labels)...)
	if err != nil || pods.everything() {
		return Peers{}, err
	}
	return peers(pods, []string{owner.Namespace}, matcher{}, nil), nil
}

// PeersOfSelector returns the pods of one namespace that the selector selects: none where it is nil, all where it is empty.
// Invalid, naming field and value, where it cannot be read.
func PeersOfSelector(namespace string, s *model.Selector) (Peers, error) {
	pods, err := compile("selector", s)
	if err != nil {
		return Peers{}, err
	}
	return peers(pods, []string{namespace}, matcher{}, nil), nil
}

// peers brings a set into its one form. What holds no pod is the zero Peers.
func peers(pods matcher, names []string, selector matcher, ns Namespaces) Peers {
	p := Peers{pods: pods, selector: selector, known: ns, every: selector.everything()}
	if !pods.some || len(names) == 0 && !selector.some {
		return Peers{}
	}
	if !p.every {
		p.names = slices.Clone(names)
		slices.Sort(p.names)
		p.names = slices.Compact(p.names)
	}
	p.key = p.text() // of the definition: before the selector is resolved
	if selector.some && !p.every {
		for name, labels := range ns {
			if selector.matches(labels) {
				p.names = append(p.names, name)
			}
		}
		slices.Sort(p.names)
		p.names = slices.Compact(p.names)
	}
	return p
}

// text renders the definition so that equal definitions, and no others, have equal texts.
func (p Peers) text() string {
	var b strings.Builder
	if p.every {
		b.WriteString("*")
	}
	for _, name := range p.names {
		b.WriteString(strconv.Quote(name))
	}
	if p.selector.some && !p.every {
		b.WriteByte('{')
		p.selector.write(&b)
		b.WriteByte('}')
	}
	b.WriteByte('|')
	p.pods.write(&b)
	return b.String()
}

// Key returns a text that two Peers share exactly where their definitions say the same: neither the order of namespaces,
// expressions and values matters, nor repeats, nor whether an expression or a pair of labels says it. "" where no pod can
// be among them.
func (p Peers) Key() string { return p.key }

// RequiredLabel returns a label every pod among them has, with one of the values; false where no label's values are listed.
func (p Peers) RequiredLabel() (key string, values []string, listed bool) {
	for i := range p.pods.keys {
		c := &p.pods.keys[i]
		if values, listed := c.set.Listed(); listed && !c.set.AllowsAbsent() {
			return c.key, values, true
		}
	}
	return "", nil, false
}

// IsEmpty reports whether no pod can be among them.
func (p Peers) IsEmpty() bool { return p.key == "" }

// Match reports whether a pod of this namespace with these labels is among them.
func (p Peers) Match(namespace string, labels map[string]string) bool {
	return p.in(namespace) && p.pods.matches(labels)
}

// in reports whether pods of the namespace can be among them.
func (p Peers) in(namespace string) bool {
	if p.every {
		return true
	}
	if _, found := slices.BinarySearch(p.names, namespace); found {
		return true
	}
	return p.selector.matches(p.known.labels(namespace))
}
