package cost

import (
	"context"
	"time"

	sdksqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Run lets the installation work for so long.
func (a *Account) Run(ctx context.Context, d time.Duration) error {
	end := a.now().Add(d)
	for {
		acted, err := a.act(ctx)
		if err != nil {
			return err
		}
		if acted {
			continue
		}
		next := a.nextAt(end)
		if !next.After(a.now()) {
			next = a.now().Add(time.Millisecond) // a model that is due for ever must not hold the time up
		}
		if next.After(end) {
			a.world.Clock.Advance(end.Sub(a.now()))
			return nil
		}
		a.world.Clock.Advance(next.Sub(a.now()))
	}
}

// act does what is due now, and reports whether anything was.
func (a *Account) act(ctx context.Context) (bool, error) {
	a.world.Run()
	if at, due := a.due(); due && !at.After(a.now()) {
		a.churn()
		return true, nil
	}
	acted := a.watcher.act(a)
	for _, tick := range a.world.Ticks.Take(a.now()) {
		if err := a.tickAll(ctx, tick.For); err != nil {
			return true, err
		}
		acted = true
	}
	reported, err := a.notices(ctx)
	if err != nil {
		return true, err
	}
	polled, err := a.poll(ctx)
	return acted || reported || polled, err
}

// notices brings what EventBridge has for the queue there, which is a request to it.
func (a *Account) notices(ctx context.Context) (bool, error) {
	messages, err := a.world.Notices.Receive(ctx, 10)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	for _, m := range messages {
		url := a.queues[noticesQueue]
		if _, err := a.clients.sqs.SendMessage(ctx, &sdksqs.SendMessageInput{QueueUrl: &url, MessageBody: &m.Body}); err != nil {
			return true, err
		}
		if err := a.world.Notices.Delete(ctx, m.Receipt); err != nil {
			return true, err
		}
	}
	return true, nil
}

// nextAt returns when something is due next, end at the latest. Messages that are held back are looked for each second.
func (a *Account) nextAt(end time.Time) time.Time {
	next := a.watcher.at
	earlier := func(at time.Time, due bool) {
		if due && at.Before(next) {
			next = at
		}
	}
	earlier(a.world.Next())
	earlier(a.watcher.watch.Next())
	earlier(a.due())
	for _, name := range a.cloud.SQS.QueueNames() {
		if depth, _ := a.cloud.SQS.Depth(name); depth.Delayed+depth.InFlight > 0 {
			earlier(a.now().Add(time.Second), true)
		}
	}
	if next.After(end) {
		return end.Add(1)
	}
	return next
}
