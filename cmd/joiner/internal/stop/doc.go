// Package stop has the commands that stop voluntary disruption: stop, resume and stops.
//
//	commands := []*cobra.Command{stop.New(), stop.NewResume(), stop.NewList()}
package stop
