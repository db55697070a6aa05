package kube

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever is told to run alone does, and hands its code on.
func TestAloneRunsOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "lock")
	var inside, most atomic.Int32
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			code := aloneBy(path, func() int {
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(20 * time.Millisecond)
				inside.Add(-1)
				return i
			})
			if code != i {
				t.Errorf("run %d gave %d", i, code)
			}
		})
	}
	group.Wait()
	if n := most.Load(); n != 1 {
		t.Errorf("%d ran at once", n)
	}
}

func TestAloneRunsNothingWithoutALock(t *testing.T) {
	if code := aloneBy(filepath.Join("/dev/null", "lock"), func() int { t.Error("it ran"); return 0 }); code != 1 {
		t.Errorf("code %d", code)
	}
}

// In a binary built with -trimpath the path of a source file is not one of this machine.
func TestTheLockOfControlPlanesIsOneForAllPackages(t *testing.T) {
	path, err := aloneLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(path)), "go.mod")); !filepath.IsAbs(path) || err != nil {
		t.Errorf("the lock is %s: %v", path, err)
	}
}
