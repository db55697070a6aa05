package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pages are what is written, by file name. root is the repository's.
var pages = map[string]func(out io.Writer, root string) error{"parity.md": parity, "fields.md": fields}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: paritydoc FOLDER, from the repository's root")
		os.Exit(2)
	}
	for name, write := range pages {
		var text bytes.Buffer
		err := write(&text, ".")
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), text.Bytes(), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "paritydoc:", name+":", err)
			os.Exit(1)
		}
	}
}
