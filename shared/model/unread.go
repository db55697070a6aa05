package model

import (
	"fmt"
	"slices"
)

// Kinds of items that may be Unread.
const (
	UnreadClaim         = "claim"
	UnreadIntent        = "intent"
	UnreadUsage         = "usage" // of a pool
	UnreadCommand       = "command"
	UnreadBudgetVersion = "turn" // of a pool
	UnreadStop          = "stop" // it counts as one
	// what is found out or counted anew: a class's record, an unavailable offering, the allowance, notes, the
	// collector's state
	UnreadRecord = "record"
)

// Unread is an item of the ledger that is there and cannot be read. It stops nothing but what depends on what it says.
type Unread struct {
	Kind string `json:"kind"`           // one of the kinds above
	Name string `json:"name,omitempty"` // of the claim, the pool or the class; the id of the intent or the command
	Key  string `json:"key"`            // its partition and sort key, with a space between
	Why  string `json:"why"`
	Gone bool   `json:"gone,omitempty"` // of a claim: the attribute beside it says that it is Gone
}

// UnreadItems are the items of one read that cannot be read, by key.
type UnreadItems []Unread

// Has reports whether an item of the kind and the name is among them.
func (u UnreadItems) Has(kind, name string) bool {
	return slices.ContainsFunc(u, func(i Unread) bool { return i.Kind == kind && i.Name == name })
}

// First returns the first of some names that one of a kind has, "" where none has any.
func (u UnreadItems) First(kind string, names ...string) string {
	for _, name := range names {
		if u.Has(kind, name) {
			return name
		}
	}
	return ""
}

// Of returns those of a kind.
func (u UnreadItems) Of(kind string) UnreadItems {
	var out UnreadItems
	for _, item := range u {
		if item.Kind == kind {
			out = append(out, item)
		}
	}
	return out
}

// Any reports whether an item of one of the kinds is among them.
func (u UnreadItems) Any(kinds ...string) bool {
	return slices.ContainsFunc(u, func(i Unread) bool { return slices.Contains(kinds, i.Kind) })
}

// Claims returns how many claims that may be live are among them.
func (u UnreadItems) Claims() int {
	n := 0
	for _, claim := range u.Of(UnreadClaim) {
		if !claim.Gone {
			n++
		}
	}
	return n
}

// Texts says of each what cannot be read, why and what is left alone meanwhile, of the first few; then how many there
// are more.
func (u UnreadItems) Texts() []string {
	const most = 3
	var out []string
	for i := range u {
		if i == most {
			return append(out, fmt.Sprintf("%d more items of the ledger cannot be read", len(u)-most))
		}
		out = append(out, u[i].Text())
	}
	return out
}

// Text says what cannot be read, why, and what is left alone meanwhile.
func (u *Unread) Text() string {
	text := fmt.Sprintf("item %s of the ledger cannot be read and is left out: %s", u.Key, u.Why)
	if means := u.Means(); means != "" {
		text += "; meanwhile " + means
	}
	return text
}

// Means says what is left alone while the item cannot be read; empty = nothing is.
func (u *Unread) Means() string {
	switch u.Kind {
	case UnreadClaim:
		return "no instance without a claim is terminated or adopted, usage is not recounted, and the claim counts" +
			" as an instance of every static NodePool"
	case UnreadIntent:
		return "its launch is waited for, no instance without a claim is terminated or adopted, and usage is not" +
			" recounted"
	case UnreadUsage:
		return fmt.Sprintf("nothing is launched for NodePool %s, whose limits are checked against it", u.Name)
	case UnreadCommand:
		return "its nodes stay as they are, and there is no voluntary disruption"
	case UnreadBudgetVersion:
		return fmt.Sprintf("no node of NodePool %s is disrupted voluntarily", u.Name)
	case UnreadStop:
		return "it counts as a stop"
	}
	return ""
}
