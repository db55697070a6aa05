package interruption

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Begin is begin, for tests that play a whole world.
func Begin(ctx context.Context, f *Flow, clients Clients, reg model.Registration, claim model.Claim, why Cause) (model.Claim, bool, error) {
	return sessionOf(f, clients, reg).begin(ctx, claim, why)
}

func sessionOf(f *Flow, clients Clients, reg model.Registration) *session {
	if f.Now == nil {
		f.Now = time.Now
	}
	s := f.session(time.Time{})
	s.clients, s.reg = clients, reg
	return s
}
