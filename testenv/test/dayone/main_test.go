package dayone

import (
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestMain(m *testing.M) {
	if !full() {
		os.Exit(m.Run())
	}
	os.Exit(kube.Alone(m.Run))
}

// full reports whether the long form is asked for: pages run whole, with a control plane.
func full() bool { return os.Getenv("JOINER_DAYONE") == "full" }
