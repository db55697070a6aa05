package boot

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain plays the program that dies or exits, when a test starts this binary again.
func TestMain(m *testing.M) {
	switch os.Getenv("BOOT_TEST_PLAYS") {
	case "crash":
		crash := CrashFrom(os.Getenv("BOOT_TEST_FILE"))
		if err := crash.Before(context.Background(), "record"); err != nil {
			os.Exit(3)
		}
		crash.After(context.Background(), "record")
		os.Exit(0)
	case "settings":
		var s struct {
			Table string `env:"JOINER_TABLE,required"`
			Queue string `env:"JOINER_QUEUE_URL,required"`
			inside
			Within
		}
		LoadSettings(&s)
		os.Exit(0)
	case "region":
		AWS()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type inside struct{ _ int }

// Within is a part of settings.
type Within struct {
	After time.Duration `env:"JOINER_AFTER"`
}

func TestNegativeDurationsAreRefused(t *testing.T) {
	for value, refused := range map[string]bool{"-1s": true, "0s": false, "1s": false} {
		out, err := play(t, "settings", "JOINER_TABLE=t", "JOINER_QUEUE_URL=q", "JOINER_AFTER="+value)
		if (err != nil) != refused || refused && !strings.Contains(out, "JOINER_AFTER is -1s") {
			t.Errorf("%s: %q, %v", value, out, err)
		}
	}
}

func play(t *testing.T, part string, env ...string) (string, error) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), "BOOT_TEST_PLAYS="+part), env...)
	text, err := command.CombinedOutput()
	return string(text), err
}

func TestCrashDiesOnceAtItsPoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crash")
	for point, dies := range map[string]bool{"before record": true, "after record": true, "after launch": false} {
		if err := os.WriteFile(file, []byte(point+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := play(t, "crash", "BOOT_TEST_FILE="+file)
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.ExitCode() == -1
		if killed != dies {
			t.Errorf("%s: killed %v (%v), want %v", point, killed, err, dies)
		}
		if _, again := play(t, "crash", "BOOT_TEST_FILE="+file); again != nil {
			t.Errorf("%s: a second process died too: %v", point, again)
		}
	}
	if CrashFrom("") != nil {
		t.Error("without a file there is nothing to die of")
	}
}

func TestSettingsNamesEveryMissingVariable(t *testing.T) {
	text, err := play(t, "settings")
	if err == nil || !strings.Contains(text, "JOINER_TABLE") || !strings.Contains(text, "JOINER_QUEUE_URL") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := play(t, "settings", "JOINER_TABLE=a", "JOINER_QUEUE_URL=b"); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// What the linker was given is the version, whatever else is known.
func TestBuildIsWhatTheLinkerWasTold(t *testing.T) {
	if Version() == "" {
		t.Error("a test's own build has no name")
	}
	version = "v1.2.3"
	t.Cleanup(func() { version = "" })
	if got := Version(); got != "v1.2.3" {
		t.Errorf("got %q", got)
	}
}
