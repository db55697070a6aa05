// Package clock is the one source of time for the models of cloud services
// in testenv. A model never calls time.Now or time.Sleep: it asks a Clock what
// time it is and to be woken later, so that visibility timeouts, retention,
// boot delays and expiries of hours pass in microseconds in a test and in real
// time when a developer runs the whole environment.
//
// It decides nothing about what happens at a given time; that belongs to the
// models.
//
//	c := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
//	c.AfterFunc(30*time.Second, func() { fmt.Println("visible again") })
//	c.Advance(time.Minute) // prints, then returns
package clock
