package sqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

const testURL = "http://h/1/q.fifo"

func fifoModel(t interface{ Fatal(...any) }, c clock.Clock) *Model {
	m := NewModel(Options{Clock: c, Account: "1", Region: "r"})
	if err := m.createQueue("q.fifo", map[string]string{"FifoQueue": "true", "VisibilityTimeout": "10"}, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *Model) testSend(group, body string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.send(context.Background(), m.queues["q.fifo"], &outgoing{MessageBody: body, MessageGroupID: group, MessageDeduplicationID: body})
	return err
}

// seen is what a consumer knows of a message it received.
type seen struct {
	body, group, receipt string
	until                time.Time
}

func (m *Model) testReceive(max int) ([]seen, error) {
	var got []seen
	err := m.receive(context.Background(), receiveRequest{url: testURL, max: max}, func(_ *queue, msg *message) {
		got = append(got, seen{msg.body, msg.group, msg.receipt, msg.visibleAt})
	})
	return got, err
}

// Whatever is sent, received, deleted and left to time out: a receive hands out
// of each group a run from its oldest message that is left, and nothing from the
// first message in flight on.
func TestFIFOGroupKeepsOrderAndExclusivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		m := fifoModel(t, c)
		left := map[string][]string{} // by group: bodies sent and not deleted, in order
		held := map[string]seen{}     // by body: last receive
		sent := 0
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				group := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")
				body := fmt.Sprint(sent)
				sent++
				if err := m.testSend(group, body); err != nil {
					t.Fatal(err)
				}
				left[group] = append(left[group], body)
			},
			"receive": func(t *rapid.T) {
				free := map[string][]string{} // by group: what may be handed out
				for group, bodies := range left {
					free[group] = bodies
					if i := slices.IndexFunc(bodies, func(body string) bool { return c.Now().Before(held[body].until) }); i >= 0 {
						free[group] = bodies[:i]
					}
				}
				got, err := m.testReceive(rapid.IntRange(1, 10).Draw(t, "max"))
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range got {
					if len(free[s.group]) == 0 || free[s.group][0] != s.body {
						t.Fatalf("group %s gave %s, want the next of %v", s.group, s.body, free[s.group])
					}
					free[s.group] = free[s.group][1:]
					held[s.body] = s
				}
				if len(got) == 0 {
					for group, bodies := range free {
						if len(bodies) > 0 {
							t.Fatalf("nothing received though group %s has %v", group, bodies)
						}
					}
				}
			},
			"delete": func(t *rapid.T) {
				if len(held) == 0 {
					return
				}
				body := rapid.SampledFrom(slices.Sorted(maps.Keys(held))).Draw(t, "body")
				s := held[body]
				m.mu.Lock()
				err := m.queues["q.fifo"].deleteMessage(s.receipt, c.Now())
				m.mu.Unlock()
				if inTime := c.Now().Before(s.until); inTime != (err == nil) {
					t.Fatalf("delete of %s, in time %v: %v", body, inTime, err)
				}
				if err == nil {
					left[s.group] = without(left[s.group], body)
					delete(held, body)
				}
			},
			"wait": func(t *rapid.T) {
				c.Advance(time.Duration(rapid.IntRange(1, 11).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) {
				total := 0
				for _, bodies := range left {
					total += len(bodies)
				}
				d, _ := m.Depth("q.fifo")
				if d.Visible+d.InFlight+d.Delayed != total {
					t.Fatalf("depth %+v, want %d in all", d, total)
				}
			},
		})
	})
}

func without(list []string, s string) []string {
	var kept []string
	for _, x := range list {
		if x != s {
			kept = append(kept, x)
		}
	}
	return kept
}

// Eight consumers that crash now and then still see every group in order, and
// every message ends up processed once.
func TestConcurrentConsumersProcessEveryMessageInOrder(t *testing.T) {
	const groups, perGroup = 6, 40
	m := NewModel(Options{Clock: clock.System(), Account: "1", Region: "r"})
	if err := m.createQueue("q.fifo", map[string]string{"FifoQueue": "true"}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range perGroup {
		for g := range groups {
			if err := m.testSend(fmt.Sprint(g), fmt.Sprintf("%d/%d", g, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var mu sync.Mutex
	done := map[string][]string{}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for {
				got, err := m.testReceive(1 + random.IntN(3))
				if err != nil {
					t.Error(err)
					return
				}
				for i, s := range got {
					m.mu.Lock()
					q := m.queues["q.fifo"]
					if random.IntN(4) == 0 { // crash: the rest of the batch goes back
						for _, back := range got[i:] {
							err = errors.Join(err, q.changeVisibility(back.receipt, 0, m.clock.Now()))
						}
						m.mu.Unlock()
						if err != nil {
							t.Error(err)
						}
						break
					}
					mu.Lock()
					done[s.group] = append(done[s.group], s.body)
					mu.Unlock()
					err = q.deleteMessage(s.receipt, m.clock.Now())
					m.mu.Unlock()
					if err != nil {
						t.Error(err)
					}
				}
				if d, _ := m.Depth("q.fifo"); d == (Depth{}) {
					return
				}
			}
		})
	}
	wg.Wait()
	for g := range groups {
		for i, body := range done[fmt.Sprint(g)] {
			if want := fmt.Sprintf("%d/%d", g, i); body != want {
				t.Fatalf("group %d processed %s as number %d, want %s", g, body, i, want)
			}
		}
		if n := len(done[fmt.Sprint(g)]); n != perGroup {
			t.Errorf("group %d processed %d messages, want %d", g, n, perGroup)
		}
	}
}
