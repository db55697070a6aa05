package bench

import (
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
)

func TestMain(m *testing.M) {
	measure.Serve()
	converge.Serve()
	os.Exit(m.Run())
}
