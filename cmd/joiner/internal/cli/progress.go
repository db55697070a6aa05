package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
)

const (
	spinEvery = 200 * time.Millisecond
	wiped     = "\r\x1b[K" // the line is empty again
)

// Working shows in a terminal that something goes on and for how long, until the returned function is called.
// Elsewhere, such as in a log, it shows nothing.
func Working(command *cobra.Command, text string) (done func()) {
	out := command.ErrOrStderr()
	if !show.IsTerminal(out) {
		return func() {}
	}
	ticker := time.NewTicker(spinEvery)
	stop := spin(out, text, ticker.C)
	return func() {
		ticker.Stop()
		stop()
	}
}

// spin writes a line anew with each tick.
func spin(out io.Writer, text string, ticks <-chan time.Time) (stop func()) {
	ended, left := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(left)
		for n := 0; ; n++ {
			select {
			case <-ended:
				fmt.Fprint(out, wiped)
				return
			case now := <-ticks:
				fmt.Fprintf(out, "%s%c %s, %d s", wiped, []rune(`|/-\`)[n%4], text, int(now.Sub(start).Seconds()))
			}
		}
	}()
	return func() {
		close(ended)
		<-left
	}
}
