package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// TestMain lets seven scenarios run at a time, unless told otherwise: each waits for clocks (boots, visibility, resyncs) most
// of its time.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set("7"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(kube.Alone(m.Run))
}
