package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSendRetriesWithGrowingWaitsUntilThePolicyGivesUp(t *testing.T) {
	cases := []struct {
		name    string
		policy  delivery.Policy
		failing int // attempts that fail
		want    string
	}{
		{"success at once", delivery.Policy{}, 0, "[0s]"},
		{"no retry", delivery.Policy{}, 9, "[0s] dropped deliver, attempt 1: down"},
		{"retries until it works", delivery.Policy{MaxRetries: 5}, 3, "[0s 1s 3s 7s]"},
		{"retries used up", delivery.Policy{MaxRetries: 2}, 9, "[0s 1s 3s] dropped deliver, attempt 3: down"},
		{"too old", delivery.Policy{MaxRetries: 9, MaxAge: 5 * time.Second}, 9, "[0s 1s 3s] dropped deliver, attempt 3: down"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fake := clock.NewFake(start)
			var at []time.Duration
			target := func(context.Context, []byte) error {
				at = append(at, fake.Now().Sub(start))
				if len(at) <= c.failing {
					return errors.New("down")
				}
				return nil
			}
			dropped := ""
			delivery.Send(t.Context(), fake, c.policy, target, nil, func(err error) { dropped += " dropped " + err.Error() })
			fake.Advance(time.Hour)
			if got := fmt.Sprint(at) + dropped; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	fake := clock.NewFake(start)
	ctx, cancel := context.WithCancel(t.Context())
	attempts := 0
	target := func(context.Context, []byte) error { attempts++; return errors.New("down") }
	var dropped error
	delivery.Send(ctx, fake, delivery.Default, target, nil, func(err error) { dropped = err })
	cancel()
	fake.Advance(time.Hour)
	if attempts != 1 || fake.Pending() != 0 || !errors.Is(dropped, context.Canceled) {
		t.Errorf("%d attempts, %d waiting, dropped with %v, want one, none and the context's error", attempts, fake.Pending(), dropped)
	}
}

type sender struct{ sent []*sqs.SendMessageInput }

func (s *sender) SendMessage(_ context.Context, input *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	s.sent = append(s.sent, input)
	return &sqs.SendMessageOutput{}, nil
}

func TestSQSSendsThePayloadWithTheStaticGroupOnly(t *testing.T) {
	var client sender
	if err := delivery.SQS(&client, "url", "cluster-a")(t.Context(), []byte("tick")); err != nil {
		t.Fatal(err)
	}
	if err := delivery.SQS(&client, "url", "")(t.Context(), []byte("tick")); err != nil {
		t.Fatal(err)
	}
	fifo, standard := client.sent[0], client.sent[1]
	if aws.ToString(fifo.MessageBody) != "tick" || aws.ToString(fifo.MessageGroupId) != "cluster-a" || fifo.MessageDeduplicationId != nil {
		t.Errorf("FIFO queue got %+v, want body, group and no deduplication id", fifo)
	}
	if standard.MessageGroupId != nil {
		t.Errorf("standard queue got group %q, want none", *standard.MessageGroupId)
	}
}

// invoker answers from a list, the last answer again and again.
type invoker struct {
	clock   clock.Clock
	answers []answer
	calls   chan time.Duration
	called  int
}

type answer struct {
	result lambdaruntime.Result
	err    error
}

func (i *invoker) Invoke(context.Context, string, []byte) (lambdaruntime.Result, error) {
	a := i.answers[min(i.called, len(i.answers)-1)]
	i.called++
	i.calls <- i.clock.Now().Sub(start)
	return a.result, a.err
}

func TestLambdaRetriesAsAnAsynchronousInvocation(t *testing.T) {
	failed := answer{result: lambdaruntime.Result{FunctionError: "Unhandled", ErrorType: "errorString", ErrorMessage: "bad"}}
	throttled := answer{err: lambdaruntime.ErrThrottled}
	cases := []struct {
		name    string
		answers []answer
		want    string
	}{
		{"success", []answer{{}}, "[0s]"},
		{"function error, twice", []answer{failed, failed, {}}, "[0s 1m0s 3m0s]"},
		{"function error, always", []answer{failed}, "[0s 1m0s 3m0s] dropped invoke f asynchronously: function error errorString: bad"},
		{"throttled", []answer{throttled, throttled, {}}, "[0s 1s 3s]"},
		{"unknown function", []answer{{err: lambdaruntime.ErrNotFound}}, "[0s] dropped invoke f asynchronously: no such function"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fake := clock.NewFake(start)
			runner := &invoker{clock: fake, answers: c.answers, calls: make(chan time.Duration, 100)}
			dropped := make(chan error, 1)
			target := delivery.Lambda(t.Context(), fake, runner, "f", func(err error) { dropped <- err })
			if err := target(t.Context(), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			at := []time.Duration{<-runner.calls} // the first call is on a goroutine of its own
			result, err := c.answers[0].result, c.answers[0].err
			if errors.Is(err, lambdaruntime.ErrThrottled) || (err == nil && result.FunctionError != "") {
				if err := fake.AwaitPending(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			fake.Advance(7 * time.Hour)
			got := ""
			if strings.Contains(c.want, "dropped") {
				got = " dropped " + (<-dropped).Error()
			}
			for len(runner.calls) > 0 {
				at = append(at, <-runner.calls)
			}
			if got = fmt.Sprint(at) + got; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLambdaHeedsTheFunctionsOwnConfiguration(t *testing.T) {
	failed := answer{result: lambdaruntime.Result{FunctionError: "Unhandled", ErrorType: "errorString", ErrorMessage: "bad"}}
	for name, c := range map[string]struct {
		config   delivery.Async
		answer   answer
		attempts int
	}{
		"no retry":               {delivery.Async{MaxAge: time.Hour}, failed, 1},
		"one retry":              {delivery.Async{MaxRetries: 1, MaxAge: time.Hour}, failed, 2},
		"too old for the second": {delivery.Async{MaxRetries: 2, MaxAge: 2 * time.Minute}, failed, 2},
		"throttled for a minute": {delivery.Async{MaxRetries: 2, MaxAge: time.Minute}, answer{err: lambdaruntime.ErrThrottled}, 6}, // at 0, 1, 3, 7, 15 and 31 s
	} {
		t.Run(name, func(t *testing.T) {
			fake := clock.NewFake(start)
			runner := &invoker{clock: fake, answers: []answer{c.answer}, calls: make(chan time.Duration, 100)}
			dropped := make(chan error, 1)
			target := delivery.LambdaWith(t.Context(), fake, runner, "f", c.config, func(err error) { dropped <- err })
			if err := target(t.Context(), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			<-runner.calls
			if c.attempts > 1 {
				if err := fake.AwaitPending(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			fake.Advance(7 * time.Hour)
			<-dropped
			if got := 1 + len(runner.calls); got != c.attempts {
				t.Errorf("%d attempts, want %d", got, c.attempts)
			}
		})
	}
}

func TestLambdaRefusesEventsOverTheAsynchronousLimit(t *testing.T) {
	target := delivery.Lambda(t.Context(), clock.NewFake(start), nil, "f", nil)
	if err := target(t.Context(), make([]byte, delivery.MaxAsyncBytes+1)); !errors.Is(err, lambdaruntime.ErrPayloadTooLarge) {
		t.Errorf("got %v, want ErrPayloadTooLarge", err)
	}
}
