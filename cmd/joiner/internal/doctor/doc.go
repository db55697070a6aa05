// Package doctor has the commands that look for what is wrong and say how to fix it: doctor, of an installation and its
// clusters, and preflight, before there is one.
//
//	commands := []*cobra.Command{doctor.New(), doctor.NewPreflight()}
package doctor
