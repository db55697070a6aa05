package admission

import (
	"io"
	"net/http"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// atOnce is how many reviews are answered at a time. An API server has few; whoever else can reach the endpoint shall not keep the
// program from its work.
const (
	atOnce      = 4
	waitForSeat = time.Second
)

// Handler answers reviews that are posted to it; tell is told of those that could not be answered, and may be nil. Of too many at
// once some are turned away.
func Handler(judge Judge, tell func(error)) http.Handler {
	seats := make(chan struct{}, atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case seats <- struct{}{}:
			defer func() { <-seats }()
		case <-time.After(waitForSeat):
			http.Error(w, "too many reviews at once", http.StatusTooManyRequests)
			return
		case <-r.Context().Done():
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBytes+1))
		if err != nil {
			http.Error(w, "the review is too large or broke off", http.StatusRequestEntityTooLarge)
			return
		}
		answer, err := Review(r.Context(), body, judge)
		if err != nil {
			if tell != nil {
				tell(err)
			}
			status := Status(err)
			http.Error(w, http.StatusText(status), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer)
	})
}

// Status returns the HTTP status for an error of Review.
func Status(err error) int {
	switch {
	case fault.CodeOf(err) == "TooLarge":
		return http.StatusRequestEntityTooLarge
	case fault.Is(err, fault.Invalid):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
