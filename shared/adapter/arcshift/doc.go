// Package arcshift asks Amazon Application Recovery Controller (ARC) which zones a cluster is shifted away from.
//
//	zones := arcshift.New(arczonalshift.NewFromConfig(config))
//	shifts, managed, err := zones.ZonalShifts(ctx, registration)
package arcshift
