// Command supply says what is in the programs that are shipped, by what their build says: modules with their versions.
//
//	supply licences [-check LICENSES.csv] ./functions/... ./cmd/...   a line for each module: path, licence
//	supply sbom dist/arm64/provision/bootstrap …                      a CycloneDX bill of materials, as JSON, of binaries
//
// licences fails for a licence that is not known to be compatible with ours (Apache-2.0), and with -check where the list is not
// what is written there. A licence is recognised by the words that only it has; one that is not recognised fails.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) > 1 {
		switch args[0] {
		case "licences":
			return licences(args[1:], out)
		case "sbom":
			return sbom(args[1:], out)
		}
	}
	return errors.New("use: supply licences [-check FILE] PACKAGE… | supply sbom BINARY…")
}
