package execute

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// world is everything around a carrier.
type world struct {
	mu       sync.Mutex
	inbox    []wire.RelayMessage
	done     []string
	returned []string
	taken    map[string]string // digest by id
	answers  map[string]wire.RelayAnswer
	asked    []string // group, method and path
	notes    []Note
	fails    error // of Take
	answer   func(wire.RelayRequest) (wire.RelayAnswer, error)
	empty    chan struct{} // closed when there is nothing left to receive
	once     sync.Once
	receives func() error
}

func newWorld() *world {
	return &world{taken: map[string]string{}, answers: map[string]wire.RelayAnswer{}, empty: make(chan struct{})}
}

func (w *world) Receive(ctx context.Context, most int) ([]wire.RelayMessage, error) {
	w.mu.Lock()
	if w.receives != nil {
		if err := w.receives(); err != nil {
			w.mu.Unlock()
			return nil, err
		}
	}
	n := min(most, len(w.inbox))
	out := slices.Clone(w.inbox[:n])
	w.inbox = w.inbox[n:]
	w.mu.Unlock()
	if n == 0 {
		w.once.Do(func() { close(w.empty) })
		<-ctx.Done()
	}
	return out, nil
}

func (w *world) Done(_ context.Context, receipt string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, receipt)
	return nil
}

func (w *world) Return(_ context.Context, receipt string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = append(w.returned, receipt)
	return nil
}

func (w *world) Start(_ context.Context, r wire.RelayRequest, digest string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		return w.fails
	}
	if w.taken[r.ID] != "" {
		return fault.New(fault.Conflict, "", "taken")
	}
	w.taken[r.ID] = digest
	return nil
}

func (w *world) Store(_ context.Context, r wire.RelayRequest, digest string, a wire.RelayAnswer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, answered := w.answers[r.ID]
	if answered || w.taken[r.ID] != "" && w.taken[r.ID] != digest {
		return fault.New(fault.Conflict, "", "answered")
	}
	w.taken[r.ID], w.answers[r.ID] = digest, a
	return nil
}

func (w *world) Do(_ context.Context, group string, r wire.RelayRequest) (wire.RelayAnswer, error) {
	w.mu.Lock()
	w.asked = append(w.asked, group+" "+r.Method+" "+r.Path)
	w.mu.Unlock()
	if w.answer != nil {
		return w.answer(r)
	}
	return wire.RelayAnswer{Status: 200}, nil
}

func (w *world) report(n Note) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n)
}

func (w *world) what() []string {
	var out []string
	for _, n := range w.notes {
		out = append(out, n.What)
	}
	slices.Sort(out)
	return out
}

func (w *world) executor() *Executor {
	return &Executor{
		Cluster: "prod", Groups: map[string]string{"AROAPROVISION": "joiner:functions", "AROAENDS": "joiner:interruption"},
		Inbox: w, Answers: w, Server: w, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Pause: func(context.Context, time.Duration) {}, Log: w.report,
	}
}

// run carries out what is in the inbox and returns when it is done.
func (w *world) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.executor().Run(ctx) }()
	<-w.empty
	time.Sleep(20 * time.Millisecond) // what was received is underway; Run ends it
	stop()
	<-ended
}

var ids atomic.Int64

// message is one of a function.
func message(t *testing.T, sender, method, path string, change ...func(*wire.RelayRequest)) wire.RelayMessage {
	t.Helper()
	r := wire.RelayRequest{
		ID: hex.EncodeToString(fmt.Appendf(nil, "%016d", ids.Add(1))), Cluster: "prod", Method: method, Path: path, Key: make([]byte, wire.RelayKeyBytes), WithinMillis: 10_000,
	}
	for _, f := range change {
		f(&r)
	}
	body, err := wire.EncodeRelayRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	return wire.RelayMessage{Receipt: r.ID, Sender: sender, Body: body}
}

func idOf(t *testing.T, m wire.RelayMessage) string {
	t.Helper()
	r, err := wire.DecodeRelayRequest(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

const node = "/api/v1/nodes/a"

func TestRequestsHaveTheRightsOfTheGroupOfTheirSender(t *testing.T) {
	w := newWorld()
	w.inbox = []wire.RelayMessage{message(t, "AROAPROVISION", "PATCH", node), message(t, "AROAENDS", "DELETE", node)}
	w.run(t)
	slices.Sort(w.asked)
	if want := []string{"joiner:functions PATCH " + node, "joiner:interruption DELETE " + node}; !slices.Equal(w.asked, want) {
		t.Errorf("%v", w.asked)
	}
	if len(w.done) != 2 || len(w.returned) != 0 || len(w.answers) != 2 {
		t.Errorf("done %v, returned %v, answers %v", w.done, w.returned, w.answers)
	}
}

func TestWhatIsRefusedIsNotCarriedOutAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		message wire.RelayMessage
		word    string
		says    string
	}{
		"a stranger":      {message(t, "AROASTRANGER", "GET", node), wire.RelayUnknownSender, "AROASTRANGER"},
		"nobody":          {message(t, "", "GET", node), wire.RelayUnknownSender, "relay.senders"},
		"another cluster": {message(t, "AROAPROVISION", "GET", node, func(r *wire.RelayRequest) { r.Cluster = "test" }), wire.RelayNotAllowed, "test"},
		"a secret":        {message(t, "AROAPROVISION", "GET", "/api/v1/namespaces/a/secrets/b"), wire.RelayNotAllowed, "/secrets"},
	} {
		w := newWorld()
		w.inbox = []wire.RelayMessage{c.message}
		w.run(t)
		answer := w.answers[idOf(t, c.message)]
		if len(w.asked) != 0 || answer.Refused != c.word || !slices.Equal(w.what(), []string{"refused"}) || len(w.done) != 1 {
			t.Errorf("%s: asked %v, answered %+v, %v", name, w.asked, answer, w.what())
		}
		if !strings.Contains(answer.Message, c.says) {
			t.Errorf("%s: %s does not name %s", name, answer.Message, c.says)
		}
	}
}

func TestWhatIsTooOldIsNeitherCarriedOutNorAnswered(t *testing.T) {
	for _, c := range []struct {
		age    time.Duration
		within int64
		method string
		stale  bool
	}{
		{9 * time.Second, 10_000, "PATCH", false}, {10 * time.Second, 10_000, "PATCH", true}, {10 * time.Second, 10_000, "GET", true},
		{19 * time.Second, 60_000, "DELETE", false}, {wire.MaxRelayAge, 60_000, "DELETE", true}, {time.Hour, 60_000, "GET", true},
	} {
		w := newWorld()
		m := message(t, "AROAENDS", c.method, node, func(r *wire.RelayRequest) { r.WithinMillis = c.within })
		m.Age = c.age
		w.inbox = []wire.RelayMessage{m}
		w.run(t)
		if (len(w.asked) == 0) != c.stale || (len(w.answers) == 0) != c.stale || len(w.done) != 1 {
			t.Errorf("%+v: asked %v, answers %v, done %v", c, w.asked, w.answers, w.done)
		}
	}
}

func TestAMessageThatComesManyTimesIsCarriedOutOnce(t *testing.T) {
	w := newWorld()
	m := message(t, "AROAENDS", "POST", "/api/v1/namespaces/a/pods/b/eviction")
	for i := range 20 {
		m.Receipt = fmt.Sprint(i)
		w.inbox = append(w.inbox, m)
	}
	w.run(t)
	if len(w.asked) != 1 || len(w.done) != 20 || len(w.answers) != 1 {
		t.Errorf("asked %v, done %d, answers %d", w.asked, len(w.done), len(w.answers))
	}
}

// The watcher that took a request died: whoever gets the message next does not know whether it was carried out, so it is not again.
func TestWhatADeadWatcherTookIsNotCarriedOut(t *testing.T) {
	w := newWorld()
	m := message(t, "AROAENDS", "DELETE", node)
	w.taken[idOf(t, m)] = m.Digest()
	w.inbox = []wire.RelayMessage{m}
	w.run(t)
	if len(w.asked) != 0 || len(w.answers) != 0 || len(w.done) != 1 || !slices.Equal(w.what(), []string{"repeated"}) {
		t.Errorf("asked %v, answers %v, done %v, %v", w.asked, w.answers, w.done, w.what())
	}
}

// Somebody who may send takes another's id: the answer of the first stays, and nothing of the second is carried out.
func TestAnIDThatIsTakenByAnotherIsOfNoUse(t *testing.T) {
	w := newWorld()
	first := message(t, "AROAENDS", "DELETE", node)
	second := message(t, "AROAPROVISION", "PATCH", node, func(r *wire.RelayRequest) { r.ID = idOf(t, first) })
	w.inbox = []wire.RelayMessage{first}
	w.run(t)
	w.inbox, w.empty, w.once = []wire.RelayMessage{second}, make(chan struct{}), sync.Once{}
	w.run(t)
	if len(w.asked) != 1 || w.taken[idOf(t, first)] != first.Digest() {
		t.Errorf("asked %v", w.asked)
	}
}

func TestWithoutTheTableNothingIsCarriedOutAndAnotherReplicaMayTry(t *testing.T) {
	w := newWorld()
	w.fails = fault.New(fault.Internal, "", "no table")
	w.inbox = []wire.RelayMessage{message(t, "AROAENDS", "DELETE", node)}
	w.run(t)
	if len(w.asked) != 0 || len(w.returned) != 1 || len(w.done) != 0 {
		t.Errorf("asked %v, returned %v, done %v", w.asked, w.returned, w.done)
	}
}

func TestAnAPIServerThatDoesNotAnswerIsSaid(t *testing.T) {
	w := newWorld()
	w.answer = func(wire.RelayRequest) (wire.RelayAnswer, error) {
		return wire.RelayAnswer{}, errors.New("connection reset")
	}
	m := message(t, "AROAENDS", "DELETE", node)
	w.inbox = []wire.RelayMessage{m}
	w.run(t)
	if a := w.answers[idOf(t, m)]; a.Broken != "Internal" || a.Message != "connection reset" || a.Refused != "" {
		t.Errorf("%+v", a)
	}
}

func TestMalformedMessagesAreDropped(t *testing.T) {
	w := newWorld()
	w.inbox = []wire.RelayMessage{{Receipt: "1", Sender: "AROAENDS", Body: []byte("{")}, {Receipt: "2", Sender: "AROAENDS"}}
	w.run(t)
	if len(w.done) != 2 || !slices.Equal(w.what(), []string{"malformed", "malformed"}) {
		t.Errorf("done %v, %v", w.done, w.what())
	}
}

func TestSoManyAreCarriedOutAtOnceAndAllEndBeforeRunDoes(t *testing.T) {
	w := newWorld()
	var now, most atomic.Int64
	w.answer = func(wire.RelayRequest) (wire.RelayAnswer, error) {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return wire.RelayAnswer{Status: 200}, nil
	}
	for range 100 {
		w.inbox = append(w.inbox, message(t, "AROAENDS", "GET", node))
	}
	w.run(t)
	if len(w.answers) != 100 || len(w.done) != 100 || most.Load() != defaultParallel {
		t.Errorf("%d answers, %d done, %d at once", len(w.answers), len(w.done), most.Load())
	}
}

func TestWhatWasNotBegunWhenTheProgramEndsGoesToAnotherReplica(t *testing.T) {
	w := newWorld()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	c := w.executor()
	c.handle(ctx, message(t, "AROAENDS", "DELETE", node), c.Now())
	if len(w.asked) != 0 || len(w.returned) != 1 {
		t.Errorf("asked %v, returned %v", w.asked, w.returned)
	}
}

func TestAQueueThatFailsIsAskedAgain(t *testing.T) {
	w := newWorld()
	failures := 3
	w.receives = func() error {
		if failures--; failures >= 0 {
			return errors.New("no queue")
		}
		return nil
	}
	w.inbox = []wire.RelayMessage{message(t, "AROAENDS", "GET", node)}
	w.run(t)
	if len(w.answers) != 1 || !slices.Equal(w.what(), []string{"carried", "receive", "receive", "receive"}) {
		t.Errorf("%v", w.what())
	}
}
