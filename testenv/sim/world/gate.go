package world

import (
	"context"
	"time"
)

// Op is one operation a process asks of the world.
type Op struct {
	Process string // who asks
	Name    string // port and method in lower case, such as "ledger.record" or "fleet.launch"
	Write   bool   // whether it can change anything

	Least time.Duration // how long it takes at least on its way: for so long the client of the process waits by itself
}

// Gate stands between a process and the models. It lets one operation through at a time and decides what goes wrong with
// it: act not carried out, carried out and its answer lost, delayed, or the process killed around it.
type Gate interface {
	// Pass carries out act, or not, and returns its error or the gate's own. It is called on the process's goroutine and
	// returns on it; a process that was killed gets an error here for ever after.
	Pass(ctx context.Context, op Op, act func() error) error
}
