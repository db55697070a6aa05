package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Never is the text of a duration without an end.
const Never = "Never"

// Duration is a length of time that keeps the text it was written with, so that 60m is not handed back as 1h0m0s. The
// text is one or more whole numbers, each followed by h, m or s. A length too long for time.Duration is cut to the
// longest there is, some 292 years, because one such object must not make a whole list unreadable.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^([0-9]+[hms])+$`
type Duration struct {
	time.Duration `json:"-"`
	text          string
}

// NewDuration returns d with its shortest text in hours, minutes and seconds. It is cut to whole seconds and is never
// below zero.
func NewDuration(d time.Duration) Duration {
	d = max(d, 0).Truncate(time.Second)
	return Duration{Duration: d, text: formatDuration(d)}
}

// String returns the text the duration was written with.
func (d Duration) String() string {
	if d.text == "" {
		return formatDuration(d.Duration)
	}
	return d.text
}

// MarshalJSON writes the text the duration was written with.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the text of a duration; null leaves it unchanged.
func (d *Duration) UnmarshalJSON(data []byte) error {
	text, present, err := durationText(data)
	if err != nil || !present {
		return err
	}
	parsed, err := parseDuration(text)
	if err != nil {
		return err
	}
	*d = Duration{Duration: parsed, text: text}
	return nil
}

// NillableDuration is a Duration that may also be Never. It keeps the text it was written with. The zero value is one that
// nobody wrote: it is left out of JSON, so that the field's default applies, and until then reads as Never.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(Never|([0-9]+[hms])+)$`
type NillableDuration struct {
	// Duration is nil for Never.
	*time.Duration `json:"-"`
	text           string
}

// NewNillableDuration returns d with its shortest text, as NewDuration does; nil is Never.
func NewNillableDuration(d *time.Duration) NillableDuration {
	if d == nil {
		return NillableDuration{text: Never}
	}
	exact := NewDuration(*d)
	return NillableDuration{Duration: &exact.Duration, text: exact.text}
}

// IsZero says whether nobody wrote the duration.
func (d NillableDuration) IsZero() bool { return d.Duration == nil && d.text == "" }

// IsNever says whether the duration has no end.
func (d NillableDuration) IsNever() bool { return d.Duration == nil }

// String returns the text the duration was written with.
func (d NillableDuration) String() string {
	switch {
	case d.text != "":
		return d.text
	case d.Duration == nil:
		return Never
	}
	return formatDuration(*d.Duration)
}

// MarshalJSON writes the text the duration was written with.
func (d NillableDuration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the text of a duration or Never; null leaves it unchanged.
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	text, present, err := durationText(data)
	if err != nil || !present {
		return err
	}
	if text == Never {
		*d = NillableDuration{text: text}
		return nil
	}
	parsed, err := parseDuration(text)
	if err != nil {
		return fmt.Errorf("%w, or %s", err, Never)
	}
	*d = NillableDuration{Duration: &parsed, text: text}
	return nil
}

// durationText returns the JSON string in data; present is false for null.
func durationText(data []byte) (text string, present bool, err error) {
	if string(data) == "null" {
		return "", false, nil
	}
	if err := json.Unmarshal(data, &text); err != nil {
		return "", false, fmt.Errorf("read duration: %w", err)
	}
	return text, true, nil
}

// units maps the unit letters of a duration to their length.
var units = map[byte]time.Duration{'h': time.Hour, 'm': time.Minute, 's': time.Second}

// parseDuration reads whole numbers each followed by its unit. Sums that do not fit are cut to the longest duration.
func parseDuration(text string) (time.Duration, error) {
	malformed := fmt.Errorf("read duration %q: want whole numbers each followed by h, m or s, such as 1h30m", text)
	if text == "" {
		return 0, malformed
	}
	var total time.Duration
	for rest := text; rest != ""; {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits <= 0 {
			return 0, malformed
		}
		unit, known := units[rest[digits]]
		if !known {
			return 0, malformed
		}
		count, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, malformed
		}
		if count > int64((math.MaxInt64-total)/unit) {
			total, count = math.MaxInt64, 0
		}
		total += time.Duration(count) * unit
		rest = rest[digits+1:]
	}
	return total, nil
}

// formatDuration writes d, which is at least 0, in hours, minutes and seconds, leaving out what is zero: 1h30m, 0s.
func formatDuration(d time.Duration) string {
	seconds := int64(d / time.Second)
	var b strings.Builder
	for _, part := range []struct {
		count int64
		unit  byte
	}{{seconds / 3600, 'h'}, {seconds / 60 % 60, 'm'}, {seconds % 60, 's'}} {
		if part.count != 0 {
			b.WriteString(strconv.FormatInt(part.count, 10))
			b.WriteByte(part.unit)
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
