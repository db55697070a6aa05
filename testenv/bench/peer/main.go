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
	giveBack := flag.Bool("consolidate", false, "decide what of the cluster to give back, and carry it out, until nothing is left to")
	flag.Parse()
	if err := run(*file, *catalog, *timeout, *giveBack); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(file, catalog string, timeout time.Duration, giveBack bool) error {
	c, err := readCluster(file)
	if err != nil {
		return err
	}
	types, err := readCatalog(catalog)
	if err != nil {
		return err
	}
	if giveBack {
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
