package admission

import (
	"io"
	"net/http"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Handler answers reviews that are posted to it; tell is told of those that could not be answered, and may be nil.
func Handler(judge Judge, tell func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
