package admission

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// Connections that send one byte of a body and then nothing hold up no review.
func TestW11SlowBodiesTakeNoSeat(t *testing.T) {
	handler := Handler(func(context.Context, model.Admission) model.Verdict { return model.Verdict{} }, nil)
	server := httptest.NewServer(handler)
	defer server.Close()
	var bodies []*io.PipeWriter
	for range 64 {
		from, to := io.Pipe()
		bodies = append(bodies, to)
		sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, from)
		if err != nil {
			t.Fatal(err)
		}
		sent.ContentLength = 1000
		go func() {
			if answer, err := http.DefaultClient.Do(sent); err == nil {
				answer.Body.Close()
			}
		}()
		to.Write([]byte{'{'}) // returns once the client has taken it
	}
	for range 12 {
		answer, err := http.Post(server.URL, "application/json", bytes.NewReader(review("CREATE", "karpenter.sh", "NodePool", poolObject, "null")))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("a review was answered with %s", answer.Status)
		}
	}
	for _, body := range bodies {
		body.CloseWithError(io.ErrUnexpectedEOF)
	}
}

// Bodies that come fast are bounded by their bytes together, and what was read is released.
func TestW11BodiesAtOnceAreBoundedByTheirBytes(t *testing.T) {
	handler := Handler(func(context.Context, model.Admission) model.Verdict { return model.Verdict{} }, nil)
	post := func(body io.Reader) int {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/admit", body))
		return recorder.Code
	}
	if got := post(bytes.NewReader(make([]byte, MaxBytes+1))); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a review that is too large is answered with %d", got)
	}
	var held []*io.PipeWriter
	done := make(chan int, 16)
	for range 16 { // bodies that lack their end
		from, to := io.Pipe()
		held = append(held, to)
		go func() { done <- post(from) }()
		to.Write(make([]byte, MaxBytes))
	}
	if got := <-done; got != http.StatusTooManyRequests { // whichever reads on
		t.Errorf("beyond the bound a review is answered with %d", got)
	}
	for _, to := range held {
		to.CloseWithError(io.ErrUnexpectedEOF)
	}
	for range len(held) - 1 {
		<-done
	}
	if got := post(bytes.NewReader(review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"))); got != http.StatusOK {
		t.Errorf("after them a review is answered with %d", got)
	}
}
