package drain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// latest is the last moment that is reckoned with, some 34,000 years from now: sums of a few such numbers do not
// overflow.
const latest = int64(1) << 40

// sane brings a time or a duration in seconds into 0..latest.
func sane(seconds int64) int64 { return max(0, min(seconds, latest)) }

// saneDrain returns a copy of a record, with times that can be reckoned with and Refused of its own, by UID. Nobody is
// asked again later than in PollSeconds.
func saneDrain(record *model.Drain, now, poll int64) model.Drain {
	if record == nil {
		return model.Drain{SinceUnix: now}
	}
	out := *record
	for _, field := range []*int64{
		&out.SinceUnix, &out.CordonUnix, &out.TaintedUnix, &out.EmptyUnix, &out.DetachedUnix, &out.EndUnix,
	} {
		*field = min(sane(*field), now) // what was done lies in the past
	}
	if out.SinceUnix == 0 {
		out.SinceUnix = now
	}
	out.DeadlineUnix = sane(out.DeadlineUnix)
	if record.DeadlineUnix < 0 {
		out.DeadlineUnix = 1
	}
	out.Refused = slices.Clone(out.Refused)
	for i := range out.Refused {
		r := &out.Refused[i]
		r.FirstUnix, r.NextUnix = min(sane(r.FirstUnix), now), min(sane(r.NextUnix), now+poll)
	}
	slices.SortStableFunc(out.Refused, func(a, b model.Refusal) int { return strings.Compare(a.UID, b.UID) })
	return out
}

// weight orders obstacles by how much people would like to hear of them.
var weight = map[string]int{
	CodeDeleteFailed: 1, CodeTooManyBudgets: 2, CodeDisruptionBudget: 3, CodeDoNotDisrupt: 5,
	CodeNotTainted: 6, CodeVolume: 7, CodeLeaving: 8, CodeNotReplaced: 9,
	CodeInstanceEnding: 10, CodeClaimNotEnding: 10, CodeSettling: 11, CodeEarlierTier: 12,
}

// waits returns the sentences of the obstacles people would like to hear of most.
func waits(obstacles []Obstacle) []string {
	order := slices.Clone(obstacles)
	rank := func(o Obstacle) int { return cmp.Or(weight[o.Code], 4) }
	slices.SortStableFunc(order, func(a, b Obstacle) int { return cmp.Compare(rank(a), rank(b)) })
	var out []string
	for _, o := range order[:min(len(order), model.MaxDrainWaits)] {
		out = append(out, o.Message)
	}
	return out
}

// clock writes a moment for people, in UTC.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
