// Package proofcmd has the command proof, which runs the probes of package proof.
//
//	commands := []*cobra.Command{proofcmd.New()}
package proofcmd
