package nodes

import (
	"flag"
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if pattern := flag.Lookup("test.fuzz"); pattern != nil && pattern.Value.String() != "" {
		os.Exit(m.Run()) // what is fuzzed needs no cluster, and every worker would wait for its turn
	}
	os.Exit(kube.Alone(m.Run))
}
