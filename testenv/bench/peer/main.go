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
	timeout := flag.Duration("timeout", 5*time.Minute, "limit on the solve; the provisioner itself stops after 1m")
	flag.Parse()
	if err := run(*file, *catalog, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(file, catalog string, timeout time.Duration) error {
	c, err := readCluster(file)
	if err != nil {
		return err
	}
	types, err := readCatalogue(catalog)
	if err != nil {
		return err
	}
	a, err := solve(c, types, timeout)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}
