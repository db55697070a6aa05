package world_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// underTest is a queue and its clock as the contract wants them.
type underTest struct {
	*world.Queue
	now  *time.Time
	dead *world.Queue
}

func (q underTest) Send(ctx context.Context, body, group, dedup string, delay time.Duration) (string, error) {
	return q.Queue.Send(ctx, world.Outgoing{Body: body, Group: group, Dedup: dedup, Delay: delay})
}

func (q underTest) Receive(ctx context.Context, most int) ([]conform.QueueMessage, error) {
	got, err := q.Queue.Receive(ctx, most)
	var out []conform.QueueMessage
	for _, m := range got {
		out = append(out, conform.QueueMessage{ID: m.ID, Body: m.Body, Group: m.Group, Receipt: m.Receipt, Receives: m.Receives})
	}
	return out, err
}

func (q underTest) Dead() conform.QueuePort { return underTest{q.dead, q.now, nil} }

func (q underTest) Pass(d time.Duration) { *q.now = q.now.Add(d) }

func TestQueueKeepsTheContract(t *testing.T) {
	conform.Queue(t, func(_ *testing.T, fifo bool) conform.QueuePort {
		now := world.Start
		clock := func() time.Time { return now }
		dead := world.NewQueue(clock, nil, world.QueueOptions{Name: "dead", FIFO: fifo})
		return underTest{world.NewQueue(clock, nil, world.QueueOptions{
			Name: "queue", FIFO: fifo, Visibility: conform.QueueVisibility, Retention: conform.QueueRetention, MaxReceives: conform.QueueMaxReceives, Dead: dead,
		}), &now, dead}
	})
}

func newQueue(options world.QueueOptions) (*world.Queue, *time.Time, *world.Log) {
	now := world.Start
	clock := func() time.Time { return now }
	log := world.NewLog(clock)
	return world.NewQueue(clock, log, options), &now, log
}

func TestQueueNotesTheWayOfAMessage(t *testing.T) {
	dead, _, _ := newQueue(world.QueueOptions{Name: "dead", FIFO: true})
	q, now, log := newQueue(world.QueueOptions{Name: "plan", FIFO: true, MaxReceives: 2, Dead: dead})
	hints := world.HintQueue{Queue: q}
	for range 2 {
		if err := hints.Resync(t.Context(), "web", "12:00"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := q.Receive(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(30 * time.Second)
		q.Run(*now)
	}
	var verbs []string
	for _, f := range facts[world.MessageMoved](log) {
		verbs = append(verbs, fmt.Sprintf("%s %s %s %d", f.Queue, f.Group, f.Verb, f.Receives))
	}
	want := []string{"plan web send 0", "plan web duplicate 0", "plan web receive 1", "plan web return 1", "plan web receive 2", "plan web return 2", "plan web dead 2"}
	if !reflect.DeepEqual(verbs, want) {
		t.Errorf("noted %q\nwant  %q", verbs, want)
	}
	peeked := dead.Peek()
	if len(peeked) != 1 {
		t.Fatalf("%d messages in the dead-letter queue", len(peeked))
	}
	if hint, err := wire.DecodeHint([]byte(peeked[0].Body)); err != nil || hint.Reason != wire.ReasonResync || hint.Tick != "12:00" {
		t.Errorf("%+v %v", hint, err)
	}
	dead.Redrive(q)
	if got, err := q.Receive(t.Context(), 1); err != nil || len(got) != 1 || got[0].Receives != 1 || dead.Len() != 0 {
		t.Errorf("after the redrive: %+v %v", got, err)
	}
}

// A receive from a FIFO queue looks at so many messages only: another group's message behind them waits until some of them are gone.
func TestAFIFOQueueIsSearchedAsFarAsSQSDoes(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct{ searched, flood int }{{3, 3}, {0, 120_000}} {
		q, _, _ := newQueue(world.QueueOptions{FIFO: true, Searched: c.searched})
		for i := range c.flood {
			if _, err := q.Send(ctx, world.Outgoing{Body: "a", Group: "flood", Dedup: fmt.Sprint("a", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.Send(ctx, world.Outgoing{Body: "b", Group: "quiet", Dedup: "b"}); err != nil {
			t.Fatal(err)
		}
		first, err := q.Receive(ctx, 1)
		if err != nil || len(first) != 1 || first[0].Group != "flood" {
			t.Fatalf("%v, %v", first, err)
		}
		if got, err := q.Receive(ctx, 1); err != nil || len(got) > 0 {
			t.Errorf("behind %d messages: %v, %v", c.flood, got, err)
		}
		if err := q.Delete(ctx, first[0].Receipt); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Receive(ctx, 10); err != nil || len(got) != 10 && c.searched == 0 || c.searched != 0 && got[len(got)-1].Group != "quiet" {
			t.Errorf("behind %d messages, when one is gone: %v, %v", c.flood, got, err)
		}
	}
}

func TestQueueMisbehavesByChance(t *testing.T) {
	q, now, log := newQueue(world.QueueOptions{Name: "events", Rand: rand.New(rand.NewPCG(1, 2))})
	q.SetChances(world.QueueChances{Duplicate: .1, Delay: .2, Reorder: .5, Few: .5, Lose: .1})
	for i := range 200 {
		if _, err := q.Send(t.Context(), world.Outgoing{Body: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	seen, order := map[string]int{}, []string{}
	for range 2000 {
		got, err := q.Receive(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got {
			if seen[m.Body]++; seen[m.Body] == 1 {
				order = append(order, m.Body)
			}
			if m.Receives == 1 { // a second copy is deleted by its own receipt, if it comes
				continue
			}
			if err := q.Delete(t.Context(), m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
		*now = now.Add(time.Second)
		q.Run(*now)
	}
	verbs := map[string]int{}
	for _, f := range facts[world.MessageMoved](log) {
		verbs[f.Verb]++
	}
	if lost := verbs["lost"]; lost < 5 || lost > 40 || len(seen)+lost != 200 || q.Len() != 0 {
		t.Errorf("%d lost, %d seen, %d left; %v", lost, len(seen), q.Len(), verbs)
	}
	inOrder := 0
	for i := 1; i < len(order); i++ {
		if len(order[i-1]) < len(order[i]) || len(order[i-1]) == len(order[i]) && order[i-1] < order[i] {
			inOrder++
		}
	}
	if inOrder > len(order)*9/10 {
		t.Errorf("%d of %d messages came in order", inOrder, len(order))
	}
}

func TestQueueOutOfReachAndThrottled(t *testing.T) {
	q, now, log := newQueue(world.QueueOptions{Name: "plan"})
	q.Unreachable(now.Add(time.Hour))
	if _, err := q.Send(t.Context(), world.Outgoing{Body: "a"}); !fault.Is(err, fault.Internal) {
		t.Errorf("%v, want Internal", err)
	}
	*now = now.Add(time.Hour)
	q.ThrottleNext(1)
	if _, err := q.Send(t.Context(), world.Outgoing{Body: "a"}); !fault.Is(err, fault.Throttled) {
		t.Errorf("%v, want Throttled", err)
	}
	if _, err := q.Send(t.Context(), world.Outgoing{Body: "a"}); err != nil || q.Visible(10) != 1 || len(log.Since(0)) != 1 {
		t.Errorf("%v, %d visible, %d noted", err, q.Visible(10), len(log.Since(0)))
	}
}

func TestScheduleTicksOnceAMinute(t *testing.T) {
	s := world.NewSchedule(world.ScheduleOptions{Start: world.Start, Jitter: world.Span{Min: time.Second}})
	var ticks []world.Tick
	for now := world.Start; now.Before(world.Start.Add(5 * time.Minute)); now = now.Add(time.Second) {
		ticks = append(ticks, s.Take(now)...)
	}
	if len(ticks) != 5 {
		t.Fatalf("%d ticks in five minutes", len(ticks))
	}
	for i, tick := range ticks {
		if want := world.Start.Add(time.Duration(i) * time.Minute); !tick.For.Equal(want) || !tick.At.Equal(want.Add(time.Second)) {
			t.Errorf("tick %d: %+v", i, tick)
		}
	}
}

func TestScheduleLosesDoublesAndDelaysTicks(t *testing.T) {
	s := world.NewSchedule(world.ScheduleOptions{Start: world.Start, Jitter: world.Span{Max: 2 * time.Second}, Rand: rand.New(rand.NewPCG(1, 2))})
	s.SetChances(world.ScheduleChances{Lost: .1, Doubled: .1, Late: .1})
	times := map[time.Time]int{}
	late := 0
	for now := world.Start; now.Before(world.Start.Add(10 * time.Hour)); now = now.Add(time.Second) {
		for _, tick := range s.Take(now) {
			times[tick.For]++
			switch by := tick.At.Sub(tick.For); {
			case by > 30*time.Minute:
				t.Errorf("a tick %v late", by)
			case by > time.Minute:
				late++
			}
		}
	}
	doubled := 0
	for _, n := range times {
		if n == 2 {
			doubled++
		}
	}
	if len(times) < 500 || len(times) > 570 || doubled < 30 || late < 30 {
		t.Errorf("%d of 600 ticks came, %d twice, %d late", len(times), doubled, late)
	}
}
