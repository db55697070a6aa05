package fault

import (
	"errors"
	"fmt"
)

// Kind says what a caller may do about an error.
type Kind uint8

// The kinds. The zero value is Internal, so that an error nobody classified is retried a few times and then reported.
const (
	Internal   Kind = iota // unexpected, or the other side broke: retry a few times
	NotFound               // the thing is not there: already gone, or never was
	Conflict               // somebody else changed it first: read again and plan again
	Invalid                // the input is wrong: report it on its object, do not repeat it as it is
	NoCapacity             // the offering has none now: mark it and use the next
	Throttled              // asked too often: back off, and mark no capacity as gone
	Denied                 // not permitted: stop this object only, and alarm
	Exhausted              // a limit of ours (pool limit, budget) leaves no room
)

var kindNames = [...]string{"Internal", "NotFound", "Conflict", "Invalid", "NoCapacity", "Throttled", "Denied",
	"Exhausted"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Error is an error of a known kind.
type Error struct {
	Kind    Kind
	Code    string // the other side's own code, such as InsufficientInstanceCapacity; empty where there is none
	Message string // one sentence, lower case, for a person
	Err     error  // the cause; may be nil
}

// New returns an error of a kind without a cause.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns err as an error of a kind, keeping it as the cause. It returns nil for a nil err.
func Wrap(kind Kind, code string, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

func (e *Error) Error() string {
	text := e.Message
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost Error in err's chain, and Internal where there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// CodeOf returns the code of the outermost Error in err's chain that has one, and "" where none has.
func CodeOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Code != "" {
			return e.Code
		}
		err = e.Err
	}
	return ""
}

// Is reports whether err is not nil and of the kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
