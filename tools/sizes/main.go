// Command sizes lists how large programs are and, of those that are packed, their zips; it fails where a zip is larger than it may be.
//
//	go run ./sizes -most 10000000 provision/arm64=../dist/arm64/provision/bootstrap,../dist/arm64/provision.zip watcher/arm64=../dist/arm64/watcher
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	most := flag.Int64("most", 0, "bytes a zip may have; 0 = any")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: sizes [-most BYTES] NAME=FILE[,ZIP]…")
		os.Exit(2)
	}
	if err := list(os.Stdout, flag.Args(), *most); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// list writes a line for each program, NAME=FILE or NAME=FILE,ZIP, and returns an error that names every zip above most bytes.
func list(out io.Writer, programs []string, most int64) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "program\tbinary\tzip\t")
	var above []string
	for _, program := range programs {
		name, files, named := strings.Cut(program, "=")
		if !named {
			return fmt.Errorf("%q is not NAME=FILE[,ZIP]", program)
		}
		binary, zip, packed := strings.Cut(files, ",")
		size, err := bytesOf(binary)
		if err != nil {
			return err
		}
		if !packed {
			fmt.Fprintf(table, "%s\t%s\t\t\n", name, megabytes(size))
			continue
		}
		zipped, err := bytesOf(zip)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", name, megabytes(size), megabytes(zipped))
		if most > 0 && zipped > most {
			above = append(above, fmt.Sprintf("%s (%d bytes)", name, zipped))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(above) > 0 {
		return fmt.Errorf("zips above %s: %s", megabytes(most), strings.Join(above, ", "))
	}
	return nil
}

func bytesOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// megabytes writes bytes in millions, as storage is counted.
func megabytes(bytes int64) string { return fmt.Sprintf("%.2f MB", float64(bytes)/1e6) }
