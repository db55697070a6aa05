package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/cronexpr"
)

// expression says when a schedule is due.
type expression interface {
	// first returns the first time at or after start; the zero time when there is none.
	first(start time.Time) time.Time
	// next returns the first time after previous, which was due; the zero time when there is none.
	next(previous time.Time) time.Time
}

// parseExpression reads rate(value unit), at(yyyy-mm-ddThh:mm:ss) or cron(minutes hours day-of-month month day-of-week
// year), in the given zone.
func parseExpression(text string, zone *time.Location) (expression, error) {
	kind, rest, ok := strings.Cut(text, "(")
	body, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return nil, fmt.Errorf("expression %q: want rate(…), at(…) or cron(…)", text)
	}
	var parsed expression
	var err error
	switch kind {
	case "rate":
		parsed, err = parseRate(body)
	case "at":
		parsed, err = parseAt(body, zone)
	case "cron":
		parsed, err = parseCron(body, zone)
	default:
		err = fmt.Errorf("want rate, at or cron")
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return parsed, nil
}

// rate is due at its start and every period from then.
type rate time.Duration

func parseRate(body string) (rate, error) {
	value, unit, _ := strings.Cut(body, " ")
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("rate value %q: want a positive whole number", value)
	}
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	period, ok := units[strings.TrimSuffix(unit, "s")]
	if !ok {
		return 0, fmt.Errorf("rate unit %q: want minutes, hours or days", unit)
	}
	return rate(time.Duration(n) * period), nil
}

func (r rate) first(start time.Time) time.Time   { return start }
func (r rate) next(previous time.Time) time.Time { return previous.Add(time.Duration(r)) }

// at is due once.
type at time.Time

func parseAt(body string, zone *time.Location) (at, error) {
	when, err := time.ParseInLocation("2006-01-02T15:04:05", body, zone)
	if err != nil {
		return at{}, fmt.Errorf("want a time such as 2026-01-31T08:00:00: %w", err)
	}
	return at(when), nil
}

func (a at) first(start time.Time) time.Time {
	if time.Time(a).Before(start) {
		return time.Time{}
	}
	return time.Time(a)
}

func (a at) next(time.Time) time.Time { return time.Time{} }

// cron is due at the times of a cron expression in its zone.
type cron struct {
	times *cronexpr.Expression
	zone  *time.Location
}

func parseCron(body string, zone *time.Location) (cron, error) {
	fields := strings.Fields(body)
	if len(fields) != 6 {
		return cron{}, fmt.Errorf("%d fields, want 6", len(fields))
	}
	if (fields[2] == "?") == (fields[4] == "?") {
		return cron{}, fmt.Errorf("exactly one of day-of-month and day-of-week must be ?")
	}
	fields[4] = sundayIsZero(fields[4])
	times, err := cronexpr.Parse(strings.Join(fields, " "))
	if err != nil {
		return cron{}, err
	}
	return cron{times: times, zone: zone}, nil
}

var weekdayNumber = regexp.MustCompile(`(^|[,-])([1-7])`)

// sundayIsZero turns the service's weekdays 1 (Sunday) to 7 into those of the cron library, 0 to 6. Steps and ordinals,
// after / and #, stay.
func sundayIsZero(field string) string {
	return weekdayNumber.ReplaceAllStringFunc(field, func(match string) string {
		last := len(match) - 1
		return match[:last] + string(match[last]-1)
	})
}

func (c cron) first(start time.Time) time.Time {
	return c.next(start.Add(-time.Nanosecond))
}

func (c cron) next(previous time.Time) time.Time { return c.times.Next(previous.In(c.zone)) }
