package v1

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// F010: the text of a duration is kept, whatever its length is worth.
func TestDurationsKeepTheirText(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
	}{
		{"60m", time.Hour},
		{"1h0m0s", time.Hour},
		{"720h", 720 * time.Hour},
		{"0s", 0},
		{"0h", 0},
		{"90m30s", 90*time.Minute + 30*time.Second},
		{"30s1h", time.Hour + 30*time.Second},
		{"1h1h", 2 * time.Hour},
		{"9999999999h", math.MaxInt64},
		{"99999999999999999999s", math.MaxInt64},
		{"2562047h2562047h", math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			quoted := `"` + tt.text + `"`
			var plain Duration
			var nillable NillableDuration
			for _, d := range []json.Unmarshaler{&plain, &nillable} {
				if err := json.Unmarshal([]byte(quoted), d); err != nil {
					t.Fatalf("%T: %v", d, err)
				}
				if back, err := json.Marshal(d); err != nil || string(back) != quoted {
					t.Errorf("%T: written as %s, %v; want %s", d, back, err, quoted)
				}
			}
			if plain.Duration != tt.want || nillable.Duration == nil || *nillable.Duration != tt.want {
				t.Errorf("read as %v and %v, want %v", plain.Duration, nillable.Duration, tt.want)
			}
		})
	}
}

func TestNeverIsADurationWithoutEnd(t *testing.T) {
	var d NillableDuration
	if err := json.Unmarshal([]byte(`"Never"`), &d); err != nil {
		t.Fatal(err)
	}
	if !d.IsNever() || d.IsZero() || d.String() != "Never" {
		t.Errorf("Never reads as %v, never %v, zero %v", d, d.IsNever(), d.IsZero())
	}
	var plain Duration
	if err := json.Unmarshal([]byte(`"Never"`), &plain); err == nil {
		t.Errorf("a Duration reads Never as %v, want an error", plain)
	}
}

func TestMalformedDurationsAreRefused(t *testing.T) {
	for _, text := range []string{`""`, `"1"`, `"h"`, `"1d"`, `"-1h"`, `"+1h"`, `"1.5h"`, `"1h "`, `" 1h"`, `"1h30"`, `"never"`, `"1é"`, `5`, `{}`, `"1ms"`} {
		var plain Duration
		var nillable NillableDuration
		if err := json.Unmarshal([]byte(text), &plain); err == nil {
			t.Errorf("Duration reads %s as %v, want an error", text, plain)
		}
		if err := json.Unmarshal([]byte(text), &nillable); err == nil {
			t.Errorf("NillableDuration reads %s as %v, want an error", text, nillable)
		}
	}
}

func TestNewDurationsAreWrittenShort(t *testing.T) {
	tests := map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Hour: "1h", 720 * time.Hour: "720h", 90 * time.Minute: "1h30m",
		time.Hour + time.Second: "1h1s", -time.Hour: "0s", 1500 * time.Millisecond: "1s",
	}
	for d, want := range tests {
		if got := NewDuration(d).String(); got != want {
			t.Errorf("NewDuration(%s) = %s, want %s", d, got, want)
		}
		nillable := NewNillableDuration(&d)
		if got := nillable.String(); got != want {
			t.Errorf("NewNillableDuration(%s) = %s, want %s", d, got, want)
		}
		text, err := json.Marshal(nillable)
		if err != nil {
			t.Fatal(err)
		}
		var back NillableDuration
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s cannot be read back: %v", text, err)
		}
	}
	if got := NewNillableDuration(nil); !got.IsNever() || got.String() != Never {
		t.Errorf("NewNillableDuration(nil) = %v, want Never", got)
	}
}

func TestUnwrittenDurationsAreLeftOut(t *testing.T) {
	text, err := json.Marshal(NodeClaimTemplateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"expireAfter", "terminationGracePeriod"} {
		if value, there := fields[field]; there {
			t.Errorf("%s is written as %s although nobody set it", field, value)
		}
	}
}
