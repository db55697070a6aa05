package ec2fleet

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
)

// knownWithin is for how many tries, one a second, EC2 may not know a launch template after it was made (EC2 API
// reference, "Eventual consistency"): a launch from it is refused as if there were none.
const knownWithin = 6

// fresh reports whether this process made one of a request's templates a moment ago.
func (f *Fleet) fresh(r *request) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, t := range r.Templates {
		if made, by := f.born[t.Name]; by && f.now().Sub(made) < freshFor {
			return true
		}
	}
	return false
}

// missing notes that EC2 did not know the templates of a request. Those that are fresh are waited for before the next
// launch.
func (f *Fleet) missing(r *request) {
	young := f.fresh(r)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, t := range r.Templates {
		if delete(f.made, t.Name); young {
			f.unseen[t.Name] = true
		}
	}
}

// await waits until EC2 knows templates that it did not know before, as far as dry runs of the request say. A launch
// would use up its client token, as EC2 may be read.
func (f *Fleet) await(ctx context.Context, r *request) {
	f.mutex.Lock()
	waits := false
	for _, t := range r.Templates {
		waits = waits || f.unseen[t.Name]
		delete(f.unseen, t.Name)
	}
	f.mutex.Unlock()
	if waits {
		_ = f.try(ctx, r) // the launch says what is wrong
	}
}

// try dry runs a request, again while EC2 does not know a template that was made a moment ago.
func (f *Fleet) try(ctx context.Context, r *request) error {
	input := r.input()
	input.DryRun = aws.Bool(true)
	_, err := f.client.CreateFleet(ctx, input, once)
	for tries := 1; templateGone(sdkerr.Code(err)) && f.fresh(r) && tries < knownWithin; tries++ {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
		_, err = f.client.CreateFleet(ctx, input, once)
	}
	return err
}
