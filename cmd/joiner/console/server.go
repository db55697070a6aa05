package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	saving := func(ctx context.Context, _ string) (any, error) { return feed.Saving(ctx) }
	mux.HandleFunc("GET /api/saving", answered(saving))
	pools := func(ctx context.Context, _ string) (any, error) { return feed.Pools(ctx) }
	mux.HandleFunc("GET /api/pools", answered(pools))
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

// policy lets the page load what comes with it from here and nothing else, and be framed by nobody.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Hosts returns the values of the header Host by which a server is known that listens at address: for one on the loopback
// interface its own names there, and in each case the others that are given, with the port or without.
func Hosts(address string, others ...string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	var hosts []string
	add := func(name string) {
		if _, _, err := net.SplitHostPort(name); err == nil {
			hosts = append(hosts, strings.ToLower(name))
			return
		}
		hosts = append(hosts, strings.ToLower(net.JoinHostPort(strings.Trim(name, "[]"), port)))
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		add("localhost")
		add("127.0.0.1")
		add("::1")
	}
	if ip == nil || !ip.IsUnspecified() {
		add(host)
	}
	for _, other := range others {
		add(other)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// guard refuses what does not name one of the hosts, as a name of somebody else's that resolves to this machine would not, and
// what another site's page asks for.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case !known(hosts, r.Host):
			http.Error(w, "This server is not known by the name "+fmt.Sprintf("%q", r.Host)+"; start it with --host to allow it.", http.StatusMisdirectedRequest)
		case !own(hosts, r):
			http.Error(w, "A page of another site sent this request.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// known reports whether host is one of the hosts. A browser leaves out the default port.
func known(hosts []string, host string) bool {
	host = strings.ToLower(host)
	return slices.Contains(hosts, host) || slices.Contains(hosts, host+":80")
}

// own reports whether a request comes from a page of this server, from the address bar, or from no browser.
func own(hosts []string, r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		return err == nil && known(hosts, from.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// A link on another site may open the page itself, which tells that site nothing.
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
