package ec2

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// pages is how an action pages: what MaxResults may be, and what it is when absent.
type pages struct{ least, most, otherwise int }

// page returns the items after token, at most max of them, and the token of the
// next page, "" when it is the last. items are sorted by key, which is unique; a
// token names the last key given out, so that items that come or go between two
// pages neither repeat nor hide others.
func page[T any](items []T, key func(T) string, limits pages, max *int, token string) ([]T, string, error) {
	size := limits.otherwise
	if max != nil {
		size = *max
		if size < limits.least || size > limits.most {
			return nil, "", wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, limits.least, limits.most)
		}
	}
	start := 0
	if token != "" {
		last, ok := decodeToken(token)
		if !ok {
			return nil, "", wire.Errorf("InvalidNextToken", "The specified token is not valid: %s", token)
		}
		start, _ = slices.BinarySearchFunc(items, last, func(item T, last string) int {
			if key(item) <= last {
				return -1
			}
			return 1
		})
	}
	items = items[start:]
	if size == 0 || len(items) <= size {
		return items, "", nil
	}
	items = items[:size]
	return items, encodeToken(key(items[size-1])), nil
}

const tokenMark = "after:"

func encodeToken(key string) string {
	return base64.StdEncoding.EncodeToString([]byte(tokenMark + key))
}

func decodeToken(token string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(raw), tokenMark)
}

// pickByID keeps the items whose id was asked for, in their own order; all when
// none was. An id nothing has is an error with the given code.
func pickByID[T any](items []T, ids []string, id func(T) string, code, kind string) ([]T, error) {
	if len(ids) == 0 {
		return items, nil
	}
	wanted := map[string]bool{} // false until found
	for _, want := range ids {
		wanted[want] = false
	}
	out := []T{}
	for _, item := range items {
		if _, ok := wanted[id(item)]; ok {
			wanted[id(item)] = true
			out = append(out, item)
		}
	}
	missing := slices.DeleteFunc(sortedKeys(wanted), func(want string) bool { return wanted[want] })
	if len(missing) > 0 {
		return nil, wire.Errorf(code, "The %s '%s' does not exist", kind, strings.Join(missing, ", "))
	}
	return out, nil
}

// leftPad writes n so that texts sort as numbers do.
func leftPad(n int64) string {
	s := strconv.FormatInt(n, 10)
	return strings.Repeat("0", 20-len(s)) + s
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
