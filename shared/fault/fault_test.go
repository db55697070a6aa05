package fault

import (
	"errors"
	"fmt"
	"testing"
)

func TestKindSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("launch claim web: %w", New(NoCapacity, "InsufficientInstanceCapacity", "no m7g.large in %s", "a"))
	if !Is(err, NoCapacity) || CodeOf(err) != "InsufficientInstanceCapacity" {
		t.Fatalf("got kind %s code %q", KindOf(err), CodeOf(err))
	}
}

func TestUnclassifiedErrorIsInternal(t *testing.T) {
	if KindOf(errors.New("boom")) != Internal || Is(nil, Internal) {
		t.Fatal("an unclassified error is Internal, and nil is of no kind")
	}
}

func TestCodeOfLooksBelowAnOuterErrorWithoutCode(t *testing.T) {
	err := Wrap(Conflict, "", New(Throttled, "SlowDown", "slow"), "read")
	if CodeOf(err) != "SlowDown" || KindOf(err) != Conflict {
		t.Fatalf("got %q %s", CodeOf(err), KindOf(err))
	}
	if Wrap(Conflict, "x", nil, "y") != nil {
		t.Fatal("wrapping nil must stay nil")
	}
}
