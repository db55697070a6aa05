package interruption

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Take makes the request what a hint asks for too. Hints of drain runs say when the step they were sent for is due, and how
// often in a row it could not be done; hints of others say neither.
func (r *Request) Take(hint wire.Hint) {
	if hint.Reason != wire.ReasonDrain {
		return
	}
	due, tries, ok := parseStepKey(hint.Tick)
	if ok {
		r.Dues = append(r.Dues, due)
		r.Tries = max(r.Tries, tries)
	} else {
		due = parseDatedKey(hint.Tick)
	}
	r.AsOfUnix = max(r.AsOfUnix, due)
	r.Undated = r.Undated || due == 0
}

// handled reports whether whoever holds the drainer's lease has looked at all this request is about, or is about to: it took the
// lease after that, and so short a time ago that it is at work still. Should it die its own hint comes again. Clocks
// may differ by a second.
func (r *Request) handled(holder model.Fence, nowUnix int64) bool {
	const skew, fresh = 1, 5
	return !r.Undated && r.AsOfUnix != 0 && holder.SinceUnix > r.AsOfUnix+skew && holder.SinceUnix <= nowUnix+skew && nowUnix-holder.SinceUnix <= fresh
}

// datedKey is the key of a hint for what was on record at a time.
func datedKey(key string, atUnix int64) string { return fmt.Sprintf("%s@%d", key, atUnix) }

// parseDatedKey returns the time of a datedKey, 0 of any other text.
func parseDatedKey(key string) int64 {
	_, text, _ := strings.Cut(key, "@")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil || at < 0 {
		return 0
	}
	return at
}

// stepKey is the key of the hint for a step that is due at a time and was tried without effect so often.
func stepKey(dueUnix int64, tries int) string { return fmt.Sprintf("step/%d/%d", dueUnix, tries) }

// parseStepKey is stepKey the other way round; false for any other text.
func parseStepKey(key string) (dueUnix int64, tries int, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 || parts[0] != "step" {
		return 0, 0, false
	}
	dueUnix, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || dueUnix < 0 {
		return 0, 0, false
	}
	tries, err = strconv.Atoi(parts[2])
	return dueUnix, tries, err == nil && tries >= 0
}
