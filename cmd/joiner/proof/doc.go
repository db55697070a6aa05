// Package proof asks an account of AWS whether what Joiner takes for granted about AWS is so.
//
// A Probe is a value: the assumption it is about, what it costs at most, which permissions it takes, what each reading of the
// documentation expects, and a function that makes the calls and returns what it saw. Match compares the two and calls
// nobody. Package probes has the table of all of them.
//
// Run keeps to a ceiling of cost, tags whatever it makes, and removes it at the end. Whatever is made has its tags from the
// request that makes it, so that Clean finds all that a run left behind that was killed, at whatever moment. Exchanges go
// through a Recorder that takes out what is nobody's business, and Replay answers from such a record.
//
// References between files go one way: probe, match, money, reduce, scrub, record, replay, clients, env, made, instances, clean, run, page.
package proof
