package sts

import (
	"context"
	"net/http"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves GetCallerIdentity, AssumeRole and AssumeRoleWithWebIdentity
// over the Query protocol. It takes the caller from the request's context; see
// wire.WithCaller.
func NewHandler(m *Model) http.Handler {
	return wire.Query{
		Namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
		Actions: map[string]wire.QueryAction{
			"GetCallerIdentity": wire.QueryFunc(getCallerIdentity),
			"AssumeRole":        wire.QueryFunc(m.assumeRole),

			"AssumeRoleWithWebIdentity": wire.QueryFunc(m.assumeRoleWithWebIdentity),
		},
	}
}

type callerIdentity struct {
	Arn     string
	UserID  string `xml:"UserId"`
	Account string
}

func getCallerIdentity(ctx context.Context, _ *struct{}) (*callerIdentity, error) {
	id := wire.Caller(ctx)
	return &callerIdentity{Arn: id.ARN, UserID: id.UserID, Account: id.Account}, nil
}

type assumeRoleInput struct {
	RoleArn         string
	RoleSessionName string
	ExternalID      string `query:"ExternalId"`
	DurationSeconds *int32
	SourceIdentity  string
	Policy          string
	Tags            []struct{ Key, Value string }
}

type assumeRoleOutput struct {
	Credentials     credentialsView
	AssumedRoleUser assumedRoleView
	SourceIdentity  string `xml:",omitempty"`
}

type credentialsView struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      wire.Time
}

func viewOf(c Credentials) credentialsView {
	return credentialsView{c.AccessKeyID, c.SecretAccessKey, c.SessionToken, wire.Time{Time: c.Expires}}
}

type assumedRoleView struct {
	AssumedRoleID string `xml:"AssumedRoleId"`
	Arn           string
}

func badSessionName(name string) error {
	return wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to "+
		"satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*", name)
}

// access is what the request asks of IAM. trusted says that the role lets the caller in, as the model was told.
func (in *assumeRoleInput) access(trusted bool) wire.Access {
	a := wire.Access{Action: "sts:AssumeRole", Resource: in.RoleArn, Context: map[string][]string{"sts:rolesessionname": {in.RoleSessionName}}, Trusted: trusted}
	if in.ExternalID != "" {
		a.Context["sts:externalid"] = []string{in.ExternalID}
	}
	if in.SourceIdentity != "" {
		a.Context["sts:sourceidentity"] = []string{in.SourceIdentity}
	}
	return a
}

func (m *Model) assumeRole(ctx context.Context, in *assumeRoleInput) (*assumeRoleOutput, error) {
	if !sessionName.MatchString(in.RoleSessionName) {
		return nil, badSessionName(in.RoleSessionName)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	caller := m.keys[wire.Caller(ctx).AccessKeyID]
	r, ok := m.roles[in.RoleArn]
	// A role that does not exist is refused like one that trusts nobody.
	trusted := ok && r.trusts(caller) && (r.ExternalID == "" || r.ExternalID == in.ExternalID)
	if guard := wire.GuardOf(ctx); guard != nil {
		trusted = guard(in.access(trusted)) == "" && ok
	}
	if !trusted {
		return nil, wire.StatusErrorf(http.StatusForbidden, "AccessDenied",
			"User: %s is not authorized to perform: sts:AssumeRole on resource: %s", wire.Caller(ctx).ARN, in.RoleArn)
	}
	d, err := r.duration(in.DurationSeconds, caller.session != "")
	if err != nil {
		return nil, err
	}
	c := m.issue(r, in.RoleSessionName, d)
	id := m.keys[c.AccessKeyID].Identity
	return &assumeRoleOutput{
		Credentials: viewOf(c), AssumedRoleUser: assumedRoleView{AssumedRoleID: id.UserID, Arn: id.ARN},
		SourceIdentity: in.SourceIdentity,
	}, nil
}

// duration returns how long a session may last; chained tells that the caller
// is a session itself.
func (r role) duration(seconds *int32, chained bool) (time.Duration, error) {
	if seconds == nil {
		return min(DefaultSession, r.MaxSession), nil
	}
	d := time.Duration(*seconds) * time.Second
	switch {
	case d < MinSession:
		return 0, wire.Errorf("ValidationError", "1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: Member must have value greater than or equal to 900", *seconds)
	case chained && d > maxChainedSession:
		return 0, wire.Errorf("ValidationError", "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining")
	case d > r.MaxSession:
		return 0, wire.Errorf("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	return d, nil
}
