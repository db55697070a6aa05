package disrupt

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. Paused clusters get theirs too: what was on its way when they were paused is undone. It returns how many hints were
// sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	return fault.Each(registrations, func(reg model.Registration) error {
		if err := f.Hints.Judge(ctx, reg.Cluster, ownKey+tick, 0); err != nil {
			return fmt.Errorf("hint the judge of cluster %s: %w", reg.Cluster, err)
		}
		return nil
	})
}

// ownKey begins the keys of hints this flow sends because time has passed. Whoever else sends one has seen something change.
const ownKey = "due/"

// busyKey begins the keys of hints that come back because another judge was at work; how often follows.
const busyKey = ownKey + "busy/"

// Take makes the request what a hint asks for too.
func (r *Request) Take(hint wire.Hint) {
	r.Told = r.Told || !strings.HasPrefix(hint.Tick, ownKey)
	if count, busy := strings.CutPrefix(hint.Tick, busyKey); busy {
		count, _, _ = strings.Cut(count, "/")
		n, _ := strconv.Atoi(count) // 0 where it is none of ours
		r.Returns = max(r.Returns, n)
	}
}
