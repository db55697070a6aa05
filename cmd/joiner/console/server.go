package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"time"
)

// assets is the page as ui/ is built into it; a test holds it to what it was built of.
//
//go:embed assets
var assets embed.FS

// heartbeat is how long a stream is silent at most, so that both ends notice when the other is gone.
const heartbeat = 15 * time.Second

// Server answers browsers.
type Server struct {
	feed    *Feed
	handler http.Handler
}

// NewServer returns the handler of page, stream and questions, for requests that name one of the hosts (see Hosts).
func NewServer(feed *Feed, hosts []string) (*Server, error) {
	page, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	s := &Server{feed: feed}
	mux := http.NewServeMux()
	mux.Handle("GET /", files(page))
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("GET /api/node", answered(func(ctx context.Context, id string) (any, error) { return feed.Node(ctx, id) }))
	mux.HandleFunc("GET /api/pod", answered(func(ctx context.Context, id string) (any, error) { return feed.Pod(ctx, id) }))
	mux.HandleFunc("POST /api/replay", answered(func(ctx context.Context, id string) (any, error) { return feed.Replay(ctx, id) }))
	mux.HandleFunc("GET /api/decision", answered(func(ctx context.Context, id string) (any, error) { return feed.Decision(ctx, id) }))
	mux.HandleFunc("GET /api/plan", answered(func(ctx context.Context, _ string) (any, error) { return feed.PlanNow(ctx) }))
	mux.HandleFunc("GET /api/dryrun", answered(func(ctx context.Context, _ string) (any, error) { return feed.DryRun(ctx) }))
	s.handler = guard(hosts, mux)
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// files serves the page. It is asked for anew each time, which costs nothing on the same machine, so that another build is seen.
func files(page fs.FS) http.Handler {
	server := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}

// answered answers with what is found out about the thing that the parameter id names, as JSON.
func answered(ask func(ctx context.Context, id string) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		answer, err := ask(r.Context(), r.URL.Query().Get("id"))
		if err != nil {
			w.WriteHeader(statusOf(err))
			answer = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(answer) // it fails where whoever asked has gone
	}
}

func statusOf(err error) int {
	if errors.Is(err, errUnknown) {
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// events is the stream: the state first, then what changes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	messages, leave, err := s.feed.Subscribe()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(w)
	if err := stream.Flush(); err != nil {
		return
	}
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		text := []byte(": \n\n")
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		case message, more := <-messages:
			if !more {
				return // too far behind; the browser comes again and begins anew
			}
			text = message
		}
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := stream.Flush(); err != nil {
			return
		}
	}
}
