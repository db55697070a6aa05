// Package delivery hands one payload to one target, trying again while the target fails, as EventBridge rules and
// schedules and the queue behind an asynchronous Lambda invocation do.
//
// It decides when a failed delivery is repeated and when it is given up. What is delivered, and to whom, is decided by
// packages events and schedule.
//
// Example:
//
//	target := delivery.SQS(client, queueURL, "cluster-a") // a FIFO queue with a static group
//	delivery.Send(ctx, clock.System(), delivery.Policy{MaxRetries: 1, MaxAge: time.Minute}, target, payload, onDropped)
package delivery
