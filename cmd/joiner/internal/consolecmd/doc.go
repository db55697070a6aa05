// Package consolecmd has the command console: it gives the page of package console a cluster of an installation, or of
// files.
//
//	commands := []*cobra.Command{consolecmd.New()}
package consolecmd
