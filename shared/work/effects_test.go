package work

import (
	"context"
	"errors"
	"slices"
	"testing"
)

type eyes struct {
	seen []string
	stop error
}

func (e *eyes) Before(_ context.Context, effect string) error {
	e.seen = append(e.seen, "before "+effect)
	return e.stop
}

func (e *eyes) After(_ context.Context, effect string) { e.seen = append(e.seen, "after "+effect) }

func TestUnderIsSeenAndMayBeStopped(t *testing.T) {
	failed := errors.New("no")
	e := &eyes{}
	if err := RunEffect(t.Context(), e, "record", func() error { e.seen = append(e.seen, "done"); return failed }); err != failed {
		t.Errorf("%v", err)
	}
	e.stop = errors.New("stopped")
	if err := RunEffect(t.Context(), e, "launch", func() error { t.Error("done all the same"); return nil }); err != e.stop {
		t.Errorf("%v", err)
	}
	if want := []string{"before record", "done", "after record", "before launch"}; !slices.Equal(e.seen, want) {
		t.Errorf("saw %q, want %q", e.seen, want)
	}
	if err := RunEffect(t.Context(), nil, "record", func() error { return failed }); err != failed {
		t.Errorf("without eyes: %v", err)
	}
}
