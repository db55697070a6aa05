package work

import "fmt"

// NotInstalled says why a cluster is left alone that no watcher has published yet (model.Ledger.NeverPublished) and that cannot be read. Such a
// cluster was attached, and the chart, which gives the functions their permissions, is not installed. Failure is what reading it ended with;
// nil = it was not tried, since a watcher has to relay it.
func NotInstalled(failure error) string {
	const what = "the chart is not installed in the cluster yet: no watcher has published its state"
	if failure == nil {
		return what + " or relays requests to its API server"
	}
	return fmt.Sprintf("%s, and the function cannot read it: %v", what, failure)
}
