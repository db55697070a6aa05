// Package replay has the commands that make recorded decisions once more: replay of one, and shadow of all of a time by
// another build.
//
//	commands := []*cobra.Command{replay.New(), replay.NewShadow()}
package replay
