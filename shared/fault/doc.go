// Package fault names the few kinds of error a caller can act on.
//
// A kind exists only because somebody does something different for it: Conflict plans again, NoCapacity marks the
// offering, Throttled backs off, NotFound means already gone, Invalid is reported on the object and never retried as it
// is, Denied alarms, Internal retries a few times. Adapters translate SDK errors into kinds once; everything above asks
// with Is.
//
//	err := fault.New(fault.NoCapacity, "InsufficientInstanceCapacity", "no m7g.large in us-west-2a")
//	fault.Is(fmt.Errorf("launch claim web-7f: %w", err), fault.NoCapacity) // true
package fault
