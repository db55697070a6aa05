package model

import (
	"strconv"
	"strings"
)

// Operations an API server asks about before it carries them out, spelled as it does.
const (
	OperationCreate = "CREATE"
	OperationUpdate = "UPDATE"
	OperationDelete = "DELETE"
)

// Admission is a change of one object that an API server asks about before it stores it. One of Pool, Class and
// StandaloneClaim is set: the object as it would be stored, of a deletion as it is stored now. Of an update the Old one
// of the same kind is set too.
type Admission struct {
	Operation       string
	Pool            *Pool
	OldPool         *Pool
	Class           *Class
	OldClass        *Class
	StandaloneClaim *StandaloneClaim // a NodeClaim that somebody makes by hand
	// Reference is what the object's nodeClassRef names where that is nothing of ours, group/kind/name; "" = it is of
	// ours, or the object has none. Pool and StandaloneClaim of such an object are nil, and so is everything else.
	Reference string
	// Ignored are parts of the object that its schema has and nothing goes by, as sentences that findings are printed
	// as.
	Ignored []string
}

// Finding is one problem of an object: field, value, message, remedy.
type Finding struct {
	// as kubectl explain writes it, list items by number and map entries by key; "" = of the object
	Field   string `json:"field"`
	Value   string `json:"value,omitempty"`  // what was found there; "" = nothing, or it would not help
	Message string `json:"message"`          // lower case and without a full stop
	Remedy  string `json:"remedy,omitempty"` // a sentence; "" where nothing need be done
}

// String returns field, value, message and remedy in one line.
func (f Finding) String() string {
	text := f.Message
	if f.Value != "" {
		text = strconv.Quote(f.Value) + ": " + text
	}
	if f.Field != "" {
		text = f.Field + ": " + text
	}
	if f.Remedy != "" {
		text += remedyMark + f.Remedy
	}
	return text
}

const remedyMark = ". Remedy: "

// ParseFinding reads what String returned of a finding that has a field. A sentence that begins with none is a message
// as a whole, but for its remedy. Objects carry what is wrong with them as such sentences, in snapshots too.
func ParseFinding(sentence string) Finding {
	var f Finding
	sentence, f.Remedy, _ = strings.Cut(sentence, remedyMark)
	field, rest, found := strings.Cut(sentence, ": ")
	if !found || strings.ContainsAny(field, " \"") {
		f.Message = sentence
		return f
	}
	f.Field, f.Message = field, rest
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		if after, colon := strings.CutPrefix(rest[len(quoted):], ": "); colon {
			f.Value, _ = strconv.Unquote(quoted)
			f.Message = after
		}
	}
	return f
}

// Verdict is what is said to an admission. Without refusals it is allowed.
type Verdict struct {
	Refusals []Finding `json:"refusals,omitempty"` // in the order of the fields
	Warnings []Finding `json:"warnings,omitempty"` // what is allowed and may not be meant, the most important first
}

// Allowed reports whether nothing is refused.
func (v *Verdict) Allowed() bool { return len(v.Refusals) == 0 }
