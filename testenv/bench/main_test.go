package bench

import (
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/measure"
)

func TestMain(m *testing.M) {
	measure.Serve()
	os.Exit(m.Run())
}
