package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestKilledAtEveryEffectLaunchesOnce kills the function process with SIGKILL before and after each effect of the walk, in
// turn, with pods waiting each time. After recovery instances and claims are the same set and every pod is bound.
func TestKilledAtEveryEffectLaunchesOnce(t *testing.T) {
	t.Parallel()
	crash := filepath.Join(t.TempDir(), "crash")
	c := start(t, stack.Options{
		// Short enough that a recovery takes seconds: the lease ends with the timeout, and what is open is due soon after.
		Timeout: 5 * time.Second, Visibility: 6 * time.Second, MaxReceives: 20,
		FunctionEnv: map[string]string{"JOINER_CRASH_FILE": crash, "JOINER_RECOVER_AFTER": "3s"},
	})
	c.apply(t, namespace("crash"), class("default"), pool("default", "default", general, nil, nil))
	c.awaitReady(t, nodePools, "default")
	points := []string{"after record", "after launch", "before settle"} // bytes recorded, instance bought, outcome known
	if full() {
		points = nil
		for _, effect := range provision.AllEffects {
			if effect != provision.EffectUnavailable { // needs a dry pool, and is advice; the world in memory kills there too
				points = append(points, "before "+effect, "after "+effect)
			}
		}
	}
	pods := 0
	for _, point := range points {
		if err := os.WriteFile(crash, []byte(point), 0o644); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		pods += 2
		c.apply(t, deployment("crash", strings.ReplaceAll(point, " ", "-"), 2, "3"))
		c.awaitRunning(t, "crash", pods, 2*time.Minute)
		if _, err := os.Stat(crash); err == nil {
			t.Fatalf("nobody died %s", point)
		}
		t.Logf("killed %s: its pods run after %s", point, time.Since(began).Round(100*time.Millisecond))
	}
	await(t, time.Minute, "nothing is left open", c.settled(t))
	c.oneEach(t)
	died := 0
	for _, exit := range c.logs.exits() {
		if exit.Reason == lambdaruntime.ExitCrashed {
			died++
		}
	}
	if died != len(points) {
		t.Errorf("the function died %d times, want %d", died, len(points))
	}
}
