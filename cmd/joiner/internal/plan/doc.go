// Package plan has the commands joiner plan provision and joiner plan disrupt: what the functions would do with a
// cluster that is given as files, by the code that the functions run.
//
//	commands := []*cobra.Command{plan.New()}
package plan
