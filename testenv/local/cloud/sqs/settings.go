package sqs

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxMessageBytes is the size no message and no batch may exceed.
const maxMessageBytes = 1 << 20

// settings are the attributes of a queue that can be set.
type settings struct {
	values map[string]string // every settable attribute with a value, defaults included

	fifo            bool
	contentDedup    bool
	dedupPerGroup   bool
	delay           time.Duration
	retention       time.Duration
	visibility      time.Duration
	receiveWait     time.Duration
	maxBytes        int
	deadLetterARN   string // empty: no redrive
	maxReceiveCount int
}

// numbers are the attributes that are numbers in a range, with their defaults.
var numbers = map[string]struct{ low, high, initial int }{
	"DelaySeconds":                  {0, 900, 0},
	"MaximumMessageSize":            {1024, maxMessageBytes, maxMessageBytes},
	"MessageRetentionPeriod":        {60, 1209600, 345600},
	"ReceiveMessageWaitTimeSeconds": {0, 20, 0},
	"VisibilityTimeout":             {0, 43200, 30},
}

// choices are the attributes with a fixed set of values.
var choices = map[string][]string{
	"ContentBasedDeduplication": {"true", "false"},
	"FifoQueue":                 {"true"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
	"SqsManagedSseEnabled":      {"true", "false"},
}

var fifoOnly = map[string]bool{
	"FifoQueue": true, "ContentBasedDeduplication": true, "DeduplicationScope": true, "FifoThroughputLimit": true,
}

// kept attributes are stored and reported, and change nothing here.
var kept = map[string]bool{
	"Policy": true, "RedriveAllowPolicy": true, "KmsMasterKeyId": true, "KmsDataKeyReusePeriodSeconds": true,
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// newSettings checks the name and attributes of a new queue. The lock is held.
func (m *Model) newSettings(name string, attributes map[string]string) (*settings, error) {
	base, hasSuffix := strings.CutSuffix(name, ".fifo")
	fifo := attributes["FifoQueue"] == "true"
	if len(name) > 80 || !queueName.MatchString(base) || hasSuffix != fifo {
		if fifo {
			return nil, invalid("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.")
		}
		return nil, invalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	s := &settings{values: map[string]string{"SqsManagedSseEnabled": "true"}, fifo: fifo}
	for attribute, n := range numbers {
		s.values[attribute] = strconv.Itoa(n.initial)
	}
	if fifo {
		s.values["FifoQueue"] = "true"
		s.values["ContentBasedDeduplication"] = "false"
		s.values["DeduplicationScope"] = "queue"
		s.values["FifoThroughputLimit"] = "perQueue"
	}
	return s.with(m, attributes)
}

// with returns s with attributes set, s itself unchanged, or an error naming
// the first attribute that cannot be. The lock of m is held.
func (s *settings) with(m *Model, attributes map[string]string) (*settings, error) {
	next := &settings{values: map[string]string{}, fifo: s.fifo}
	for name, value := range s.values {
		next.values[name] = value
	}
	for name, value := range attributes {
		if err := next.set(m, name, value); err != nil {
			return nil, err
		}
	}
	number := func(name string) int { n, _ := strconv.Atoi(next.values[name]); return n }
	seconds := func(name string) time.Duration { return time.Duration(number(name)) * time.Second }
	next.contentDedup = next.values["ContentBasedDeduplication"] == "true"
	next.dedupPerGroup = next.values["DeduplicationScope"] == "messageGroup"
	next.delay = seconds("DelaySeconds")
	next.retention = seconds("MessageRetentionPeriod")
	next.visibility = seconds("VisibilityTimeout")
	next.receiveWait = seconds("ReceiveMessageWaitTimeSeconds")
	next.maxBytes = number("MaximumMessageSize")
	if policy, ok := next.values["RedrivePolicy"]; ok {
		next.deadLetterARN, next.maxReceiveCount, _ = parseRedrive(policy)
	}
	return next, nil
}

// set checks and stores one attribute.
func (s *settings) set(m *Model, name, value string) error {
	if fifoOnly[name] && !s.fifo {
		return errAttributeName(name)
	}
	if n, ok := numbers[name]; ok {
		got, err := strconv.Atoi(value)
		if err != nil || got < n.low || got > n.high {
			return errAttributeValue(name)
		}
		s.values[name] = value
		return nil
	}
	if allowed, ok := choices[name]; ok {
		for _, choice := range allowed {
			if value == choice {
				s.values[name] = value
				return nil
			}
		}
		return errAttributeValue(name)
	}
	switch {
	case value == "" && (kept[name] || name == "RedrivePolicy"):
		delete(s.values, name)
	case kept[name]:
		s.values[name] = value
	case name == "RedrivePolicy":
		if err := s.checkRedrive(m, value); err != nil {
			return err
		}
		s.values[name] = value
	default:
		return errAttributeName(name)
	}
	return nil
}

func (s *settings) checkRedrive(m *Model, policy string) error {
	refuse := func(reason string) error { return invalidFor(policy, "RedrivePolicy", reason) }
	arn, count, err := parseRedrive(policy)
	if err != nil {
		return refuse("Redrive policy is not a valid JSON map.")
	}
	if arn == "" {
		return refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	if count < 1 || count > 1000 {
		return refuse("Invalid value for maxReceiveCount: must be between 1 and 1000.")
	}
	target := m.byARN(arn)
	if target == nil {
		return refuse("Dead letter target does not exist.")
	}
	if target.settings.fifo != s.fifo {
		return refuse("Dead-letter queue must be same type of queue as the source.")
	}
	return nil
}

// parseRedrive reads a redrive policy; the count may be a number or a string.
func parseRedrive(policy string) (arn string, maxReceiveCount int, err error) {
	var p struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
		MaxReceiveCount     any    `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return "", 0, err
	}
	switch n := p.MaxReceiveCount.(type) {
	case float64:
		maxReceiveCount = int(n)
	case string:
		maxReceiveCount, _ = strconv.Atoi(n)
	}
	return p.DeadLetterTargetArn, maxReceiveCount, nil
}

// differs returns the first of the attributes asked for that s has with
// another value than want, or "".
func (s *settings) differs(asked map[string]string, want *settings) string {
	for name := range asked {
		if s.values[name] != want.values[name] {
			return name
		}
	}
	return ""
}
