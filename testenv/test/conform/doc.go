// Package conform holds one contract suite per cloud service, written once
// against the official SDK client and run against everything that claims to be
// that service: our model in testenv/local/cloud always, and moto when the
// environment variable JOINER_MOTO_ENDPOINT names a running moto_server. What
// both do alike is far likelier to be what AWS does than what only ours does.
//
// A case that a target is known to fail is a row of KNOWN_DIFFERENCES.md, which
// this package reads: there it must fail, and is reported when it no longer
// does. A case not listed must pass everywhere.
//
// A suite is a list of cases and a test that runs it:
//
//	func SQS(t *testing.T, target conform.Target) {
//		c := sqs.NewFromConfig(target.Config)
//		target.Run(t, "sqs", []conform.Case{
//			{Name: "send returns the MD5 of the body", Run: func(t conform.T) { ... }},
//		})
//	}
//
//	func TestSQS(t *testing.T) {
//		conform.Each(t, nil, conform.SQS)
//	}
//
// TestFunctions runs what the functions run, with the adapters they have, on
// the same targets; only the API server is in memory. TestBuiltFunctions hands
// the built functions a tick, on an account that has no API server.
package conform
