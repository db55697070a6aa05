// Package cost meters what the control plane is billed for by AWS and prices it.
//
// An Account is the modeled AWS (testenv/local/cloud) and a cluster in memory (testenv/sim/world) under one clock that is advanced by hand. The
// flows that ship run against it through the adapters that ship: every request to DynamoDB, S3 and SQS is made, and metered by the
// models with its size. Only the handlers of Lambda events are written anew here, since programs cannot be imported; the cluster and EC2,
// whose calls cost nothing, are the world's ports.
//
//	day, err := cost.Measure(ctx, cost.Idle, time.Hour, 24*time.Hour)
//	lines := cost.Bill(day.Month(), deployment)
//
// It decides what a month is made of: how often idle pollers ask, how long an invocation takes by the calls it makes. It leaves prices
// to prices.go, what is deployed to the templates of infra/cdk. What was measured last is in testdata/usage.json, and what it comes to in docs/performance.md;
// `make cost` writes both.
package cost
