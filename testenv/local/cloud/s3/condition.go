package s3

import (
	"net/http"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

func preconditionFailed() error {
	return wire.StatusErrorf(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
}

// conflictEvery is how many conditional puts there are to one that is answered as if another went on at the same time.
const conflictEvery = 13

// conflicts tells whether a put is answered ConditionalRequestConflict. The lock is held.
func (m *Model) conflicts(h http.Header) error {
	if h.Get("If-Match") == "" && h.Get("If-None-Match") == "" {
		return nil
	}
	if m.conditional++; m.conditional%conflictEvery != 0 || m.reads.Takes(reading.ConditionalConflict) {
		return nil
	}
	return wire.StatusErrorf(http.StatusConflict, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting operation against this resource.")
}

// checkWrite tells whether a put over current (nil: nothing there) may proceed.
func checkWrite(h http.Header, current *object) error {
	match, noneMatch := h.Get("If-Match"), h.Get("If-None-Match")
	switch {
	case noneMatch != "" && noneMatch != "*":
		return wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented")
	case noneMatch == "*" && current != nil:
		return preconditionFailed()
	case match != "" && current == nil:
		return errorKey
	case match != "" && !etagMatches(match, current.etag):
		return preconditionFailed()
	}
	return nil
}

// checkRead tells whether o may be read; the error may be 304 without a body.
func checkRead(h http.Header, o *object) error {
	notModified := &wire.Error{Code: "NotModified", Status: http.StatusNotModified, Headers: map[string]string{"ETag": o.etag}}
	if match := h.Get("If-Match"); match != "" {
		if !etagMatches(match, o.etag) {
			return preconditionFailed()
		}
	} else if since, ok := httpTime(h.Get("If-Unmodified-Since")); ok && o.modified.Truncate(time.Second).After(since) {
		return preconditionFailed()
	}
	if noneMatch := h.Get("If-None-Match"); noneMatch != "" {
		if etagMatches(noneMatch, o.etag) {
			return notModified
		}
	} else if since, ok := httpTime(h.Get("If-Modified-Since")); ok && !o.modified.Truncate(time.Second).After(since) {
		return notModified
	}
	return nil
}

// etagMatches compares with a list of ETags, with or without quotes, or "*".
func etagMatches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.Trim(candidate, `"`) == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}

func httpTime(s string) (time.Time, bool) {
	t, err := http.ParseTime(s)
	return t, err == nil
}
