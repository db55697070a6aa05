package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
)

// The values of a flag --output. What begins with the last two has a template behind it.
const (
	Table      = "table"
	JSON       = "json"
	YAML       = "yaml"
	Name       = "name"
	jsonPath   = "jsonpath="
	goTemplate = "go-template="
)

// output is the flag --output.
type output struct {
	value *string
	names bool // whether there is -o name
}

// OutputFlag adds the flag --output.
func OutputFlag(command *cobra.Command, value *string, usage string) {
	registerOutput(command, &output{value: value}, usage)
}

// registerOutput adds a flag --output.
func registerOutput(command *cobra.Command, o *output, usage string) {
	*o.value = Table
	command.Flags().VarP(o, "output", "o", usage+": "+strings.Join(formats(o.allowed()), ", "))
	complete(command, "output", o.allowed())
}

func (o *output) allowed() []string {
	out := []string{Table, JSON, YAML, jsonPath, goTemplate}
	if o.names {
		out = slices.Insert(out, 3, Name)
	}
	return out
}

func (o *output) String() string { return *o.value }
func (o *output) Type() string   { return "FORMAT" }

// Set takes an allowed value and refuses every other, and templates that cannot be read.
func (o *output) Set(value string) error {
	_, err := printerOf(value)
	if err != nil {
		return err
	}
	plain := slices.Contains(o.allowed(), value)
	templated := strings.HasPrefix(value, jsonPath) || strings.HasPrefix(value, goTemplate)
	if !plain && !templated || value == jsonPath || value == goTemplate {
		return fmt.Errorf("must be %s", strings.Join(formats(o.allowed()), " or "))
	}
	*o.value = value
	return nil
}

// formats is how values are shown to people.
func formats(values []string) []string {
	out := slices.Clone(values)
	for i := range out {
		if strings.HasSuffix(out[i], "=") {
			out[i] += "TEMPLATE"
		}
	}
	return out
}

// printerOf returns what writes an answer, given as JSON, in a format; nil where that is not done from JSON.
func printerOf(format string) (func(io.Writer, []byte) error, error) {
	if text, is := strings.CutPrefix(format, jsonPath); is {
		path := jsonpath.New("output").AllowMissingKeys(true)
		if err := path.Parse(braced(text)); err != nil {
			return nil, fmt.Errorf("not a JSONPath template: %w", err)
		}
		return withValue(func(out io.Writer, answer any) error {
			err := path.Execute(out, answer)
			return newLine(out, err)
		}), nil
	}
	if text, is := strings.CutPrefix(format, goTemplate); is {
		parsed, err := template.New("output").Parse(text)
		if err != nil {
			return nil, fmt.Errorf("not a template of Go: %w", err)
		}
		return withValue(func(out io.Writer, answer any) error {
			err := parsed.Execute(out, answer)
			return newLine(out, err)
		}), nil
	}
	if format == YAML {
		return func(out io.Writer, answer []byte) error {
			text, err := yaml.JSONToYAML(answer)
			if err == nil {
				_, err = out.Write(text)
			}
			return err
		}, nil
	}
	return nil, nil
}

// newLine ends what a template wrote, so that a prompt does not follow it.
func newLine(out io.Writer, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// braced lets a path be written without braces and without its first dot, as kubectl does.
func braced(path string) string {
	if path == "" || strings.Contains(path, "{") {
		return path
	}
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") && !strings.HasPrefix(path, "$") {
		path = "." + path
	}
	return "{" + path + "}"
}

// withValue has JSON read into what templates take. Numbers stay whole.
func withValue(write func(io.Writer, any) error) func(io.Writer, []byte) error {
	return func(out io.Writer, text []byte) error {
		answer, err := valueOf(text)
		if err != nil {
			return err
		}
		return write(out, answer)
	}
}

func valueOf(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return whole(value), nil
}

// whole turns numbers into the types that templates compare.
func whole(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64() // the decoder has read it as a number
		return n
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	}
	return value
}

// Write writes an answer as the command line asks for: as a table, or as JSON by the names of its fields.
func Write[A any](command *cobra.Command, output string, answer A, table func(io.Writer, A) error) error {
	return WriteWith(command, output, answer, table, func(out io.Writer,
		answer A) error {
		return show.Indented(out, answer)
	})
}

// WriteWith writes an answer as the command line asks for: by table, or by what is made of json.
func WriteWith[A any](command *cobra.Command, output string, answer A, table, json func(io.Writer, A) error) error {
	return write(command.OutOrStdout(), output, answer, table, json)
}

// WriteTo writes an answer as Write does.
func WriteTo[A any](out io.Writer, output string, answer A, table func(io.Writer, A) error) error {
	return write(out, output, answer, table, func(out io.Writer, answer A) error { return show.Indented(out, answer) })
}

func write[A any](out io.Writer, output string, answer A, table, json func(io.Writer, A) error) error {
	switch output {
	case JSON:
		return Written(json(out, answer))
	case Table, "":
		return Written(table(out, answer))
	}
	print, err := printerOf(output)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json(&text, answer); err != nil {
		return Written(err)
	}
	return Written(print(out, text.Bytes()))
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

// NotFound says that what was asked for is not there. The exit status is 1, as that of kubectl.
type NotFound struct{ What string }

// Error says what is not there.
func (n NotFound) Error() string { return n.What }
