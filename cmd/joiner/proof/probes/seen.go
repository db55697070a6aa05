package probes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// one is the only reading there is.
func one(says string, want proof.Seen) []proof.Reading {
	return []proof.Reading{{Name: "documented", Says: says, Want: want}}
}

// status returns the status and code of an error, e.g. "404 NotFound"; "ok" of none.
func status(err error) string {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return strconv.Itoa(answer.HTTPStatusCode()) + " " + proof.Code(err)
	}
	return proof.Code(err)
}

// header returns a header of the answer that an error is.
func header(err error, name string) string {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil && answer.Response.Response != nil {
		return answer.Response.Header.Get(name)
	}
	return ""
}

// sorted returns the keys of a map in an order that is always the same, so that a record can be replayed.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func count(n int) string { return strconv.Itoa(n) }

// countWords returns how many of some words there are, as "1 ok, 7 ConditionalCheckFailedException", sorted by word.
func countWords(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	out := ""
	for len(words) > 0 {
		n := 1
		for n < len(words) && words[n] == words[0] {
			n++
		}
		if out != "" {
			out += ", "
		}
		out += strconv.Itoa(n) + " " + words[0]
		words = words[n:]
	}
	return out
}

func errorf(format string, a ...any) error { return fmt.Errorf(format, a...) }
