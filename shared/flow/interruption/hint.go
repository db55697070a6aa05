package interruption

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Take makes the request what a hint asks for too. Hints of drain runs say when the step they were sent for is due, and how
// often in a row it could not be done; hints of others say neither.
func (r *Request) Take(hint wire.Hint) {
	due, tries, ok := parseStepKey(hint.Tick)
	if !ok || hint.Reason != wire.ReasonDrain {
		return
	}
	r.Dues = append(r.Dues, due)
	r.Tries = max(r.Tries, tries)
}

// stepKey is the key of the hint for a step that is due at a time and was tried in vain so often.
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
