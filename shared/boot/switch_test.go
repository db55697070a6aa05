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
	d := &dial{says: Everything, now: time.Unix(1000, 0)}
	s := d.stopSwitch()
	for _, step := range []struct {
		after time.Duration
		says  string
		err   error
		want  string
		asked int
	}{
		{0, Everything, nil, Everything, 1},
		{59 * time.Second, Go, nil, Everything, 1},
		{time.Second, Go, errors.New("no network"), Everything, 2},
		{time.Minute, "stop", nil, Everything, 3},
		{time.Minute, Disruption, nil, Disruption, 4},
		{time.Minute, Go, nil, Go, 5},
	} {
		d.now, d.says, d.err = d.now.Add(step.after), step.says, step.err
		if got := s.Says(t.Context()); got != step.want || d.asked != step.asked {
			t.Errorf("it says %s after %d questions, want %s after %d", got, d.asked, step.want, step.asked)
		}
	}
	unread := (&dial{err: errors.New("denied"), now: time.Unix(1000, 0)}).stopSwitch()
	if got := unread.Says(t.Context()); got != Go {
		t.Errorf("one that was never read says %s", got)
	}
	if got := (*Switch)(nil).Says(t.Context()); got != Go {
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
	for says, paused := range map[string]bool{Go: false, Disruption: false, Everything: true} {
		d := &dial{says: says, now: time.Unix(1000, 0)}
		s := Switched{Registry: registry{{Cluster: "a"}, {Cluster: "b"}}, Switch: d.stopSwitch()}
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
		if (stop != nil) != (says != Go) {
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
