package handover

import (
	"flag"
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // which starts no control plane
		os.Exit(m.Run())
	}
	os.Exit(kube.Alone(m.Run))
}
