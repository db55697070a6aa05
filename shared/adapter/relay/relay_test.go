package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/execute"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	clouddynamodb "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// server is an API server that counts what it is asked.
type server struct {
	mu     sync.Mutex
	asked  []string
	answer func(wire.RelayRequest) (wire.RelayAnswer, error)
}

func (s *server) Do(_ context.Context, group string, r wire.RelayRequest) (wire.RelayAnswer, error) {
	s.mu.Lock()
	s.asked = append(s.asked, group+" "+r.Method+" "+r.Path+" "+string(r.Body))
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(r)
	}
	return wire.RelayAnswer{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"of":"` + r.Path + `"}`)}, nil
}

func (s *server) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// site is a queue, a table and a bucket, with a function's role and what both sides are made of.
type site struct {
	t       testing.TB
	cloud   *cloud.Cloud
	queue   *sqs.Client
	url     string
	answers *Answers
	groups  map[string]string
	server  *server
	relay   *Relay
	rights  aws.Config
	table   *dynamodb.Client
}

const clusterName = "prod"

func newSite(t testing.TB) *site {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, cloud: c, server: &server{}, groups: map[string]string{}}
	c.Register("dynamodb", clouddynamodb.NewHandler(clouddynamodb.NewModel(clouddynamodb.Options{Account: c.Account(), Region: c.Region()})))
	s.table = dynamodb.NewFromConfig(c.Config())
	if err := dynamoledger.New(s.table, "joiner").EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(c.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("data"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(c.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	s.answers = NewAnswers(s.table, "joiner", objects, "data")
	s.queue = sqs.NewFromConfig(c.Config())
	out, err := s.queue.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("joiner-relay-" + clusterName)})
	if err != nil {
		t.Fatal(err)
	}
	s.url = *out.QueueUrl
	s.rights = s.role("joiner-prod-provision", "joiner:functions")
	s.relay = New(c.Config(), "joiner", "data")
	s.relay.answers.objects = objects
	return s
}

// role makes a role and returns its permissions. The watcher knows it where it has a group.
func (s *site) role(name, group string) aws.Config {
	s.t.Helper()
	s.cloud.STS.AddRole(sts.Role{Name: name})
	keys, err := s.cloud.STS.Assume("arn:aws:iam::"+s.cloud.Account()+":role/"+name, "session", time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	config := s.cloud.ConfigFor(keys)
	if group != "" {
		s.groups[s.roleID(config)] = group
	}
	return config
}

// roleID is the unique id that a queue shows of who sent.
func (s *site) roleID(config aws.Config) string {
	s.t.Helper()
	if _, err := sqs.NewFromConfig(config).SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &s.url, MessageBody: aws.String("who am I")}); err != nil {
		s.t.Fatal(err)
	}
	inbox := NewInbox(s.queue, s.url)
	messages, err := inbox.Receive(s.t.Context(), 1)
	if err != nil || len(messages) != 1 || !strings.HasPrefix(messages[0].Sender, "AROA") {
		s.t.Fatalf("%+v %v", messages, err)
	}
	if err := inbox.Done(s.t.Context(), messages[0].Receipt); err != nil {
		s.t.Fatal(err)
	}
	return messages[0].Sender
}

// executor is a watcher's side.
func (s *site) executor() *execute.Executor {
	return &execute.Executor{
		Cluster: clusterName, Groups: s.groups, Inbox: NewInbox(s.queue, s.url), Answers: s.answers, Server: s.server, Now: time.Now,
		Pause: func(context.Context, time.Duration) { time.Sleep(20 * time.Millisecond) }, Log: func(execute.Note) {},
	}
}

// watch runs a watcher until the test ends.
func (s *site) watch() {
	ctx, stop := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	c := s.executor()
	go func() { defer close(ended); c.Run(ctx) }()
	s.t.Cleanup(func() { stop(); <-ended })
}

func (s *site) registration() model.Registration {
	return model.Registration{Cluster: clusterName, Region: s.cloud.Region(), RelayURL: s.url}
}

// ask sends one request with the permissions and returns status and body.
func (s *site) ask(rights aws.Config, within time.Duration, method, path, body string) (*http.Response, string, error) {
	s.t.Helper()
	client := &http.Client{Transport: s.relay.Through(rights, s.registration())}
	// A Timeout of the client would replace errors that come a moment after it by text, as on a busy computer.
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "https://relay.invalid"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

const node = "/api/v1/nodes/a"

func TestARequestIsAnsweredAsTheAPIServerAnswersIt(t *testing.T) {
	s := newSite(t)
	s.watch()
	s.server.answer = func(r wire.RelayRequest) (wire.RelayAnswer, error) {
		return wire.RelayAnswer{Status: 429, Header: map[string]string{"Content-Type": "application/json", "Retry-After": "10"}, Body: []byte("budget")}, nil
	}
	response, body, err := s.ask(s.rights, time.Minute, "POST", "/api/v1/namespaces/a/pods/b/eviction", "{}")
	if err != nil || response.StatusCode != 429 || response.Header.Get("Retry-After") != "10" || body != "budget" {
		t.Fatalf("%+v %q %v", response, body, err)
	}
	if got := s.server.heard(); !slices.Equal(got, []string{"joiner:functions POST /api/v1/namespaces/a/pods/b/eviction {}"}) {
		t.Errorf("%q", got)
	}
}

func TestAnswersOfAnySizeArriveAndNothingOfThemCanBeReadOnTheWay(t *testing.T) {
	s := newSite(t)
	s.watch()
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 10_000, maxInlineBytes + 1, 3_000_000} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(random.UintN(256)) // does not pack
		}
		copy(want, "SECRET")
		s.server.answer = func(wire.RelayRequest) (wire.RelayAnswer, error) {
			return wire.RelayAnswer{Status: 200, Body: want}, nil
		}
		if _, body, err := s.ask(s.rights, time.Minute, "DELETE", node, ""); err != nil || body != string(want) { // it is sent once, however long it takes
			t.Errorf("of %d bytes came %d: %v", size, len(body), err)
		}
	}
	out, err := s.table.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("joiner")})
	if err != nil || len(out.Items) != 5 {
		t.Fatalf("%d items: %v", len(out.Items), err)
	}
	for _, entry := range out.Items {
		if strings.Contains(fmt.Sprintf("%s", entry), "SECRET") || entry["ttl"] == nil {
			t.Errorf("%v", entry)
		}
	}
}

func TestManyAtOnceAreAnsweredEachWithItsOwn(t *testing.T) {
	s := newSite(t)
	s.watch()
	s.watch() // two replicas
	client := &http.Client{Transport: s.relay.Through(s.rights, s.registration()), Timeout: 30 * time.Second}
	var group sync.WaitGroup
	for i := range 150 {
		group.Go(func() {
			path := fmt.Sprintf("/api/v1/nodes/n%d", i)
			request, _ := http.NewRequestWithContext(t.Context(), "PATCH", "https://relay.invalid"+path, strings.NewReader(fmt.Sprint(i)))
			response, err := client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != `{"of":"`+path+`"}` {
				t.Errorf("%s: %s %v", path, body, err)
			}
		})
	}
	group.Wait()
	heard := s.server.heard()
	slices.Sort(heard)
	if len(slices.Compact(heard)) != 150 || len(s.server.heard()) != 150 {
		t.Errorf("carried out %d times", len(s.server.heard()))
	}
}

func codeAndKind(err error) string { return fault.KindOf(err).String() + " " + fault.CodeOf(err) }

// M54: without a watcher nothing is known of the cluster (law 7), and no error says that an object is not there.
func TestWithoutAWatcherNothingIsKnown(t *testing.T) {
	s := newSite(t)
	began := time.Now()
	_, _, err := s.ask(s.rights, 1500*time.Millisecond, "DELETE", node, "")
	if codeAndKind(err) != "Internal "+CodeNotStarted {
		t.Errorf("%v", err)
	}
	timed.Within(t, "a request that nobody takes is given up", time.Since(began), 3*time.Second)
	// It is carried out by nobody later on. Ages are reported to the second.
	time.Sleep(1200 * time.Millisecond)
	s.watch()
	if _, _, err := s.ask(s.rights, time.Minute, "GET", node, ""); err != nil {
		t.Fatal(err)
	}
	if got := s.server.heard(); len(got) != 1 || !strings.Contains(got[0], "GET") {
		t.Errorf("%v", got)
	}
}

func TestNoErrorOfTheRelayIsTakenForAnObjectThatIsNotThere(t *testing.T) {
	s := newSite(t)
	reg := s.registration()
	reg.RelayURL += "-gone"
	client := &http.Client{Transport: s.relay.Through(s.rights, reg), Timeout: 5 * time.Second}
	_, err := client.Get("https://relay.invalid" + node)
	if !fault.Is(err, fault.Internal) {
		t.Errorf("no queue: %v", err)
	}
	lost := New(s.cloud.Config(), "no-table", "data")
	client = &http.Client{Transport: lost.Through(s.rights, s.registration()), Timeout: time.Second}
	if _, err := client.Get("https://relay.invalid" + node); !fault.Is(err, fault.Internal) {
		t.Errorf("no table: %v", err)
	}
}

func TestWhoIsNotKnownIsToldSo(t *testing.T) {
	s := newSite(t)
	s.watch()
	stranger := s.role("stranger", "")
	if _, _, err := s.ask(stranger, 10*time.Second, "GET", node, ""); codeAndKind(err) != "Denied "+CodeRefused || !strings.Contains(err.Error(), "relay.senders") {
		t.Errorf("%v", err)
	}
	if _, _, err := s.ask(s.rights, time.Minute, "GET", "/api/v1/namespaces/a/secrets/b", ""); codeAndKind(err) != "Denied "+CodeRefused {
		t.Errorf("%v", err)
	}
	if len(s.server.heard()) != 0 {
		t.Errorf("%v", s.server.heard())
	}
}

func TestABodyThatIsTooLargeIsNotSent(t *testing.T) {
	s := newSite(t)
	s.watch()
	for _, size := range []int{800_000, 2_000_000} {
		if _, _, err := s.ask(s.rights, time.Minute, "PATCH", node, strings.Repeat("x", size)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "the queue to cluster prod takes") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// A watcher that dies between carrying out and answering: who asked learns that it is unknown, and the message that comes again is
// not carried out again. The one that died before it asked the API server looks the same from outside.
func TestAWatcherThatDiesWithARequestHasItCarriedOutAtMostOnce(t *testing.T) {
	s := newSite(t)
	died := errors.New("died")
	dying := s.executor()
	dying.Answers = dies{s.answers, died}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var receipt string
	dying.Inbox = keeps{NewInbox(s.queue, s.url), func(r string) { receipt = r; stop() }}
	go func() { defer close(ended); dying.Run(ctx) }()
	_, _, err := s.ask(s.rights, 10*time.Second, "DELETE", node, "")
	if codeAndKind(err) != "Internal "+CodeUnanswered {
		t.Errorf("%v", err)
	}
	<-ended
	if got := s.server.heard(); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	// Another replica is given the very message, while it is not too old.
	if _, err := s.queue.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.url, ReceiptHandle: &receipt}); err != nil {
		t.Fatal(err)
	}
	var notes noteStore
	c := s.executor()
	c.Inbox, c.Log = young{c.Inbox}, notes.write
	next, end := context.WithCancel(t.Context())
	go c.Run(next)
	until(t, func() bool { return notes.has("repeated") })
	end()
	if got := s.server.heard(); len(got) != 1 {
		t.Errorf("carried out %d times", len(got))
	}
}

// noteStore keeps what a carrier tells.
type noteStore struct {
	mu       sync.Mutex
	reported []string
}

func (n *noteStore) write(note execute.Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reported = append(n.reported, note.What)
}

func (n *noteStore) has(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.reported, what)
}

// dies fails to keep answers, as a process does that is killed before.
type dies struct {
	*Answers
	err error
}

func (d dies) Store(context.Context, wire.RelayRequest, string, wire.RelayAnswer) error { return d.err }

// keeps releases nothing and ends the program instead.
type keeps struct {
	*Inbox
	stop func(receipt string)
}

func (k keeps) Done(_ context.Context, receipt string) error {
	k.stop(receipt)
	return errors.New("died")
}

// young says of every request that it was sent just now, however slow the instance is.
type young struct{ execute.Inbox }

func (y young) Receive(ctx context.Context, most int) ([]wire.RelayMessage, error) {
	messages, err := y.Inbox.Receive(ctx, most)
	for i := range messages {
		messages[i].Age = 0
	}
	return messages, err
}

// What reads is asked a second time where the watcher that was asked first went away.
func TestWhatReadsIsAskedAgain(t *testing.T) {
	s := newSite(t)
	inbox := NewInbox(s.queue, s.url)
	gone := make(chan error, 1)
	go func() {
		messages, err := inbox.Receive(t.Context(), 1) // and never releases it
		if err == nil && len(messages) != 1 {
			err = fmt.Errorf("%d messages", len(messages))
		}
		gone <- err
		s.watch()
	}()
	_, body, err := s.ask(s.rights, time.Minute, "GET", node, "")
	if err != nil || !strings.Contains(body, node) {
		t.Errorf("%s %v", body, err)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

// Whoever may write to the table, and is not the watcher, cannot answer.
func TestAForgedAnswerIsNotBelieved(t *testing.T) {
	s := newSite(t)
	forged := make(chan error, 1)
	go func() {
		messages, err := NewInbox(s.queue, s.url).Receive(t.Context(), 1)
		if err == nil {
			var r wire.RelayRequest
			if r, err = wire.DecodeRelayRequest(messages[0].Body); err == nil {
				r.Key = bytes.Repeat([]byte{1}, wire.RelayKeyBytes) // which only readers of the queue know
				err = s.answers.Store(t.Context(), r, "x", wire.RelayAnswer{Status: 404})
			}
		}
		forged <- err
	}()
	_, _, err := s.ask(s.rights, time.Minute, "DELETE", node, "")
	if codeAndKind(err) != "Internal "+CodeForged {
		t.Errorf("%v", err)
	}
	if err := <-forged; err != nil {
		t.Error(err)
	}
}

// M54: a function that is killed while it waits leaves an answer that nobody reads, and what it asked for is done once.
func TestAFunctionThatIsKilledWhileItWaits(t *testing.T) {
	s := newSite(t)
	release := make(chan struct{})
	s.server.answer = func(wire.RelayRequest) (wire.RelayAnswer, error) {
		<-release
		return wire.RelayAnswer{Status: 200}, nil
	}
	s.watch()
	ctx, kill := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		request, _ := http.NewRequestWithContext(ctx, "DELETE", "https://relay.invalid"+node, nil)
		_, err := s.relay.Through(s.rights, s.registration()).RoundTrip(request)
		done <- err
	}()
	until(t, func() bool { return len(s.server.heard()) == 1 })
	kill()
	if err := <-done; !fault.Is(err, fault.Internal) {
		t.Errorf("%v", err)
	}
	close(release)
	until(t, func() bool {
		out, err := s.table.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("joiner")})
		return err == nil && len(out.Items) == 1 && out.Items[0]["answer"] != nil
	})
	if len(s.server.heard()) != 1 {
		t.Errorf("%v", s.server.heard())
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("it did not come to that in two minutes")
		}
	}
}

// The age of a message is measured by the queue, whatever the watcher's clock says.
func TestAgeIsToldByTheQueuesClock(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for sent, want := range map[string]time.Duration{"1799999990000": 10 * time.Second, "1800000000900": 0, "": wire.MaxRelayAge, "x": wire.MaxRelayAge} {
		if got := ageOf(sent, now); got != want {
			t.Errorf("%q: %s, want %s", sent, got, want)
		}
	}
	s := newSite(t)
	inbox := NewInbox(s.queue, s.url)
	inbox.now = func() time.Time { return time.Unix(0, 0) } // a clock that is off by decades
	if _, err := s.queue.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &s.url, MessageBody: aws.String("x")}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond)
	messages, err := inbox.Receive(t.Context(), 1)
	if err != nil || len(messages) != 1 || messages[0].Age < time.Second || messages[0].Age > 10*time.Second {
		t.Errorf("%+v %v", messages, err)
	}
}

// What the relay adds to a request: go test -run '^$' -bench Relay ./shared/adapter/relay
func BenchmarkRelayedRequest(b *testing.B) {
	s := newSite(b)
	s.watch()
	transport := s.relay.Through(s.rights, s.registration())
	for _, method := range []string{"GET", "PATCH"} {
		b.Run(method, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				request, _ := http.NewRequestWithContext(b.Context(), method, "https://relay.invalid"+node, nil)
				response, err := transport.RoundTrip(request)
				if err != nil {
					b.Fatal(err)
				}
				response.Body.Close()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
