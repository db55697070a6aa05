package admission

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// atOnce is how many reviews are answered at a time. An API server has few; whoever else can reach the endpoint shall
// not keep the program from its work. Bodies are read before that, so that a slow one holds up no review: a body that
// comes slowly costs little memory, and those that come fast soon end, so that readAtOnce bounds bytes of them
// together, not their number.
const (
	atOnce      = 4
	waitForSeat = time.Second
	readAtOnce  = 16 * MaxBytes
)

// Handler answers reviews that are posted to it; report is called with those that could not be answered, and may be
// nil. Of too many at once some are turned away.
func Handler(evaluate EvaluateFunc, report func(error)) http.Handler {
	seats := make(chan struct{}, atOnce)
	var reading atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > MaxBytes {
			http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
			return
		}
		counted := &counted{of: r.Body, all: &reading}
		defer counted.forget()
		body, err := io.ReadAll(http.MaxBytesReader(w, counted, MaxBytes+1))
		switch {
		case errors.Is(err, errBusy):
			http.Error(w, "too many reviews at once", http.StatusTooManyRequests)
			return
		case err != nil:
			http.Error(w, "the review is too large or broke off", http.StatusRequestEntityTooLarge)
			return
		}
		select {
		case seats <- struct{}{}:
			defer func() { <-seats }()
		case <-time.After(waitForSeat):
			http.Error(w, "too many reviews at once", http.StatusTooManyRequests)
			return
		case <-r.Context().Done():
			return
		}
		answer, err := Handle(r.Context(), body, evaluate)
		if err != nil {
			if report != nil {
				report(err)
			}
			status := HTTPStatus(err)
			http.Error(w, http.StatusText(status), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // where it fails, the API server has gone and asks again
	})
}

// errBusy is that the bodies read at the same time are too many bytes together.
var errBusy = errors.New("too many bytes of reviews at once")

// counted is a body whose bytes count with those of all others that are being read or answered.
type counted struct {
	of  io.ReadCloser
	all *atomic.Int64
	own int64
}

func (c *counted) Read(into []byte) (int, error) {
	if c.all.Load() >= readAtOnce {
		return 0, errBusy
	}
	n, err := c.of.Read(into)
	c.own += int64(n)
	c.all.Add(int64(n))
	return n, err
}

func (c *counted) Close() error { return c.of.Close() }

func (c *counted) forget() { c.all.Add(-c.own) }

// HTTPStatus returns the HTTP status for an error of Handle.
func HTTPStatus(err error) int {
	switch {
	case fault.CodeOf(err) == "TooLarge":
		return http.StatusRequestEntityTooLarge
	case fault.Is(err, fault.Invalid):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
