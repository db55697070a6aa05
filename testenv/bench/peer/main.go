package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	file := flag.String("f", "", "the cluster: a List in JSON")
	catalog := flag.String("catalog", "", "what can be bought")
	timeout := flag.Duration("timeout", 5*time.Minute, "limit on the solve, or on all decisions; the provisioner itself stops after 1m")
	disrupt := flag.Bool("consolidate", false, "decide which nodes of the cluster to disrupt, and carry it out, until none is left to disrupt")
	flag.Parse()
	if err := run(*file, *catalog, *timeout, *disrupt); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(file, catalog string, timeout time.Duration, disrupt bool) error {
	c, err := readCluster(file)
	if err != nil {
		return err
	}
	types, err := readCatalog(catalog)
	if err != nil {
		return err
	}
	if disrupt {
		done, err := consolidate(c, types, timeout)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(done)
	}
	a, err := solve(c, types, timeout)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}
