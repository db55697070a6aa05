package boot

import (
	"errors"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// In a batch of several clusters a slow one keeps nobody waiting, and one that panics takes nobody along.
func TestParallelASlowClusterAndAPanicStopNoOther(t *testing.T) {
	others := make(chan struct{}, 2)
	refused := errors.New("refused")
	errs := Parallel(4, func(i int) error {
		switch i {
		case 0: // slow: it ends only after the others have
			for range 2 {
				select {
				case <-others:
				case <-time.After(10 * time.Second):
					return errors.New("the others wait for the slow one")
				}
			}
		case 1:
			panic("an object nobody thought of")
		case 2:
			others <- struct{}{}
			return refused
		case 3:
			others <- struct{}{}
		}
		return nil
	})
	if errs[0] != nil || fault.CodeOf(errs[1]) != "Panic" || !errors.Is(errs[2], refused) || errs[3] != nil {
		t.Errorf("%v", errs)
	}
	if errs := Parallel(0, nil); len(errs) != 0 {
		t.Errorf("of no cluster: %v", errs)
	}
}
