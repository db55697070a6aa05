package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// oneOf is a flag that takes one of a few values.
type oneOf struct {
	value   *string
	allowed []string
}

// Choice adds a flag that takes one of the allowed values, which shells complete.
func Choice(command *cobra.Command, value *string, name, preset string, allowed []string, usage string) {
	*value = preset
	command.Flags().Var(&oneOf{value, allowed}, name, usage)
	complete(command, name, allowed)
}

func complete(command *cobra.Command, name string, values []string) {
	Must(command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
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

// NoFiles has shells propose no files for flags.
func NoFiles(command *cobra.Command, names ...string) {
	for _, name := range names {
		Must(command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// Must is for what fails only where the program itself is wrong, such as a flag that was never added.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Context is the command's, until somebody interrupts the program.
func Context(command *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
}

// Duration reads 90m, 36h, or 7d.
func Duration(text string) (time.Duration, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err != nil || fmt.Sprint(n) != days || n < 0 {
			return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
	}
	return d, nil
}

// Since returns the time, Unix seconds, that a flag --since names, counted from now.
func Since(since string, now time.Time) (int64, error) {
	back, err := Duration(since)
	if err != nil {
		return 0, fmt.Errorf("--since: %w", err)
	}
	if back == 0 {
		return 0, errors.New("--since: give more than 0")
	}
	return now.Add(-back).Unix(), nil
}

// At returns the time that a flag --at names, of which a negative duration counts from now; now where it names none.
func At(flag string, now time.Time) (time.Time, error) {
	if flag == "" {
		return now, nil
	}
	if before, isDuration := strings.CutPrefix(flag, "-"); isDuration {
		if d, err := Duration(before); err == nil {
			return now.Add(-d), nil
		}
	}
	at, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return now, fmt.Errorf("--at: %q: not a time; write one such as 2026-01-02T15:04:05Z or -2h", flag)
	}
	return at, nil
}
