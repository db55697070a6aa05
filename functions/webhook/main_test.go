package main

import (
	"flag"
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// TestMain waits for its turn, since a test here has a control plane. Fuzzing has none, and its workers, which come here too, would
// wait for whoever started them.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" || flag.Lookup("test.fuzzworker").Value.String() == "true" {
		os.Exit(m.Run())
	}
	os.Exit(kube.Alone(m.Run))
}
