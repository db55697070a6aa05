package work

import (
	"context"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

type registry struct {
	port.Registry
	all []model.Registration
	err error
}

func (r registry) Clusters(context.Context) ([]model.Registration, error) { return r.all, r.err }

// F3: clusters whose registrations can be read get their hints beside one whose cannot, which is reported.
func TestF3FanOutReachesEveryClusterThatCanBeRead(t *testing.T) {
	unread := fault.New(fault.Invalid, model.CodeUnreadCluster, "b cannot be read")
	var hinted []string
	sent, err := FanOut(t.Context(), registry{all: []model.Registration{{Cluster: "a"}, {Cluster: "c"}}, err: unread}, "resync",
		func(model.Registration) bool { return false }, func(cluster string) error {
			hinted = append(hinted, cluster)
			return nil
		})
	if sent != 2 || !slices.Equal(hinted, []string{"a", "c"}) || fault.CodeOf(err) != model.CodeUnreadCluster {
		t.Errorf("%d sent, to %v, %v", sent, hinted, err)
	}
}
