package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Recording is a record that was read back.
type Recording struct {
	Head      Head
	Exchanges []Exchange
	Results   []Result
}

// ReadRecording reads what a Recorder wrote. The error names the line.
func ReadRecording(from io.Reader) (*Recording, error) {
	out := &Recording{}
	lines := bufio.NewReader(from)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				return nil, fmt.Errorf("record: line %d: %w", n, err)
			}
			switch {
			case l.Head != nil && n == 1:
				out.Head = *l.Head
			case l.Exchange != nil:
				out.Exchanges = append(out.Exchanges, *l.Exchange)
			case l.Result != nil:
				out.Results = append(out.Results, *l.Result)
			default:
				return nil, fmt.Errorf("record: line %d is no head, exchange or result", n)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("record: line %d: %w", n, err)
		}
	}
	if out.Head.Format != recordFormat {
		return nil, fmt.Errorf("record: format is %d; this build reads %d", out.Head.Format, recordFormat)
	}
	return out, nil
}

// Player is a Doer that answers as a record says: each call of a part gets the answers that calls of that name got, in
// their order. It is a Clock, too, that shows the time at which the last answer came, and later where somebody slept. It is safe for
// concurrent use.
type Player struct {
	mu    sync.Mutex
	waits map[string][]Exchange
	begun time.Time
	now   time.Time
}

// Now implements Clock.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Sleep implements Clock. It returns at once.
func (p *Player) Sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
	return ctx.Err()
}

// NewPlayer returns a player of a record.
func NewPlayer(r *Recording) *Player {
	p := &Player{waits: map[string][]Exchange{}, begun: r.Head.Begun, now: r.Head.Begun}
	for _, x := range r.Exchanges {
		key := playKey(x.Part, x.Service, x.Action, x.Caller)
		p.waits[key] = append(p.waits[key], x)
	}
	return p
}

func playKey(part, service, action, caller string) string {
	return strings.Join([]string{part, service, action, caller}, "\x00")
}

// Do implements Doer. A call that was not recorded is an error.
func (p *Player) Do(request *http.Request) (*http.Response, error) {
	op, part := operationOf(request.Context()), partOf(request.Context())
	caller, _ := request.Context().Value(callerKey{}).(string)
	if _, err := drain(request); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := playKey(part, op.service, op.action, caller)
	queue := p.waits[key]
	if len(queue) == 0 {
		return nil, &NotRecorded{Part: part, Call: op.service + ":" + op.action}
	}
	p.waits[key] = queue[1:]
	x := queue[0]
	if at := p.begun.Add(time.Duration((x.At + x.Took) * float64(time.Second))); at.After(p.now) {
		p.now = at
	}
	if x.Error != "" {
		return nil, errors.New(x.Error)
	}
	header := http.Header{}
	for name, value := range x.Headers {
		header.Set(name, value)
	}
	return &http.Response{
		Status: http.StatusText(x.Status), StatusCode: x.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(x.Response)), ContentLength: int64(len(x.Response)), Request: request,
	}, nil
}

// NotRecorded says that a probe makes a call now that the record has no answer to.
type NotRecorded struct{ Part, Call string }

func (e *NotRecorded) Error() string {
	return fmt.Sprintf("the record has no further answer to %s of %s: the probe makes other calls than when it was recorded; record it anew", e.Call, e.Part)
}
