package budget

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// M92: a schedule with a time zone is by the clocks of that zone, in summer and in winter. On the day that an hour is
// skipped its window opens all the same, and on the day that an hour comes twice it opens once.
func TestM92WindowsInATimeZone(t *testing.T) {
	work := Window{Schedule: "0 9 * * mon-fri", DurationSeconds: 8 * 3600, TimeZone: "America/New_York"}
	night := Window{Schedule: "30 2 * * *", DurationSeconds: 3600, TimeZone: "Europe/Berlin"}
	often := Window{Schedule: "*/30 * * * *", DurationSeconds: 600, TimeZone: "Asia/Kolkata"}
	for _, c := range []struct {
		name   string
		window Window
		now    string
		open   bool
		change string
	}{
		{"summer, before", work, "2026-07-06T12:59:59Z", false, "2026-07-06T13:00:00Z"},
		{"summer, within", work, "2026-07-06T13:00:00Z", true, "2026-07-06T21:00:00Z"},
		{"winter, before", work, "2026-12-07T13:59:59Z", false, "2026-12-07T14:00:00Z"},
		{"winter, within", work, "2026-12-07T14:00:00Z", true, "2026-12-07T22:00:00Z"},
		{"a Friday there, a Saturday in UTC", Window{"0 20 * * fri", 3600, "America/New_York"},
			"2026-07-11T00:30:00Z", true, "2026-07-11T01:00:00Z"},
		{"the day that 02:30 is skipped", night, "2026-03-29T01:45:00Z", true, "2026-03-29T02:30:00Z"},
		{"02:30 the first time", night, "2026-10-25T00:30:00Z", false, "2026-10-25T01:30:00Z"},
		{"02:30 the second time", night, "2026-10-25T01:30:00Z", true, "2026-10-25T02:30:00Z"},
		{"half an hour off", often, "2026-05-28T00:05:00Z", true, "2026-05-28T00:10:00Z"},
		{"macros too", Window{"@daily", 3600, "Asia/Tokyo"}, "2026-05-28T15:30:00Z", true, "2026-05-28T16:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		open, change, err := c.window.At(now.Unix())
		if got := time.Unix(change, 0).UTC().Format(time.RFC3339); err != nil || open != c.open || got != c.change {
			t.Errorf("%s: at %s open %v until %s, %v; want %v until %s",
				c.name, c.now, open, got, err, c.open, c.change)
		}
	}
}

// M92: a time zone that there is not closes the pool as any budget does that nobody can read, and says which it is.
// The process's own zone is none.
func TestM92TimeZonesThatAreNone(t *testing.T) {
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd", "CET+1"} {
		b := model.Budget{Nodes: "1", Schedule: "@daily", DurationSeconds: 60, TimeZone: zone}
		_, _, err := Bounds([]model.Budget{b}, model.ReasonEmpty, 5, 1_780_000_000)
		if err == nil || !strings.Contains(err.Error(), zone) ||
			!strings.Contains(err.Error(), model.AnnotationTimeZone) {
			t.Errorf("%s: %v", zone, err)
		}
		if field, err := Problem(b); field != "timeZone" || err == nil {
			t.Errorf("%s: %s, %v", zone, field, err)
		}
	}
	odd := model.Budget{Nodes: "1", Schedule: "x", DurationSeconds: 60, TimeZone: "Asia/Tokyo"}
	if field, err := Problem(odd); field != "schedule" {
		t.Errorf("%s, %v", field, err)
	}
}
