package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const reference = "../../docs/reference/cli.md"

// TestU66CommandLineReference: docs/reference/cli.md has the help of every command, with every flag. -update writes it.
func TestU66CommandLineReference(t *testing.T) {
	for _, name := range []string{"JOINER_TABLE", "JOINER_BUCKET"} { // defaults of flags
		t.Setenv(name, "")
	}
	var page bytes.Buffer
	fmt.Fprint(&page, "# Command line\n\nGenerated from the commands by `go test ./cmd/joiner -run TestU66CommandLineReference -update`.\n\n"+
		"The exit status is 0 for success. The help of a command names the others.\n"+
		"`joiner completion` writes a script that completes commands in a shell.\n")
	flags := 0
	var write func(command *cobra.Command)
	write = func(command *cobra.Command) {
		if command.Hidden || command.Name() == "help" || command.Name() == "completion" {
			return
		}
		path := strings.Fields(command.CommandPath())
		code, out, errs := joiner("", append(path[1:], "--help")...)
		if code != 0 {
			t.Fatalf("%s --help: exit status %d: %s", command.CommandPath(), code, errs)
		}
		flags += strings.Count(out, "\n      --") + strings.Count(out, "\n  -")
		fmt.Fprintf(&page, "\n## %s\n\n```text\n%s\n```\n", command.CommandPath(), strings.TrimSpace(out))
		for _, each := range command.Commands() {
			write(each)
		}
	}
	write(newRoot())
	if flags < 50 {
		t.Errorf("only %d flags were found", flags)
	}
	if *update {
		if err := os.WriteFile(reference, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil || !bytes.Equal(got, page.Bytes()) {
		t.Errorf("docs/reference/cli.md is not what the commands say (%v); run with -update and commit", err)
	}
}
