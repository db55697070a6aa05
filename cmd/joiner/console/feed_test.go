package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// script is a source whose looks are given.
type script struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
	checks  int
	records Records
}

func (s *script) Read(context.Context) (*Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks++
	return s.cluster, s.err
}

func (s *script) Records(context.Context, int64, int64) (Records, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records, nil
}

func (s *script) set(c *Cluster, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster, s.err = c, err
}

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// small is a cluster of one node of NodePool default with pods on it, some that wait, and claims on their way.
func small(seconds, bound, waiting int, claims ...model.Claim) *Cluster {
	at := start.Unix() + int64(seconds)
	has := model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 20}
	snapshot := &model.Snapshot{
		Cluster: "shop", Epoch: 1, Seq: int64(seconds), AtUnix: at,
		Shapes: []model.PodShape{{Namespace: "a", OwnerKind: "ReplicaSet", OwnerName: "web", Requests: model.Resources{model.CPU: 500, model.Memory: 1 << 30, model.Pods: 1}}},
		Nodes: []model.Node{{
			Name: "n1", Labels: map[string]string{model.LabelNodePool: "default", model.LabelZone: "z1", model.LabelInstanceType: "m.large", model.LabelCapacityType: "spot", model.LabelRegistered: "true", model.LabelInitialized: "true"},
			Allocatable: has, Capacity: has, Ready: true, CreatedUnix: start.Unix() - 100,
		}},
	}
	for i := range bound + waiting {
		pod := model.Pod{UID: fmt.Sprint("u", i), Namespace: "a", Name: fmt.Sprintf("web-%02d", i), Unschedulable: i >= bound, CreatedUnix: start.Unix()}
		if i < bound {
			pod.NodeName, pod.Phase = "n1", model.Running
		}
		snapshot.Pods = append(snapshot.Pods, pod)
	}
	first := model.Claim{Name: "default-1", Pool: "default", Class: "default", State: model.Initialized, NodeName: "n1", Price: 40_000, LaunchedUnix: start.Unix() - 200}
	claims = append([]model.Claim{first}, claims...)
	return NewCluster("shop", "a script", &explain.Cluster{
		Ask:          pack.Input{Snapshot: snapshot, Claims: claims, NowUnix: at},
		Installation: &explain.Installation{Ledger: model.Ledger{Claims: claims}},
	})
}

func newTestFeed(source Source) *Feed {
	return NewFeed(source, Settings{Now: func() time.Time { return start }, Span: time.Hour})
}

// page keeps a state by the messages of a stream, as the page does.
type page struct{ state *State }

func (p *page) take(t *testing.T, text []byte) {
	t.Helper()
	lines := strings.SplitN(string(text), "\n", 4)
	event, data := strings.TrimPrefix(lines[0], "event: "), []byte(strings.TrimPrefix(lines[2], "data: "))
	if event == "state" {
		p.state = &State{}
		if err := json.Unmarshal(data, p.state); err != nil {
			t.Fatal(err)
		}
		return
	}
	var d Delta
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for _, row := range p.state.Nodes {
		rows[row.ID] = row
	}
	for _, row := range d.Nodes {
		rows[row.ID] = row
	}
	for _, id := range d.Gone {
		delete(rows, id)
	}
	p.state.Nodes = slices.SortedFunc(maps.Values(rows), compareRows)
	p.state.Version = d.Version
	if d.About != nil {
		p.state.About = *d.About
	}
	if d.Totals != nil {
		p.state.Totals = *d.Totals
	}
	if d.Waiting != nil {
		p.state.Waiting = *d.Waiting
	}
	p.state.Entries = append(d.Entries, p.state.Entries...)
	p.state.Prices = append(p.state.Prices, d.Prices...)
	if d.Curve != nil {
		p.state.Prices = d.Curve
	}
}

// TestChangesAddUpToTheState: a page that was there from the beginning shows what one shows that comes at the end.
func TestChangesAddUpToTheState(t *testing.T) {
	coming := model.Claim{Name: "default-2", Pool: "default", State: model.Launched, InstanceType: "m.large", Zone: "z2", CapacityType: "spot", Price: 50_000, LaunchedUnix: start.Unix() + 2, Requests: model.Resources{model.CPU: 900}}
	source := &script{cluster: small(0, 1, 0)}
	feed := newTestFeed(source)
	feed.Refresh(t.Context())
	early, leave, err := feed.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	first := &page{}
	for len(early) > 0 {
		first.take(t, <-early)
	}
	steps := []*Cluster{small(1, 1, 3), small(2, 1, 3, coming), small(3, 4, 0, coming), small(4, 2, 0)}
	source.records.Decisions = []model.Decision{{ID: "01A", AtUnix: start.Unix() + 2, Pending: 3, Launched: []string{"default-2"}}}
	for i, cluster := range steps {
		feed.readAt = time.Time{}
		source.set(cluster, nil)
		feed.Refresh(t.Context())
		for len(early) > 0 {
			first.take(t, <-early)
		}
		if i == 1 && (len(first.state.Nodes) != 2 || first.state.Nodes[1].State != StateLaunching || first.state.Nodes[1].CPU != 900) {
			t.Fatalf("the claim on its way is not shown: %+v", first.state.Nodes)
		}
	}
	late, leaveLate, err := feed.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer leaveLate()
	second := &page{}
	second.take(t, <-late)
	if !reflect.DeepEqual(first.state, second.state) {
		a, _ := json.MarshalIndent(first.state, "", " ")
		b, _ := json.MarshalIndent(second.state, "", " ")
		t.Errorf("by changes:\n%s\nat once:\n%s", a, b)
	}
	if len(second.state.Entries) != 1 || len(second.state.Nodes) != 1 || second.state.Nodes[0].CPU != 1000 {
		t.Errorf("the end is %+v", second.state)
	}
}

func TestWhatCannotBeReadIsSaidAndTheRestStays(t *testing.T) {
	source := &script{cluster: small(0, 2, 0)}
	feed := newTestFeed(source)
	feed.Refresh(t.Context())
	source.set(nil, errors.New("no permissions"))
	feed.Refresh(t.Context())
	if about := feed.state.About; about.Problem != "no permissions" || about.Cluster != "shop" || len(feed.state.Nodes) != 1 {
		t.Errorf("got %+v with %d nodes", about, len(feed.state.Nodes))
	}
	source.set(small(5, 2, 0), nil)
	feed.Refresh(t.Context())
	if feed.state.About.Problem != "" {
		t.Errorf("the problem stays: %s", feed.state.About.Problem)
	}
}

func TestNothingIsReadWhileNobodyWatches(t *testing.T) {
	source := &script{cluster: small(0, 1, 0)}
	feed := NewFeed(source, Settings{Every: time.Millisecond, Now: time.Now})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); feed.Run(ctx) }()
	messages, leave, err := feed.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	<-messages
	leave()
	feed.mutex.Lock() // no look is under way
	source.mu.Lock()
	before := source.checks
	source.mu.Unlock()
	feed.mutex.Unlock()
	if feed.watched() {
		t.Fatal("somebody watches")
	}
	stop()
	<-done
	if source.checks > before+1 {
		t.Errorf("%d looks while nobody watched", source.checks-before)
	}
}

// TestWhoIsTooFarBehindBeginsAnew: a browser that does not read holds up nobody.
func TestWhoIsTooFarBehindBeginsAnew(t *testing.T) {
	source := &script{cluster: small(0, 0, 0)}
	feed := newTestFeed(source)
	feed.Refresh(t.Context())
	messages, _, err := feed.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	for i := range backlog + 3 {
		source.set(small(i+1, i%5+1, 0), nil)
		feed.Refresh(t.Context())
	}
	n := 0
	for range messages {
		n++
	}
	if n != backlog || feed.watched() {
		t.Errorf("%d messages before the end, and it is still told: %v", n, feed.watched())
	}
}

func TestPodsThatWaitSayWhatFor(t *testing.T) {
	coming := model.Claim{Name: "default-2", Pool: "default", State: model.Launched, InstanceType: "m.large", Zone: "z2", CapacityType: "spot"}
	cluster := small(0, 0, 5, coming)
	cluster.snapshot().Shapes = append(cluster.snapshot().Shapes, cluster.snapshot().Shapes[0])
	cluster.snapshot().Shapes[1].Gated = true
	cluster.snapshot().Pods[4].Shape = 1
	ref := func(i int) model.PodRef {
		p := cluster.snapshot().Pods[i]
		return model.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	}
	plan := &model.Plan{
		Claims:        []model.PlannedClaim{{Name: "x", Pool: "default", Offering: model.OfferingKey{InstanceType: "c.large", CapacityType: "spot"}, Price: 80_000, Pods: []model.PodRef{ref(0)}}},
		Nominations:   []model.Nomination{{Node: "default-2", Pods: []model.PodRef{ref(1)}}},
		Unschedulable: []model.Unschedulable{{Pod: ref(2), Reasons: []model.Reason{{Pool: "default", Code: "TooLarge", Message: "it is too large", Remedy: "make it smaller"}, {Pool: "other", Code: "TooLarge", Message: "it is too large", Remedy: "make it smaller"}}}},
	}
	got := WaitingPods(cluster, plan)
	want := []struct{ how, why string }{
		{WaitsUnplaced, "it is too large"},
		{WaitsNew, "Its node is launched next: NodePool default, c.large spot at $0.0800 per hour."},
		{WaitsNode, "Its instance was launched and has not registered: NodeClaim default-2, m.large spot in z2."},
		{WaitsOther, "It has scheduling gates left."},
		{WaitsPlan, "It is planned in the next run."},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, w := range want {
		found := slices.ContainsFunc(got, func(g Waiting) bool { return g.How == w.how && g.Why == w.why && g.Pods == 1 && g.Workload == "a/web" })
		if !found {
			t.Errorf("want %d: %+v\ngot %+v", i, w, got)
		}
	}
	if pools := got[0].Reasons[0].Pools; len(got[0].Reasons) != 1 || !slices.Equal(pools, []string{"default", "other"}) || got[0].Remedy != "make it smaller" {
		t.Errorf("reasons are not folded: %+v", got[0])
	}
}

func TestTheServerAnswersOverTheWire(t *testing.T) {
	feed := newTestFeed(&script{cluster: small(0, 2, 1)})
	server := httptest.NewUnstartedServer(nil)
	hosts, err := Hosts(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := NewServer(feed, hosts)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go feed.Run(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	if err != nil || line != "event: state\n" || stream.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream begins with %q, %v", line, err)
	}
	for path, want := range map[string]string{
		"/": "<title>Joiner", "/app.js": "EventSource", "/api/node?id=default-1": `"claimState":"Initialized"`,
		"/api/plan": `"id":"now"`, "/api/dryrun": `"commands":[]`,
		"/api/saving": `"nodes":0}`, "/api/pools": "[]", "/api/node?id=nobody": "unknown here", "/api/decision?id=x": "unknown here",
	} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		body.ReadFrom(answer.Body)
		answer.Body.Close()
		if !strings.Contains(body.String(), want) || (answer.StatusCode == http.StatusOK) == strings.Contains(want, "unknown here") {
			t.Errorf("%s: %d %.200s", path, answer.StatusCode, body.String())
		}
	}
}
