// Package console shows a cluster in a browser: its nodes filling with pods, what it costs, which pods wait and why, what was
// decided, and what could be disrupted. The page is embedded in the program; ui/ is what it is built of (see ui/README.md).
//
// It reads and never writes. Where the cluster is read from is behind Source. A Feed looks at the source while somebody
// watches, and tells each browser what changed; Server serves page, stream and answers to questions about one thing:
//
//	feed := console.NewFeed(source, console.Settings{})
//	server := &http.Server{Handler: console.NewServer(feed, hosts)}
//
// Requests that do not name a host it is known by are refused, and so are those that another site's page makes.
package console
