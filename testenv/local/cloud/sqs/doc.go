// Package sqs is the model of Amazon SQS, standard and FIFO. It decides which
// message is handed to whom and when: order and exclusivity of FIFO groups,
// deduplication, delays, visibility timeouts, receive counts, redrive to a
// dead-letter queue, retention. Time comes from a clock, so an hour of
// visibility passes in no time in a test. Delivering to a function is left to
// testenv/local/lambdaruntime, which polls like any other consumer.
//
//	m := sqs.NewModel(sqs.Options{Clock: clock.System(), Account: "123456789012", Region: "us-west-2"})
//	http.ListenAndServe(addr, sqs.NewHandler(m)) // aws --endpoint-url http://… sqs list-queues
//	depth, ok := m.Depth("plan.fifo")
//
// The model is exact where SQS is approximate: counts are true, a short poll
// looks everywhere, and a message is received again only after its visibility
// timeout. Duplicates and disorder beyond that are faults, injected elsewhere.
package sqs
