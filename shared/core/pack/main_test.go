package pack

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain draws the same worlds every time, unless told otherwise: what is found by other draws, such as
//
//	go test ./shared/core/pack -rapid.seed=$RANDOM -rapid.checks=4000
//
// is looked for on purpose, and not when somebody else's change is tested.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed != nil && seed.Value.String() == "0" {
		if err := seed.Value.Set("20261121"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
