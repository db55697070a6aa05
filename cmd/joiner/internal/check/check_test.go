package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/fault"
)

// A check that panics, is denied, fails or hangs is a finding, and the others are made all the same.
func TestOneCheckDoesNotStopTheOthers(t *testing.T) {
	ok := func(context.Context) ([]check.Finding, error) {
		return []check.Finding{{Level: check.OK, Seen: "fine"}}, nil
	}
	checks := []check.Check{
		{Name: "first", Object: "a", Run: ok},
		{Name: "panics", Object: "b", Run: func(context.Context) ([]check.Finding, error) { panic("over nothing") }},
		{Name: "denied", Object: "c", Run: func(context.Context) ([]check.Finding, error) {
			return []check.Finding{{Level: check.OK, Seen: "half"}}, fault.New(fault.Denied, "AccessDenied", "eks:DescribeCluster")
		}},
		{Name: "fails", Object: "d", Run: func(context.Context) ([]check.Finding, error) { return nil, errors.New("no route") }},
		{Name: "hangs", Object: "e", Run: func(context.Context) ([]check.Finding, error) { select {} }},
		{Name: "last", Object: "f", Run: ok},
	}
	got := check.Run(t.Context(), checks, check.Settings{Patience: 50 * time.Millisecond, AtOnce: 2})
	want := []struct {
		level check.Level
		parts string
	}{
		{check.OK, "first a fine"}, {check.Fail, "panics b over nothing"}, {check.OK, "denied c half"}, {check.Warn, "denied c eks:DescribeCluster with permissions"},
		{check.Warn, "fails d no route"}, {check.Warn, "hangs e no answer"}, {check.OK, "last f fine"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		all := strings.Join([]string{got[i].Check, got[i].Object, got[i].Seen, got[i].Do}, " ")
		words := strings.SplitN(w.parts, " ", 3)
		for _, part := range words {
			if part == "eks:DescribeCluster with permissions" {
				part = "eks:DescribeCluster"
			}
			if got[i].Level != w.level || !strings.Contains(all, part) {
				t.Errorf("finding %d is %s %q, want %s %q", i, got[i].Level, all, w.level, part)
			}
		}
		if (got[i].Do == "") != (w.level == check.OK) {
			t.Errorf("finding %d says %q to do", i, got[i].Do)
		}
	}
	if check.ExitStatus(got) != 2 || check.ExitStatus(got[2:]) != 1 || check.ExitStatus(got[:1]) != 0 {
		t.Error("the exit status is not that of the worst finding")
	}
	var table, text strings.Builder
	if err := errors.Join(check.Write(&table, got), check.WriteJSON(&text, got)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(table.String(), "\n"); !strings.HasPrefix(lines[0], "fail  panics: b") || !strings.Contains(table.String(), "3 passed, 3 warnings, 1 failed.") {
		t.Errorf("%s", table.String())
	}
	var read struct {
		Findings []check.Finding
		Status   int
	}
	if err := json.Unmarshal([]byte(text.String()), &read); err != nil || len(read.Findings) != len(got) || read.Status != 2 {
		t.Errorf("%v %s", err, text.String())
	}
}

// U28: levels have colors in a terminal; NO_COLOR turns them off.
func TestU28LevelsHaveColors(t *testing.T) {
	findings := []check.Finding{{Level: check.Fail, Check: "a", Object: "b", Seen: "c"}, {Level: check.OK, Check: "d"}}
	for env, want := range map[string]string{
		"":               "fail  a: b: c\n",
		"CLICOLOR_FORCE": "\x1b[31mfail\x1b[0m  a: b: c\n\x1b[32mok  \x1b[0m  d: ",
		"NO_COLOR":       "fail  a: b: c\n",
	} {
		t.Run(env, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("CLICOLOR_FORCE", "")
			if env != "" {
				t.Setenv("CLICOLOR_FORCE", "1")
				t.Setenv(env, "1")
			}
			var out strings.Builder
			if err := check.Write(&out, findings); err != nil || !strings.HasPrefix(out.String(), want) {
				t.Errorf("%v, %q", err, out.String())
			}
		})
	}
}
