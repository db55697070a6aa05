// Command cmd measures what the control plane is billed for, prints the bill with its arithmetic, and writes the tables of docs/performance.md.
//
//	go run ./testenv/cost/cmd                 # from the root; some minutes
//	go run ./testenv/cost/cmd -only idle      # the other scenarios as they were measured last
//	go run ./testenv/cost/cmd -recorded       # measures nothing
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/joiner-sh/joiner/testenv/cost"
)

func main() {
	recorded := flag.Bool("recorded", false, "measure nothing; go by what was measured last")
	only := flag.String("only", "", "measure the scenarios alone whose name begins so")
	flag.Parse()
	if err := run(*recorded, *only); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(recorded bool, only string) error {
	const records, page = "testenv/cost/testdata/usage.json", "docs/performance.md"
	const template, cluster = "infra/cdk/templates/region.json", "infra/cdk/templates/cluster.json"
	if !recorded {
		before, err := cost.ReadRecords(records)
		if err != nil {
			return err
		}
		measured, err := cost.MeasureAll(context.Background(), cost.Scenarios, only, before)
		if err != nil {
			return err
		}
		if err := cost.WriteRecords(records, measured); err != nil {
			return err
		}
	}
	measured, err := cost.ReadRecords(records)
	if err != nil {
		return err
	}
	deployment, err := cost.ReadDeployment(template, cluster)
	if err != nil {
		return err
	}
	for _, r := range measured {
		fmt.Printf("\n%s: %g hours of %d nodes, as 30 days\n", r.Scenario, r.Hours, r.Nodes)
		cost.Print(os.Stdout, cost.Bill(r.Month(), deployment))
	}
	beyond := cost.Beyond(measured, deployment)
	fmt.Println("\nOn top of that:")
	cost.PrintBeyond(os.Stdout, beyond)
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	next, err := cost.Rewrite(string(text), cost.Table(measured, deployment), cost.BeyondTable(beyond))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(next), 0o644)
}
