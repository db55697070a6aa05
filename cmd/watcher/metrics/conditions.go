package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/joiner-sh/joiner/shared/model"
)

// ofTransitions are the buckets of how long a condition had a status, in seconds.
var ofTransitions = prometheus.ExponentialBuckets(0.5, 2, 15)

// conditions follows those of the objects of a kind.
type conditions struct {
	changes *prometheus.CounterVec
	changed *prometheus.HistogramVec

	shown map[string][]model.ConditionShown // by name of the object; a list is never changed
	texts map[string]string                 // one copy of each text, as all objects show the same few
}

func follow(changes *prometheus.CounterVec, changed *prometheus.HistogramVec) *conditions {
	return &conditions{changes: changes, changed: changed, shown: map[string][]model.ConditionShown{},
		texts: map[string]string{}}
}

// observe takes in what an object shows; nil where it is gone. Changes count where counts says so.
func (c *conditions) observe(name string, now []model.ConditionShown, counts bool) {
	before := c.shown[name]
	if now == nil {
		delete(c.shown, name)
		return
	}
	kept := make([]model.ConditionShown, 0, len(now))
	for _, condition := range now {
		condition.Type, condition.Status, condition.Reason = c.one(condition.Type), c.one(condition.Status),
			c.one(condition.Reason)
		kept = append(kept, condition)
		at := slices.IndexFunc(before, func(b model.ConditionShown) bool { return b.Type == condition.Type })
		if !counts || at < 0 || before[at].Status == condition.Status {
			continue
		}
		c.changes.WithLabelValues(condition.Type, condition.Status, condition.Reason).Inc()
		if since := before[at].SinceUnix; since != 0 && condition.SinceUnix >= since {
			c.changed.WithLabelValues(condition.Type, before[at].Status).Observe(float64(condition.SinceUnix - since))
		}
	}
	c.shown[name] = kept
}

// one returns the one copy of a text.
func (c *conditions) one(text string) string {
	if kept, has := c.texts[text]; has {
		return kept
	}
	c.texts[text] = text
	return text
}
