// Command supply says what is in the programs that are shipped, by what their build says: modules with their versions.
//
//	supply licenses [-check LICENSES.csv] [-npm LOCK] ./functions/... ./cmd/...   a line for each module or package: path, license
//	supply sbom [-npm PROGRAM=LOCK] dist/arm64/provision/bootstrap …              a CycloneDX bill of materials, as JSON, of binaries
//
// LOCK is the package-lock.json of the page that is built into a program; its packages are listed, too.
//
// licenses fails for a license that is not known to be compatible with ours (Apache-2.0), and with -check where the list is not
// what is written there. A license is recognized by the words that only it has; one that is not recognized fails.
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
		case "licenses":
			return licenses(args[1:], out)
		case "sbom":
			return sbom(args[1:], out)
		}
	}
	return errors.New("use: supply licenses [-check FILE] [-npm LOCK] PACKAGE… | supply sbom [-npm PROGRAM=LOCK] BINARY…")
}
