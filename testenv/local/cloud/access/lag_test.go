package access

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// A role and what it may do act at once, or after a while.
func TestRolesAndPoliciesActAtOnceOrLater(t *testing.T) {
	const arn, caller = "arn:aws:iam::123456789012:role/r", "arn:aws:iam::123456789012:role/caller"
	parse := func(kind policy.Kind, text string) *policy.Document {
		t.Helper()
		d, err := policy.Parse([]byte(text), kind)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	allows := func(action string) Role {
		return Role{
			Identity: []policy.Attached{{Name: "own", Document: parse(policy.Identity, `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "`+action+`", "Resource": "*"}}`)}},
			Trust:    parse(policy.Trust, `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}}`),
		}
	}
	for _, lags := range []bool{false, true} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		b := NewBook("123456789012", "us-west-2", func() time.Time { return now })
		b.Readings = reading.Strict(reading.PolicyLag)
		if lags {
			b.Readings = reading.Other(reading.PolicyLag)
		}
		may := func(who, action, resource string) bool {
			return b.Decide(policy.Role(who), wire.Access{Action: action, Resource: resource}).Allowed()
		}
		b.SetRole(arn, allows("sqs:*"))
		if got := may(arn, "sqs:SendMessage", "*"); got == lags {
			t.Errorf("lags %v: a role just made may send: %v", lags, got)
		}
		if got := may(caller, "sts:AssumeRole", arn); got == lags {
			t.Errorf("lags %v: a role just made may be assumed: %v", lags, got)
		}
		now = now.Add(reading.PolicyDelay)
		if !may(arn, "sqs:SendMessage", "*") || !may(caller, "sts:AssumeRole", arn) {
			t.Errorf("lags %v: it does not act after %v", lags, reading.PolicyDelay)
		}
		b.SetRole(arn, allows("s3:*"))
		if got := may(arn, "sqs:SendMessage", "*"); got != lags {
			t.Errorf("lags %v: what was just taken away is still there: %v", lags, got)
		}
		now = now.Add(reading.PolicyDelay)
		if may(arn, "sqs:SendMessage", "*") || !may(arn, "s3:GetObject", "*") {
			t.Errorf("lags %v: the change does not act after %v", lags, reading.PolicyDelay)
		}
	}
}
