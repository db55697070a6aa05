package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// oneOf is a flag that takes one of a few values.
type oneOf struct {
	value   *string
	allowed []string
}

// choice adds a flag that takes one of the allowed values, which shells complete.
func choice(command *cobra.Command, value *string, name, short, preset string, allowed []string, usage string) {
	*value = preset
	command.Flags().VarP(&oneOf{value, allowed}, name, short, usage)
	must(command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp)))
}

func (o *oneOf) String() string { return *o.value }
func (o *oneOf) Type() string   { return strings.Join(o.allowed, "|") }

// Set takes an allowed value and refuses every other.
func (o *oneOf) Set(value string) error {
	if !slices.Contains(o.allowed, value) {
		return fmt.Errorf("must be %s", strings.Join(o.allowed, " or "))
	}
	*o.value = value
	return nil
}

// must is for what fails only where the program itself is wrong, such as a flag that was never added.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
