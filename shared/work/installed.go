package work

import "fmt"

// ReadInstalled reads a cluster, and says why it is skipped instead where the chart is not installed in it yet. The
// chart gives the functions their permissions, so that such a cluster cannot be read, which is no failure. never
// reports whether no watcher has ever published the cluster and nothing was launched for it; where that is not so, what
// read returns is an error. One that a watcher has to relay is not tried at all.
func ReadInstalled(never func() bool, relayed bool, read func() error) (skipped string, err error) {
	const what = "the chart is not installed in the cluster yet: no watcher has published its state"
	if relayed && never() {
		return what + " or relays requests to its API server", nil
	}
	if err = read(); err != nil && never() {
		return fmt.Sprintf("%s, and the function cannot read it: %v", what, err), nil
	}
	return "", err
}
