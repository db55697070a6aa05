package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nearEnough is by how many letters a word may differ from the command that is proposed instead.
const nearEnough = 2

// NoArgs refuses arguments. Of a command that has others below it, it proposes the one that may be meant.
func NoArgs(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(command, args[0])
}

func unknownCommand(command *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q for %q", word, command.CommandPath())
	if command.SuggestionsMinimumDistance = nearEnough; command.HasSubCommands() {
		if near := command.SuggestionsFor(word); len(near) > 0 {
			return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, " or "))
		}
	}
	return fmt.Errorf("%s; see %s --help", text, command.CommandPath())
}

// OneArg takes one argument, which the command's use calls what.
func OneArg(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		usage := command.CommandPath() + " " + what
		switch len(args) {
		case 1:
			return nil
		case 0:
			return fmt.Errorf("name the %s: %s", strings.ToLower(strings.ReplaceAll(what, "|", ", ")), usage)
		}
		return fmt.Errorf("%s: it takes one of them, not %d", usage, len(args))
	}
}

// OptionalArg takes one argument or none.
func OptionalArg(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return fmt.Errorf("%s [%s]: it takes one of them, not %d", command.CommandPath(), what, len(args))
	}
}

// FlagError is what is said of a flag that cannot be read. Where a word before it is no command, that is the mistake.
func FlagError(command *cobra.Command, err error) error {
	if words := command.Flags().Args(); command.HasSubCommands() && len(words) > 0 {
		return unknownCommand(command, words[0])
	}
	return fmt.Errorf("%w; see %s --help", err, command.CommandPath())
}

// Required says of flags that are needed which ones are missing: all of them at once, not one a run.
func Required(command *cobra.Command, needs map[string]bool, order ...string) error {
	var missing []string
	for _, flag := range order {
		if needs[flag] {
			missing = append(missing, flag)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("give " + strings.Join(missing, " and ") + "; see " + command.CommandPath() + " --help")
}
