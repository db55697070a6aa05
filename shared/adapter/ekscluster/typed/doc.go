// Package typed speaks to an API server about the kinds of Kubernetes itself that Joiner reads and writes, in the way
// of client-go's own clientset and over its REST client. That one carries every kind of every group and version there
// ever was, a quarter of what a function's zip may weigh.
package typed
