package interruption

import "sync"

// abreast calls do(0) … do(n-1), Parallel of them side by side, and returns when all have. Each call writes only to its own
// index, so that results stand in order whatever the timing. A panic of one is the caller's, once the others have returned.
func (f *Flow) abreast(n int, do func(i int)) { f.atOnce(n, f.Settings.withDefaults().Parallel, do) }

// atOnce is abreast with so many side by side.
func (f *Flow) atOnce(n, most int, do func(i int)) {
	panics := make([]any, n)
	contained := func(i int) {
		defer func() { panics[i] = recover() }()
		do(i)
	}
	if f.Abreast != nil {
		f.Abreast(n, contained)
	} else {
		sideBySide(n, most, contained)
	}
	for _, reason := range panics {
		if reason != nil {
			panic(reason)
		}
	}
}

// sideBySide calls do(0) … do(n-1) on goroutines, at most so many at once.
func sideBySide(n, most int, do func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, most)
	for i := range n {
		slots <- struct{}{}
		group.Add(1)
		go func() {
			defer func() { <-slots; group.Done() }()
			do(i)
		}()
	}
	group.Wait()
}
