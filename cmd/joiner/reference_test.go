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

// unitsPage says how JSON names amounts of money (U5).
const unitsPage = `
## Amounts in JSON

With ` + "`-o json`" + ` every amount of money is a number of millionths of a dollar. Its name ends in ` + "`MicroUSD`" + `, or in ` + "`MicroUSDPerHour`" + ` if it is per hour.
The names without a unit are older. They are written beside the others for one release.
Stored records keep their names: ` + "`removal`" + ` in why node and the differences of replay and shadow are millionths without a unit in the name.

| Command | Older name | Its unit | Name |
|---|---|---|---|
| plan, adopt | ` + "`pricePerHour`" + ` | dollars | ` + "`priceMicroUSDPerHour`" + ` |
| plan disrupt | ` + "`pricePerHourBefore`, `pricePerHourAfter`" + ` | dollars | ` + "`priceBeforeMicroUSDPerHour`, `priceAfterMicroUSDPerHour`" + ` |
| plan disrupt | ` + "`savingsPerHour`" + ` | dollars | ` + "`savingsMicroUSDPerHour`" + ` |
| why | ` + "`price`, `pricePerHour`" + ` | millionths | ` + "`priceMicroUSDPerHour`" + ` |
| why node | ` + "`plannedPrice`" + ` | millionths | ` + "`plannedMicroUSDPerHour`" + ` |
| why node, savings | ` + "`plannedPerHour`, `savedPerHour`, `saved`" + ` | millionths | ` + "`plannedMicroUSDPerHour`, `savedMicroUSDPerHour`, `savedMicroUSD`" + ` |
| savings | ` + "`spent`" + ` | millionths | ` + "`spentMicroUSD`" + ` |
| report | ` + "`total`, `idle`, `unseen`, `cost`, `fair`" + ` | millionths | ` + "`totalMicroUSD`, `idleMicroUSD`, `unseenMicroUSD`, `costMicroUSD`, `fairMicroUSD`" + ` |
| report | ` + "`pricePerHour`, `idlePerHour`" + ` | millionths | ` + "`priceMicroUSDPerHour`, `idleMicroUSDPerHour`" + ` |
| decisions | ` + "`savings`" + ` | millionths | ` + "`savingsMicroUSDPerHour`" + ` |
| shadow report | ` + "`live`, `shadow`" + ` | millionths | ` + "`liveMicroUSDPerHour`, `shadowMicroUSDPerHour`" + ` |
`

// TestU66CommandLineReference: docs/reference/cli.md has the help of every command, with every flag. -update writes it.
func TestU66CommandLineReference(t *testing.T) {
	for _, name := range []string{"JOINER_TABLE", "JOINER_BUCKET"} { // defaults of flags
		t.Setenv(name, "")
	}
	var page bytes.Buffer
	fmt.Fprint(&page, "# Command line\n\nGenerated from the commands by `go test ./cmd/joiner -run TestU66CommandLineReference -update`.\n\n"+
		"The exit status is 0 for success, 1 if what was asked for does not exist, and 2 if the command line or the input cannot be read.\n"+
		"The help of a command names the others. [Use the command line](../tasks/command-line.md) explains formats, live clusters and manifests.\n"+
		"`joiner completion` writes a script that completes commands in a shell.\n"+unitsPage)
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
	write(newRoot("joiner"))
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
