package boot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// dial is a switch of tests: what it says, and how often it was asked.
type dial struct {
	says  string
	err   error
	asked int
	now   time.Time
}

func (d *dial) stopSwitch() *Switch {
	return &Switch{Name: "/joiner/stop", logger: slog.New(slog.NewTextHandler(io.Discard, nil)), now: func() time.Time { return d.now },
		read: func(context.Context, string) (string, error) { d.asked++; return d.says, d.err }}
}

// It is read once a minute, and what cannot be read or understood changes nothing.
func TestStopSwitchIsReadOnceAMinute(t *testing.T) {
	d := &dial{says: SwitchEverything, now: time.Unix(1000, 0)}
	s := d.stopSwitch()
	for _, step := range []struct {
		after time.Duration
		says  string
		err   error
		want  string
		asked int
	}{
		{0, SwitchEverything, nil, SwitchEverything, 1},
		{59 * time.Second, SwitchGo, nil, SwitchEverything, 1},
		{time.Second, SwitchGo, errors.New("no network"), SwitchEverything, 2},
		{time.Minute, "stop", nil, SwitchEverything, 3},
		{time.Minute, SwitchDisruption, nil, SwitchDisruption, 4},
		{time.Minute, SwitchGo, nil, SwitchGo, 5},
	} {
		d.now, d.says, d.err = d.now.Add(step.after), step.says, step.err
		if got := s.Says(t.Context()); got != step.want || d.asked != step.asked {
			t.Errorf("it says %s after %d questions, want %s after %d", got, d.asked, step.want, step.asked)
		}
	}
	unread := (&dial{err: errors.New("denied"), now: time.Unix(1000, 0)}).stopSwitch()
	if got := unread.Says(t.Context()); got != SwitchGo {
		t.Errorf("one that was never read says %s", got)
	}
	if got := (*Switch)(nil).Says(t.Context()); got != SwitchGo {
		t.Errorf("none says %s", got)
	}
}

type registry []model.Registration

func (r registry) Clusters(context.Context) ([]model.Registration, error) {
	return append([]model.Registration{}, r...), nil
}

func (r registry) Cluster(_ context.Context, name string) (model.Registration, error) {
	for _, reg := range r {
		if reg.Cluster == name {
			return reg, nil
		}
	}
	return model.Registration{}, errors.New("no such cluster")
}

// Everything pauses clusters; stopping disruption is a stop of the region and pauses none.
func TestStopSwitchPausesClusters(t *testing.T) {
	for says, paused := range map[string]bool{SwitchGo: false, SwitchDisruption: false, SwitchEverything: true} {
		d := &dial{says: says, now: time.Unix(1000, 0)}
		s := SwitchedRegistry{Registry: registry{{Cluster: "a"}, {Cluster: "b"}}, Switch: d.stopSwitch()}
		all, err := s.Clusters(t.Context())
		if err != nil || len(all) != 2 || all[0].Paused != paused || all[1].Paused != paused {
			t.Errorf("%s: clusters %v: %v", says, all, err)
		}
		if one, err := s.Cluster(t.Context(), "b"); err != nil || one.Paused != paused {
			t.Errorf("%s: cluster %v: %v", says, one, err)
		}
		if _, err := s.Cluster(t.Context(), "c"); err == nil {
			t.Errorf("%s: a cluster nobody attached was found", says)
		}
		stop := s.Switch.Stop(t.Context())
		if (stop != nil) != (says != SwitchGo) {
			t.Errorf("%s: stop %v", says, stop)
		}
		if stop != nil && (stop.Scope != model.StopRegion || stop.By != "/joiner/stop" || stop.Validate() != nil) {
			t.Errorf("%s: stop %+v: %v", says, stop, stop.Validate())
		}
		if d.asked != 1 {
			t.Errorf("%s: asked %d times", says, d.asked)
		}
	}
}
