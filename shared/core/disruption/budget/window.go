package budget

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a function's image need not have time zones

	"github.com/robfig/cron/v3"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Window is a time that comes again: it opens with each hit of the schedule and is open for the duration.
type Window struct {
	Schedule        string // five fields of cron, or a macro; "" = always, if there is no duration either
	DurationSeconds int64
	TimeZone        string // an IANA name such as Europe/Berlin, which the schedule is in; "" = UTC
}

// At reports whether the window is open. changeUnix is the next time that may change, 0 = never. Invalid where a part
// of it cannot be read.
func (w Window) At(nowUnix int64) (open bool, changeUnix int64, err error) {
	switch {
	case w.Schedule == "" && w.DurationSeconds == 0:
		return true, 0, nil
	case w.Schedule == "":
		return false, 0, fault.New(fault.Invalid, "", "there is a duration and no schedule; set both or neither")
	case w.DurationSeconds <= 0:
		const message = "there is a schedule, %.100q, and no duration; set both or neither"
		return false, 0, fault.New(fault.Invalid, "", message, w.Schedule)
	}
	schedule, err := parse(w.Schedule)
	if err != nil {
		return false, 0, err
	}
	zone, err := Zone(w.TimeZone)
	if err != nil {
		return false, 0, err
	}
	now := time.Unix(nowUnix, 0).In(zone)
	begun := nextHit(schedule, time.Unix(nowUnix-min(w.DurationSeconds, 10*366*24*3600), 0).In(zone))
	if begun.IsZero() { // such as the 31st of February
		return false, 0, nil
	}
	if begun.After(now) {
		return false, begun.Unix(), nil
	}
	return true, begun.Unix() + w.DurationSeconds, nil
}

// OfPod returns the window that a pod's annotations name. Invalid, naming annotation and value, where one of them
// cannot be read, or schedule or duration is missing.
func OfPod(w *model.PodWindow) (Window, error) {
	d, err := time.ParseDuration(w.Duration)
	seconds := int64(d / time.Second)
	switch {
	case w.Schedule == "":
		return Window{}, fault.New(fault.Invalid, "", "there is no annotation %s", model.AnnotationWindowSchedule)
	case w.Duration == "":
		return Window{}, fault.New(fault.Invalid, "", "there is no annotation %s", model.AnnotationWindowDuration)
	case err != nil || seconds <= 0:
		const message = "annotation %s: %.50q is no duration of a second or more; write one such as 2h"
		return Window{}, fault.New(fault.Invalid, "", message, model.AnnotationWindowDuration, w.Duration)
	}
	if _, err := Zone(w.TimeZone); err != nil {
		return Window{}, fault.Wrap(fault.Invalid, "", err, "annotation %s", model.AnnotationWindowTimeZone)
	}
	if _, err := parse(w.Schedule); err != nil {
		return Window{}, fault.Wrap(fault.Invalid, "", err, "annotation %s", model.AnnotationWindowSchedule)
	}
	return Window{Schedule: w.Schedule, DurationSeconds: seconds, TimeZone: w.TimeZone}, nil
}

// Zone returns the time zone of an IANA name, UTC for "". Invalid where there is none of that name.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // that would be this process's own
		const message = "%.50q is no time zone; write an IANA name such as Europe/Berlin"
		return nil, fault.New(fault.Invalid, "", message, name)
	}
	return zone, nil
}

// clockChange is by how much a clock is put forward or back at most.
const clockChange = 3 * time.Hour

// nextHit returns the first hit of the schedule after a time, on the clocks of that time's zone; zero where there is
// none. A hit that clocks skip counts as much earlier or later as they are put forward, so that no day is without its
// window; one that clocks show twice counts once.
func nextHit(schedule cron.Schedule, after time.Time) time.Time {
	zone := after.Location()
	if zone == time.UTC {
		return schedule.Next(after)
	}
	var first time.Time
	for wall := schedule.Next(onWall(after).Add(-clockChange)); !wall.IsZero(); wall = schedule.Next(wall) {
		hit := time.Date(
			wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
		if hit.After(after) && (first.IsZero() || hit.Before(first)) {
			first = hit
		}
		if !first.IsZero() && wall.After(onWall(first).Add(clockChange)) {
			break
		}
	}
	return first
}

// onWall returns what clocks show at a time as if it were UTC, where no hour is skipped or shown twice.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// schedules reads the five fields of cron, or one of its macros.
var schedules = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parse reads a schedule as the NodePool's own rules let it be written.
func parse(text string) (cron.Schedule, error) {
	words := strings.Fields(text)
	const remedy = "write five fields of cron, or @daily and the like"
	if len(words) != 5 && !(len(words) == 1 && slices.Contains(macros, text)) {
		return nil, fault.New(fault.Invalid, "", "%.100q is no schedule; %s", text, remedy)
	}
	schedule, err := schedules.Parse(strings.Join(words, " "))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "%.100q is no schedule; %s", text, remedy)
	}
	return schedule, nil
}

var macros = []string{"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
