package referee

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Exchange is one request that came to the model of AWS.
type Exchange struct {
	Who     string // ARN of the caller's session
	Service string
	Action  string
	Form    url.Values // of EC2 and IAM
}

// Asked is one thing a request asked of IAM.
type Asked struct {
	Who    string // ARN of the caller's session
	Access wire.Access
}

// Record holds what came, in order. It is safe for concurrent use.
type Record struct {
	mu        sync.Mutex
	exchanges []Exchange
	asked     []Asked
}

// Exchanges returns what has come of an action.
func (r *Record) Exchanges(action string) []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Exchange
	for _, e := range r.exchanges {
		if e.Action == action {
			out = append(out, e)
		}
	}
	return out
}

// Asked returns what was asked of IAM.
func (r *Record) Asked() []Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Asked{}, r.asked...)
}

// Forget drops everything.
func (r *Record) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges, r.asked = nil, nil
}

func (r *Record) ask(who string, asked ...wire.Access) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range asked {
		r.asked = append(r.asked, Asked{who, a})
	}
}

// tap writes down what comes to a service on its way to the handler.
type tap struct {
	record  *Record
	service string
	book    *access.Book
	http.Handler
}

// ActionName implements cloud.ActionNamer for services whose requests carry no name.
func (t tap) ActionName(r *http.Request) string {
	if namer, ok := t.Handler.(cloud.ActionNamer); ok {
		return namer.ActionName(r)
	}
	if _, action, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return action
	}
	body, err := again(r)
	if err != nil {
		return ""
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return form.Get("Action")
}

// again returns the body of a request, which can be read once more.
func again(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func (t tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := again(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e := Exchange{Who: wire.Caller(r.Context()).ARN, Service: t.service, Action: t.ActionName(r)}
	if access.BySelf(t.service) {
		e.Form, _ = url.ParseQuery(string(body)) // what is no form the handler refuses
		if guard := wire.GuardOf(r.Context()); guard != nil {
			r = r.WithContext(wire.WithGuard(r.Context(), func(a wire.Access) string {
				t.record.ask(e.Who, a)
				return guard(a)
			}))
		}
	} else if asked, err := t.book.Of(access.Request{Service: t.service, Action: e.Action, HTTP: r, Body: body, Account: wire.Caller(r.Context()).Account}); err == nil {
		t.record.ask(e.Who, asked...)
	}
	t.record.mu.Lock()
	t.record.exchanges = append(t.record.exchanges, e)
	t.record.mu.Unlock()
	t.Handler.ServeHTTP(w, r)
}
