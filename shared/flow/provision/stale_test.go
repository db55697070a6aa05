package provision_test

import (
	"context"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
)

// staleIntents shows, at every reading, a ledger of before; what is written reaches the real one.
type staleIntents struct {
	provision.Claims
	seen model.Ledger
}

func (s staleIntents) Load(context.Context, model.Registration) (model.Ledger, error) {
	return s.seen, nil
}
