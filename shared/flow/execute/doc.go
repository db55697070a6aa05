// Package execute carries out, in a cluster, what functions ask its API server for: the watcher's side of the relay, for clusters whose
// API server functions cannot reach.
//
// It decides which requests are carried out, and how often. A request is carried out with the permissions of the group of whoever
// sent it, which the queue itself vouches for, and only if it is of a kind that functions ask for. One that is older than its sender
// waits, or than 20 s, is dropped. What changes something is recorded as taken before it is carried out, on condition that
// nobody took it before: however often a message comes, it is carried out at most once. Where a watcher dies in between, nobody
// answers, and the function finds out by what it reads next, as it does with a connection that broke. How requests travel
// and where answers lie is adapter/relay's, and what asks the API server adapter/ekscluster's.
//
//	executor := &execute.Executor{Cluster: "prod", Groups: groups, Inbox: inbox, Answers: answers, Server: server, Now: time.Now, Log: log}
//	executor.Run(ctx)
package execute
