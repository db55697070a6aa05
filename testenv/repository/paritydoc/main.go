package main

import (
	"github.com/joiner-sh/joiner/testenv/repository/page"
)

// pages are what is written, by file name. root is the repository's.
var pages = page.Set{"parity.md": parity, "fields.md": fields}

func main() { page.Main("paritydoc", pages) }
