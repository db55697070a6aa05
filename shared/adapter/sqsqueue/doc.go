// Package sqsqueue sends hints through SQS: in order through a FIFO queue, or later through a standard one.
//
// Of a FIFO queue it decides what makes two messages the same and which messages keep their order: the group is the
// cluster, so that one cluster's hints are handled one batch at a time and never wait for another's; the deduplication
// id is made of everything that tells a hint from others, so that only the very same hint, sent again because an answer
// was lost, is taken once. It leaves what a hint says to package wire, and when to send one to the flows.
//
//	queue := sqsqueue.New(sqs.NewFromConfig(config), queueURL)
//	err := queue.Send(ctx, wire.Hint{Cluster: "prod", Epoch: 3, Seq: 9, Number: 4, Reason: wire.ReasonBatch})
package sqsqueue
