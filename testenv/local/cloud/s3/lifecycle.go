package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// lifecycle is the configuration of a bucket: what of it is modeled. A
// configuration with anything else in it is refused.
type lifecycle struct {
	Rules []rule `xml:"Rule"`
}

type rule struct {
	ID         string `xml:",omitempty"`
	Status     string
	Prefix     *string     `xml:",omitempty"` // of the older form without a filter
	Filter     *filter     `xml:",omitempty"`
	Expiration *expiration `xml:",omitempty"`
	// Uploads are not modeled, so there never are any to abort.
	AbortIncompleteMultipartUpload *struct{ DaysAfterInitiation int } `xml:",omitempty"`
	Other                          []unknown                          `xml:",any"`
}

type filter struct {
	Prefix string
	Other  []unknown `xml:",any"`
}

type expiration struct {
	Days  int        `xml:",omitempty"`
	Date  *time.Time `xml:",omitempty"`
	Other []unknown  `xml:",any"`
}

type unknown struct{ XMLName xml.Name }

func (r rule) prefix() string {
	switch {
	case r.Filter != nil:
		return r.Filter.Prefix
	case r.Prefix != nil:
		return *r.Prefix
	}
	return ""
}

// expiry returns when the rule ends an object, zero for never: the midnight
// (UTC) that follows its age in days.
func (r rule) expiry(o *object) time.Time {
	if r.Status != "Enabled" || r.Expiration == nil || !strings.HasPrefix(o.key, r.prefix()) {
		return time.Time{}
	}
	if r.Expiration.Date != nil {
		return *r.Expiration.Date
	}
	const day = 24 * time.Hour
	aged := o.modified.UTC().Add(time.Duration(r.Expiration.Days) * day)
	midnight := aged.Truncate(day)
	if midnight.Before(aged) {
		midnight = midnight.Add(day)
	}
	return midnight
}

// expiry returns when an object ends and the id of the rule that ends it; zero
// when none does.
func (b *bucket) expiry(o *object) (at time.Time, ruleID string) {
	if b.lifecycle == nil {
		return time.Time{}, ""
	}
	for _, r := range b.lifecycle.Rules {
		if end := r.expiry(o); !end.IsZero() && (at.IsZero() || end.Before(at)) {
			at, ruleID = end, r.ID
		}
	}
	return at, ruleID
}

// expire deletes what the lifecycle rules end at now.
func (b *bucket) expire(now time.Time) {
	if b.lifecycle == nil {
		return
	}
	for key, o := range b.objects {
		if at, _ := b.expiry(o); !at.IsZero() && !now.Before(at) {
			delete(b.objects, key)
		}
	}
}

// setExpiration announces when an object will end.
func (b *bucket) setExpiration(h http.Header, o *object) {
	if at, id := b.expiry(o); !at.IsZero() {
		h.Set("x-amz-expiration", fmt.Sprintf("expiry-date=%q, rule-id=%q", at.Format(http.TimeFormat), id))
	}
}

func (l *lifecycle) check() error {
	if len(l.Rules) == 0 || len(l.Rules) > 1000 {
		return malformedXML()
	}
	ids := map[string]bool{}
	for i := range l.Rules {
		r := &l.Rules[i]
		if r.ID == "" {
			r.ID = fmt.Sprintf("rule-%d", i+1)
		}
		if ids[r.ID] {
			return wire.Errorf("InvalidArgument", "Rule ID must be unique. Found same ID for more than one rule")
		}
		ids[r.ID] = true
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

func (r rule) check() error {
	other := r.Other
	if r.Filter != nil {
		other = append(other, r.Filter.Other...)
	}
	if r.Expiration != nil {
		other = append(other, r.Expiration.Other...)
	}
	switch {
	case len(other) > 0:
		return wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "Lifecycle element %s is not modelled here", other[0].XMLName.Local)
	case r.Status != "Enabled" && r.Status != "Disabled", r.Filter == nil && r.Prefix == nil:
		return malformedXML()
	case r.Expiration == nil && r.AbortIncompleteMultipartUpload == nil:
		return wire.Errorf("InvalidRequest", "At least one action needs to be specified in a rule")
	case r.Expiration != nil && r.Expiration.Date == nil && r.Expiration.Days < 1:
		return wire.Errorf("InvalidArgument", "'Days' for Expiration action must be a positive integer")
	}
	return nil
}

func malformedXML() error {
	return wire.Errorf("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
}

func (h handler) putLifecycle(w http.ResponseWriter, r *http.Request, t target) error {
	body, header, err := readBody(r)
	if err != nil {
		return err
	}
	if _, err := verifyChecksums(header, body); err != nil {
		return err
	}
	config := &lifecycle{}
	if err := xml.Unmarshal(body, config); err != nil {
		return malformedXML()
	}
	if err := config.check(); err != nil {
		return err
	}
	err = h.m.with(t.bucket, func(b *bucket) error {
		b.lifecycle = config
		return nil
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (h handler) getLifecycle(w http.ResponseWriter, r *http.Request, t target) error {
	var config *lifecycle
	err := h.m.with(t.bucket, func(b *bucket) error {
		if config = b.lifecycle; config == nil {
			return wire.StatusErrorf(http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
		}
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "LifecycleConfiguration", config)
	return nil
}

func (h handler) deleteLifecycle(w http.ResponseWriter, _ *http.Request, t target) error {
	err := h.m.with(t.bucket, func(b *bucket) error {
		b.lifecycle = nil
		return nil
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
