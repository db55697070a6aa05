// Package eventsource polls an SQS queue and invokes a function with what it receives, as a Lambda event source mapping
// does.
//
// It decides how messages become batches, when a batch is invoked, which messages are deleted after it, and what an
// at-least-once source may do to its consumer: duplicates, deliveries to two sandboxes at once, late ones. Those are
// injected by Faults, repeatably. Visibility, receive counts, message groups and the dead-letter queue are the queue's:
// what is not deleted comes back when its visibility ends. Sandboxes and concurrency are the runner's.
//
// Example:
//
//	mapping, err := eventsource.Start(ctx, runner, sqs.NewFromConfig(cfg), eventsource.Config{
//		Function: "provision", QueueURL: planQueueURL, BatchSize: 10, ReportBatchItemFailures: true,
//	})
//	if err != nil {
//		return err
//	}
//	defer mapping.Stop()
//
// Not modeled: provisioned pollers, on-failure destinations (SQS sources have none), and the ramp by which the service
// raises the concurrency of a standard queue. A throttled batch is not retried by the poller: it comes back like a failed
// one, its receive count raised.
package eventsource
