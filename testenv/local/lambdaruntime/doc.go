// Package lambdaruntime runs real Lambda bootstrap executables on the machine at hand, the way the Lambda service runs
// them, so that the programs under test are the ones that ship.
//
// It decides when a sandbox (one child process with its own Runtime API server on loopback) is started, reused, frozen,
// killed or reaped, what a function sees in its environment, and how an invocation ends: by the process asking for the
// next event, by its exit, by the timeout's SIGKILL, or by a test that kills it. It writes the log a function would have
// in CloudWatch, REPORT line included, and reads metrics in the embedded metric format out of it.
//
// What feeds invocations is left to others: package eventsource polls SQS queues, package schedule fires schedules,
// package events routes events by pattern. The AWS services themselves are in testenv/local/cloud: a function reaches them
// through Config.EndpointURL.
//
// Example:
//
//	runner, err := lambdaruntime.New(lambdaruntime.Config{Region: "eu-west-1", EndpointURL: cloud.URL()})
//	if err != nil {
//		return err
//	}
//	defer runner.Stop()
//	err = runner.Deploy(lambdaruntime.Function{
//		Name: "provision", Path: "build/provision/bootstrap", MemoryMB: 1769, Timeout: 30 * time.Second,
//	})
//	if err != nil {
//		return err
//	}
//	result, err := runner.Invoke(ctx, "provision", []byte(`{"Records":[]}`))
//
// Where the service does two things depending on timing, this package does the harsher one: a process that dies after
// it posted its response but before it asked for the next event fails the invocation.
//
// Not modeled: the CPU share that comes with a memory size, extensions that subscribe to events, response streaming to
// the caller (streamed responses are collected), provisioned concurrency, and the file system: the task root is writable, and
// a function's private folder is TMPDIR, not /tmp. Memory is the
// process's peak of resident memory, as Linux tells it: it is looked at ten times a second while an invocation is served and when it ends, and a
// process that had more than its function is killed. Until then it has what the machine has.
package lambdaruntime
