// Package cli is what the commands of joiner have in common: flags of a few values and of spans of time, output as a
// table or as JSON, warnings, and errors that decide the exit status.
//
//	cli.OutputFlag(command, &output, "output format")
//	cli.NoFiles(command, "region")
//	return cli.Write(command, output, answer, show.WhyPod)
package cli
