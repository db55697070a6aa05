// Command cmd prints how the code of the repository is put together, as Markdown, or writes the file of exceptions
// anew.
//
//	go run ./testenv/repository/structure/cmd                      the figures
//	go run ./testenv/repository/structure/cmd -before COMMIT       beside those of a commit
//	go run ./testenv/repository/structure/cmd -lower               testenv/structure.csv with lower values, where there are
//	go run ./testenv/repository/structure/cmd -write               testenv/structure.csv with the values found, higher ones too
//
// It runs in the root of the repository.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"

	"github.com/joiner-sh/joiner/testenv/repository/structure"
)

const exceptions = "testenv/structure.csv"

func main() {
	before := flag.String("before", "", "a commit, whose figures stand beside those of the tree")
	lower := flag.Bool("lower", false, "write "+exceptions+" with lower values")
	write := flag.Bool("write", false, "write "+exceptions+" with the values found, and say which are higher")
	flag.Parse()
	if err := run(*before, *lower, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(before string, lower, write bool) error {
	tree, err := structure.Read(".")
	if err != nil {
		return err
	}
	if lower || write {
		return record(tree.Excess(), write)
	}
	var was *structure.Tree
	if before != "" {
		if was, err = readCommit(before); err != nil {
			return err
		}
	}
	fmt.Print(structure.Report(tree, was))
	return nil
}

func record(found []structure.Excess, higher bool) error {
	allowed, err := structure.ReadExceptions(exceptions)
	if err != nil && !(higher && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	worse, _ := structure.Compare(allowed, found)
	for _, sentence := range worse {
		fmt.Fprintln(os.Stderr, sentence)
	}
	if !higher {
		found = structure.Lower(allowed, found)
	}
	var out bytes.Buffer
	if err := structure.WriteExceptions(&out, found); err != nil {
		return err
	}
	return os.WriteFile(exceptions, out.Bytes(), 0o644)
}

func readCommit(commit string) (*structure.Tree, error) {
	folder, err := os.MkdirTemp("", "structure")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what is left is small
	archive := exec.Command("git", "archive", commit, "--", "*.go", "*go.mod")
	unpack := exec.Command("tar", "-x", "-C", folder)
	archive.Stderr, unpack.Stderr = os.Stderr, os.Stderr
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := unpack.Start(); err != nil {
		return nil, err
	}
	if err := errors.Join(archive.Run(), unpack.Wait()); err != nil {
		return nil, err
	}
	return structure.Read(folder)
}
