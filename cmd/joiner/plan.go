package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

const (
	outputTable = "table"
	outputJSON  = "json"
)

// planFlags are those that every plan has.
type planFlags struct {
	files   []string
	catalog string
	now     string
	output  string
	asSeen  bool // see read.Options
}

func newPlan() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan",
		Short: "Show what Joiner would do, from files and without a cloud",
		Long: `Shows what Joiner would do with a cluster that is given as files. It calls neither the cluster nor AWS, and changes
nothing.`,
		Args: cobra.NoArgs, // with RunE, so that a misspelt command is a mistake
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newProvision(), newDisrupt())
	return command
}

func (f *planFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE`, folder, or - for standard input; may be repeated")
	flags.StringVar(&f.catalog, "catalog", "", "JSON `FILE` of instance types and prices (default: the built-in catalog)")
	flags.StringVar(&f.now, "now", "", "the `TIME` to plan at, such as 2026-01-02T15:04:05Z (default: now)")
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
	must(command.MarkFlagRequired("filename"))
	must(command.MarkFlagFilename("filename", "json", "yaml", "yml", "gz"))
	must(command.MarkFlagFilename("catalog", "json", "gz"))
	must(command.RegisterFlagCompletionFunc("now", cobra.NoFileCompletions))
}

// at returns the time to plan at.
func (f *planFlags) at() (time.Time, error) {
	if f.now == "" {
		return time.Now(), nil
	}
	now, err := time.Parse(time.RFC3339, f.now)
	if err != nil {
		return now, fmt.Errorf("--now: %q: not a time; write one such as 2026-01-02T15:04:05Z", f.now)
	}
	return now, nil
}
