package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/fault"
)

// A check that panics, is denied, fails or hangs is a finding, and the others are made all the same.
func TestOneCheckDoesNotStopTheOthers(t *testing.T) {
	ok := func(context.Context) ([]doctor.Finding, error) {
		return []doctor.Finding{{Level: doctor.OK, Seen: "fine"}}, nil
	}
	checks := []doctor.Check{
		{Name: "first", Object: "a", Run: ok},
		{Name: "panics", Object: "b", Run: func(context.Context) ([]doctor.Finding, error) { panic("over nothing") }},
		{Name: "denied", Object: "c", Run: func(context.Context) ([]doctor.Finding, error) {
			return []doctor.Finding{{Level: doctor.OK, Seen: "half"}}, fault.New(fault.Denied, "AccessDenied", "eks:DescribeCluster")
		}},
		{Name: "fails", Object: "d", Run: func(context.Context) ([]doctor.Finding, error) { return nil, errors.New("no route") }},
		{Name: "hangs", Object: "e", Run: func(context.Context) ([]doctor.Finding, error) { select {} }},
		{Name: "last", Object: "f", Run: ok},
	}
	got := doctor.Run(t.Context(), checks, doctor.Settings{Patience: 50 * time.Millisecond, AtOnce: 2})
	want := []struct {
		level doctor.Level
		parts string
	}{
		{doctor.OK, "first a fine"}, {doctor.Fail, "panics b over nothing"}, {doctor.OK, "denied c half"}, {doctor.Warn, "denied c eks:DescribeCluster with permissions"},
		{doctor.Warn, "fails d no route"}, {doctor.Warn, "hangs e no answer"}, {doctor.OK, "last f fine"},
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
		if (got[i].Do == "") != (w.level == doctor.OK) {
			t.Errorf("finding %d says %q to do", i, got[i].Do)
		}
	}
	if doctor.ExitStatus(got) != 2 || doctor.ExitStatus(got[2:]) != 1 || doctor.ExitStatus(got[:1]) != 0 {
		t.Error("the exit status is not that of the worst finding")
	}
	var table, text strings.Builder
	if err := errors.Join(doctor.Write(&table, got), doctor.WriteJSON(&text, got)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(table.String(), "\n"); !strings.HasPrefix(lines[0], "fail  panics: b") || !strings.Contains(table.String(), "3 passed, 3 warnings, 1 failed.") {
		t.Errorf("%s", table.String())
	}
	var read struct {
		Findings []doctor.Finding
		Status   int
	}
	if err := json.Unmarshal([]byte(text.String()), &read); err != nil || len(read.Findings) != len(got) || read.Status != 2 {
		t.Errorf("%v %s", err, text.String())
	}
}
