package console

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestHostsAreThoseTheServerIsReachedBy(t *testing.T) {
	for _, c := range []struct {
		address string
		others  []string
		want    []string
	}{
		{"127.0.0.1:8080", nil, []string{"127.0.0.1:8080", "[::1]:8080", "localhost:8080"}},
		{"10.0.0.7:8080", nil, []string{"10.0.0.7:8080"}},
		{"[::]:8080", []string{"Console.Example", "other:80"}, []string{"console.example:8080", "other:80"}},
	} {
		got, err := Hosts(c.address, c.others...)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %v: got %v, %v; want %v", c.address, c.others, got, err, c.want)
		}
	}
	if _, err := Hosts("nonsense"); err == nil {
		t.Error("an address without a port is taken")
	}
}

// TestOtherSitesAreRefused: neither a name that somebody has resolve to this machine nor a page of another site reads anything.
func TestOtherSitesAreRefused(t *testing.T) {
	hosts, err := Hosts("127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	handler := guard(hosts, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		want                     int
	}{
		{"the address bar", "GET", "/", "127.0.0.1:8080", map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{"a program", "GET", "/api/events", "localhost:8080", nil, 200},
		{"its own page", "GET", "/api/events", "[::1]:8080", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://[::1]:8080"}, 200},
		{"a name that was rebound", "GET", "/api/events", "evil.example:8080", nil, 421},
		{"another port of this machine", "GET", "/api/events", "127.0.0.1:9090", nil, 421},
		{"no name", "GET", "/", "", nil, 421},
		{"another site's script", "GET", "/api/events", "127.0.0.1:8080", map[string]string{"Origin": "https://evil.example"}, 403},
		{"another site's script without an origin", "GET", "/api/events", "127.0.0.1:8080", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"another server of this machine", "GET", "/api/events", "127.0.0.1:8080", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"another site's form", "POST", "/api/replay", "127.0.0.1:8080", map[string]string{"Origin": "null"}, 403},
		{"a link to the page", "GET", "/", "127.0.0.1:8080", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a frame of the page", "GET", "/", "127.0.0.1:8080", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := httptest.NewRequest(c.method, c.path, nil)
			request.Host = c.host
			for key, value := range c.header {
				request.Header.Set(key, value)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.want {
				t.Errorf("got %d, want %d", answer.Code, c.want)
			}
			for _, word := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"} {
				if policy := answer.Header().Get("Content-Security-Policy"); !strings.Contains(policy, word) {
					t.Errorf("policy %q lacks %q", policy, word)
				}
			}
		})
	}
}
