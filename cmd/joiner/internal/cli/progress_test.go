package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// U35: a terminal shows that something goes on, and nothing is left of it.
func TestU35ProgressIsShownAndWiped(t *testing.T) {
	var out bytes.Buffer
	ticks := make(chan time.Time)
	stop := spin(&out, "replaying", ticks)
	for range 5 {
		ticks <- time.Now().Add(3500 * time.Millisecond)
	}
	stop()
	text := out.String()
	if strings.Count(text, "replaying, 3 s") != 5 || !strings.Contains(text, "| replaying") ||
		!strings.Contains(text, "/ replaying") || !strings.HasSuffix(text, wiped) {
		t.Errorf("%q", text)
	}
}

// U35: logs get no lines that are written anew.
func TestU35NoProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	command := &cobra.Command{}
	command.SetErr(&out)
	done := Working(command, "replaying")
	time.Sleep(2 * spinEvery)
	done()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
