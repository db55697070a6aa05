package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Alone calls run while no other package's tests of this project do so, and returns what that returns: the code to exit with.
// Tests that start control planes are run by it from TestMain. `go test ./...` tests several packages at once, and the servers
// of two of them on a machine of few cores answer later than either's tests wait. The time spent waiting here counts for no
// test's limit, nor for what -timeout bounds within the process. Where no lock can be had nothing is run, and the code is 1.
func Alone(run func() int) int {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return aloneBy(filepath.Join(root, ".cache", "control-plane.lock"), run)
}

// aloneBy calls run while this process has the lock of the file.
func aloneBy(path string, run func() int) int {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the lock of control planes:", err)
		return 1
	}
	unlock, err := lockFile(context.Background(), path, func() {
		fmt.Fprintln(os.Stderr, "waiting for another package's tests, which have a control plane")
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "lock control planes:", err)
		return 1
	}
	defer unlock()
	return run()
}
