package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
)

// List is how a command writes a list.
type List struct {
	Output    string
	NoHeaders bool
	SortBy    string // a path in JSON, of each row; "" = the order of the command
}

// Register adds the flags.
func (l *List) Register(command *cobra.Command) {
	registerOutput(command, &output{value: &l.Output, names: true}, "output format")
	command.Flags().BoolVar(&l.NoHeaders, "no-headers", false, "a table without its first line")
	command.Flags().StringVar(&l.SortBy, "sort-by", "", "a `FIELD` of a row's JSON to sort by, such as .cluster")
	NoFiles(command, "sort-by")
}

// WriteRows writes a list as the command line asks for: as a table, as its names, or as what is made of json, nil being
// a plain list.
func WriteRows[R any](
	command *cobra.Command, l *List, rows []R, table, json func(io.Writer, []R) error, name func(R) string,
) error {
	rows, err := sorted(rows, l.SortBy)
	if err != nil {
		return err
	}
	if l.Output == Name {
		var names strings.Builder
		for _, row := range rows {
			names.WriteString(name(row) + "\n")
		}
		return Say(command.OutOrStdout(), "%s", names.String())
	}
	if json == nil {
		json = func(out io.Writer, rows []R) error { return show.Indented(out, rows) }
	}
	return WriteWith(command, l.Output, rows, table, json)
}

// sorted returns rows in the order of a field of their JSON. Those that do not have it come last.
func sorted[R any](rows []R, field string) ([]R, error) {
	if field == "" {
		return rows, nil
	}
	path := jsonpath.New("sort-by").AllowMissingKeys(true)
	if err := path.Parse(braced(field)); err != nil {
		return nil, fmt.Errorf("--sort-by: %w", err)
	}
	type keyed struct {
		row R
		key any
	}
	list, has := make([]keyed, len(rows)), false
	for i, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		value, err := valueOf(text)
		if err != nil {
			return nil, err
		}
		found, err := path.FindResults(value)
		if err != nil {
			return nil, fmt.Errorf("--sort-by: %w", err)
		}
		list[i].row = row
		if len(found) > 0 && len(found[0]) > 0 && found[0][0].IsValid() {
			list[i].key, has = plainValue(found[0][0]), true
		}
	}
	if len(rows) > 0 && !has {
		return nil, fmt.Errorf("--sort-by: no row has %s; -o json shows what they have", field)
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return order(a.key, b.key) })
	out := make([]R, len(rows))
	for i := range list {
		out[i] = list[i].row
	}
	return out, nil
}

func plainValue(v reflect.Value) any {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// order compares values of JSON: numbers by their value, all else by their text.
func order(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	x, xNumber := number(a)
	y, yNumber := number(b)
	if xNumber && yNumber {
		return cmp.Compare(x, y)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
