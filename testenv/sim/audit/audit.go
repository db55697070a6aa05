package audit

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Violation is one rule that was broken.
type Violation struct {
	Rule   string    // such as A1
	Seq    int64     // of the entry that broke it; 0 where the world was at rest
	At     time.Time // by the world's clock
	Object string    // what it is about, such as an intent's or a claim's name
	Text   string    // one sentence
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at %s (#%d) %s: %s", v.Rule, v.At.Format("15:04:05.000"), v.Seq, v.Object, v.Text)
}

// Checker holds rules.
type Checker interface {
	// Check takes in what happened since the last call, in order, and returns what broke a rule. It keeps none of it.
	Check(entries []world.Entry) []Violation
	// Quiet returns what does not hold although the world has had the time to come to rest.
	Quiet(now time.Time) []Violation
}
