package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Alone calls run while no other package's tests of this project do so, and returns what that returns: the code to exit with.
// Tests that start control planes are run by it from TestMain. `go test ./...` tests several packages at once, and the servers
// of two of them on a machine of few cores answer later than either's tests wait. The time spent waiting here counts for no
// test's limit, nor for what -timeout bounds within the process. Where no lock can be had nothing is run, and the code is 1.
func Alone(run func() int) int {
	path, err := aloneLock(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "find the lock of control planes:", err)
		return 1
	}
	return aloneBy(path, run)
}

// aloneLock returns the absolute path of the lock, which is one for all packages, in the folder of the module.
func aloneLock(ctx context.Context) (string, error) {
	dir, err := packageDir(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(dir), ".cache", "control-plane.lock"), nil
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
