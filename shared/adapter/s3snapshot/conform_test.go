package s3snapshot

import (
	"context"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

type underTest struct{ *Store }

func (s underTest) Decided(ctx context.Context, cluster string, atUnix int64, id string) (model.Decision, error) {
	return s.Decision(ctx, cluster, Day(atUnix), id)
}

func (s underTest) Disrupted(ctx context.Context, cluster string, atUnix int64, id string) (model.Disrupted, error) {
	return s.Disruption(ctx, cluster, Day(atUnix), id)
}

func TestStoreKeepsTheContract(t *testing.T) {
	conform.Store(t, func(t *testing.T) conform.StorePort {
		_, store := start(t)
		return underTest{store}
	})
}
