package work

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestParallelCallsEachOnceAndNoMoreThanSoManyAtOnce(t *testing.T) {
	var now, most atomic.Int64
	calls := make([]atomic.Int64, 20)
	Parallel(len(calls), 3, func(i int) {
		for at := now.Add(1); ; {
			if before := most.Load(); at <= before || most.CompareAndSwap(before, at) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		calls[i].Add(1)
		now.Add(-1)
	})
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("%d was called %d times", i, n)
		}
	}
	if n := most.Load(); n != 3 {
		t.Errorf("%d at once, want 3", n)
	}
	Parallel(0, 0, func(int) { t.Error("called") })
}
