package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// logged is what the story reads of a function's log line.
type logged struct {
	Level   string `json:"level"`
	Msg     string `json:"msg"`
	Error   string `json:"error"`
	Batches []struct {
		FirstSeenMillis int64 `json:"firstSeenMillis"`
		ClosedMillis    int64 `json:"closedMillis"`
		Pods            int   `json:"pods"`
	} `json:"batches"`
	Outcome struct {
		Trigger       string           `json:"trigger"`
		Pending       int              `json:"pending"`
		Claims        int              `json:"claims"`
		Registered    int              `json:"registered"`
		Initialized   int              `json:"initialized"`
		Unschedulable int              `json:"unschedulable"`
		PricePerHour  float64          `json:"pricePerHour"`
		Millis        map[string]int64 `json:"millis"`
		Problems      []string         `json:"problems"`
		Committed     []string         `json:"committed"`
		Decided       []struct {
			Reason   string `json:"reason"`
			Replaces bool   `json:"replaces"`
		} `json:"decided"`
		Savings float64 `json:"savings"`
		Undone  int     `json:"undone"`
		Evicted int     `json:"evicted"`

		Kinds map[model.NoticeKind]int `json:"kinds"` // of notices from AWS
	} `json:"outcome"`
}

// functionLog reads the functions' log lines. Runs that did nothing are not told.
func (s *story) functionLog(l lambdaruntime.LogLine) {
	var entry logged
	if json.Unmarshal([]byte(l.Text), &entry) != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	o := &entry.Outcome
	switch entry.Msg {
	case "provision":
		s.provision(&entry)
	case "disrupt":
		if n := len(o.Committed); n > 0 {
			why := ""
			if len(o.Decided) > 0 {
				why = " (" + o.Decided[0].Reason
				if o.Decided[0].Replaces {
					why += ", with a replacement"
				}
				why += ")"
			}
			s.line("disrupt: %s%s, saving $%.4f per hour", many(n, "disruption command"), why, o.Savings)
		}
		if o.Undone > 0 {
			s.line("disrupt: %s undone", many(o.Undone, "command"))
		}
	case "notices":
		if n := o.Kinds[model.NoticeSpotInterrupted]; n > 0 {
			s.line("EC2 warned: it reclaims %s within two minutes", many(n, "spot instance"))
		}
		if n := o.Kinds[model.NoticeRebalance]; n > 0 {
			s.line("EC2 recommends to leave %s", many(n, "spot instance"))
		}
	case "drain":
		for range o.Evicted {
			s.gather("evicted", "", func(names []string) string { return "drain: " + many(len(names), "pod") + " evicted" })
		}
	}
	for _, problem := range o.Problems {
		s.line("%s: problem: %s", entry.Msg, problem)
	}
	if entry.Error != "" {
		s.line("%s: error: %s", entry.Msg, entry.Error)
	}
}

// changes reports whether a run launches something, or finds other pods unschedulable than the last one did: such pods
// are planned for again every few seconds. The caller holds the mutex.
func (s *story) changes(pending, claims, unschedulable int) bool {
	before := s.waiting
	s.waiting = waiting{pending, unschedulable}
	return claims > 0 || s.waiting != before
}

func (s *story) provision(entry *logged) {
	o := &entry.Outcome
	if o.Pending > 0 {
		for _, b := range entry.Batches {
			if b.ClosedMillis != 0 {
				s.batches = append(s.batches, batchTimes{time.UnixMilli(b.FirstSeenMillis), time.UnixMilli(b.ClosedMillis)})
				if b.Pods > 0 { // else nodes changed
					s.line("watcher: a batch of %s, closed after %d ms", many(b.Pods, "pod"), b.ClosedMillis-b.FirstSeenMillis)
				}
			}
		}
	}
	// Otherwise nodes are on their way for all of them, which was said when they were launched.
	if o.Pending > 0 && o.Claims+o.Unschedulable > 0 && s.changes(o.Pending, o.Claims, o.Unschedulable) {
		s.line("provision (%s): %s pending, %s launched at $%.4f per hour, %s unschedulable; "+
			"plan after %d ms, fleet after %d ms",
			o.Trigger, many(o.Pending, "pod"), many(o.Claims, "claim"), o.PricePerHour,
			many(o.Unschedulable, "pod"), o.Millis["plan1"], o.Millis["fleet"])
	}
	if o.Unschedulable == 0 {
		s.waiting = waiting{}
	}
	var nodes []string
	if o.Registered > 0 {
		nodes = append(nodes, many(o.Registered, "node")+" registered")
	}
	if o.Initialized > 0 {
		nodes = append(nodes, many(o.Initialized, "node")+" initialized")
	}
	if len(nodes) > 0 {
		s.line("provision: %s", strings.Join(nodes, ", "))
	}
}
