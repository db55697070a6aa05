package ekscluster

import (
	"context"
	"net/http"
	"sync/atomic"
)

// dated notes what time it is by the API server's clock, which stands in the head of each of its answers, for whoever
// asks for that with withDate.
type dated struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if noted, ok := request.Context().Value(dateKey{}).(*atomic.Int64); ok && err == nil {
		if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			noted.Store(at.Unix())
		}
	}
	return response, err
}

type dateKey struct{}

// withDate returns a context under which the time of the last answer is noted; 0 until there is one that says.
func withDate(ctx context.Context) (context.Context, *atomic.Int64) {
	noted := new(atomic.Int64)
	return context.WithValue(ctx, dateKey{}, noted), noted
}
