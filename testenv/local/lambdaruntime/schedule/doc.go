// Package schedule fires targets by the clock, as EventBridge Scheduler and EventBridge's rules with a schedule do.
//
// It decides when a schedule is due and what its input reads at that time. How the target is reached, and how often a
// failed delivery is tried again, is package delivery's.
//
// Example:
//
//	scheduler := schedule.New(schedule.Config{Region: "eu-west-1"})
//	defer scheduler.Stop()
//	err := scheduler.Create(schedule.Schedule{
//		Name: "resync", Expression: "rate(1 minute)",
//		Input:  `{"kind":"resync","scheduledTime":"<aws.scheduler.scheduled-time>","id":"<aws.scheduler.execution-id>"}`,
//		Target: delivery.SQS(client, queueURL, "cluster-a"),
//		Policy: &delivery.Policy{MaxRetries: 1, MaxAge: time.Minute},
//	})
//
// Where the service is precise to the minute, this package is precise to the clock: jitter is not modeled, nor are
// flexible time windows. NewHandler serves what EventBridge says of rules by the clock, which may be disabled.
package schedule
