package main

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.csv
var tables embed.FS

// read returns the rows of a CSV file with these columns.
func read(file string, columns ...string) ([][]string, error) {
	data, err := tables.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], columns) {
		return nil, fmt.Errorf("%s: the first line is not %s", file, strings.Join(columns, ","))
	}
	return rows[1:], nil
}
