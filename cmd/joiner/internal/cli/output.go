package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
)

// Table and JSON are the values of a flag --output.
const (
	Table = "table"
	JSON  = "json"
)

// Write writes an answer as the command line asks for: as a table, or as JSON by the names of its fields.
func Write[A any](command *cobra.Command, output string, answer A, table func(io.Writer, A) error) error {
	return WriteWith(command, output, answer, table, func(out io.Writer,
		answer A) error {
		return show.Indented(out, answer)
	})
}

// WriteWith writes an answer as the command line asks for: by table, or by json.
func WriteWith[A any](command *cobra.Command, output string, answer A, table, json func(io.Writer, A) error) error {
	if output == JSON {
		return Written(json(command.OutOrStdout(), answer))
	}
	return Written(table(command.OutOrStdout(), answer))
}

// Say writes a sentence.
func Say(out io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(out, format, args...)
	return Written(err)
}

// Warn writes a line for each warning.
func Warn(out io.Writer, lists ...[]string) {
	for _, list := range lists {
		for _, warning := range list {
			fmt.Fprintln(out, "warning:", warning)
		}
	}
}

// Written is why a result that was reached could not be written; nil where it could.
func Written(err error) error {
	if err != nil {
		return WriteError{err}
	}
	return nil
}

// WriteError is why a result that was reached could not be written. The exit status is 1.
type WriteError struct{ error }

// Unwrap returns the error itself.
func (w WriteError) Unwrap() error { return w.error }

// ExitStatus is an exit status that says it all.
type ExitStatus int

// Error says which.
func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
