package show

import (
	"io"

	"github.com/joiner-sh/joiner/shared/model"
)

// StopEntry is a stop, with what it is of.
type StopEntry struct {
	Scope   model.StopScope `json:"scope"`
	Account string          `json:"account,omitempty"` // of a region's
	Region  string          `json:"region,omitempty"`
	Cluster string          `json:"cluster,omitempty"`
	Pool    string          `json:"nodePool,omitempty"`
	Why     string          `json:"why,omitempty"`
	By      string          `json:"by,omitempty"`
	Since   string          `json:"since,omitempty"` // RFC 3339
}

// StopEntryOf reports a stop that holds for a cluster.
func StopEntryOf(reg model.Registration, stop model.Stop) StopEntry {
	out := StopEntry{Scope: stop.Scope, Pool: stop.Pool, Why: stop.Why, By: stop.By}
	if stop.Scope == model.StopRegion {
		out.Account, out.Region = reg.Account, reg.Region
	} else {
		out.Cluster = reg.Cluster
	}
	if stop.SinceUnix > 0 {
		out.Since = clock(stop.SinceUnix)
	}
	return out
}

// StopDetails says since when, by whom and why something is stopped.
func StopDetails(stop model.Stop) string {
	out := ""
	if stop.SinceUnix > 0 {
		out += ", since " + clock(stop.SinceUnix)
	}
	if stop.By != "" {
		out += ", by " + stop.By
	}
	if stop.Why != "" {
		out += ": " + stop.Why
	}
	return out
}

// Stops writes stops for people.
func Stops(out io.Writer, list []StopEntry) error {
	t := &table{}
	if len(list) == 0 {
		t.line("There are no stops.")
	} else {
		rows := [][]string{{"STOPPED", "WHICH", "SINCE", "BY", "WHY"}}
		for _, s := range list {
			which := s.Cluster
			switch s.Scope {
			case model.StopPool:
				which += "/" + s.Pool
			case model.StopRegion:
				which = s.Account + " " + s.Region
			}
			rows = append(rows, []string{string(s.Scope), short(which, 50), s.Since, short(s.By, 20), s.Why})
		}
		t.grid(rows, ".....")
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}

// StopsJSON writes stops for programs.
func StopsJSON(out io.Writer, list []StopEntry) error {
	if list == nil {
		list = []StopEntry{}
	}
	return Indented(out, struct {
		Stops []StopEntry `json:"stops"`
	}{list})
}
