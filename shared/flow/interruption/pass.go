package interruption

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// pass is one look at a cluster, and what is done about it.
type pass struct {
	*session
	observed
	request Request
	fence   model.Fence
	out     Outcome
}

// observed is what is, as EC2, the ledger and the API server say.
type observed struct {
	spent   time.Duration // from the start of the first read of EC2 until the ledger had said what time it is
	readAt  time.Time     // by this process's clock, before the API server was read
	records model.ClusterRecords
	live    model.LiveState
	claims  map[string]bool // names the ledger knows, live and gone
	polled  polled          // what EC2 said of instances that are about to end
}

// polled is what asking came to, for the collector state.
type polled struct {
	next     int64 // when spot instances are asked about next; 0 = not before there are any
	hint     bool  // nobody was asked for that yet
	checked  int64
	impaired []model.Suspect
}
