package work

import "sync"

// Parallel calls do(0) … do(n-1) on goroutines, at most so many at once, and returns when all have.
func Parallel(n, most int, do func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, max(1, most))
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

// Sequential calls do(0) … do(n-1) one after the other: it stands for Parallel where every run has to be like the last.
func Sequential(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}
