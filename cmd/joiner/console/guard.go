package console

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

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
