package offering

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/joiner-sh/joiner/shared/model"
)

// Refusal returns the refusal of EC2's that keeps launches from a class at nowUnix, nil where none does: its time is over, or people have
// changed the class since.
func Refusal(class model.Class, refusals []model.ClassRefusal, nowUnix int64) *model.ClassRefusal {
	for i := range refusals {
		refusal := &refusals[i]
		if refusal.Class == class.Name && refusal.Inputs == Inputs(class) && nowUnix < refusal.UntilUnix {
			return refusal
		}
	}
	return nil
}

// Refused returns a class's status with the refusal as a problem; nil = the status as it is.
func Refused(status model.ClassStatus, refusal *model.ClassRefusal) model.ClassStatus {
	if refusal != nil {
		status.Problems = append(status.Problems[:len(status.Problems):len(status.Problems)],
			model.ClassProblem{Condition: model.Validated, Reason: refusal.Reason, Message: refusal.Message})
	}
	return status
}

// Inputs is a digest of what people say in a class, 16 hexadecimal digits: an edit, or another annotation, gives another.
func Inputs(class model.Class) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %q", class.UID, class.Generation, class.Annotations))
	return hex.EncodeToString(sum[:8])
}
