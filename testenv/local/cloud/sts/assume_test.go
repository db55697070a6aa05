package sts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

const account = "123456789012"

func start(t *testing.T, o cloud.Options) *cloud.Cloud {
	t.Helper()
	c, err := cloud.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func clientOf(c *cloud.Cloud, k sts.Credentials) *awssts.Client {
	cfg := c.ConfigFor(k)
	cfg.RetryMaxAttempts = 1
	return awssts.NewFromConfig(cfg)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("got %v, want code %s", err, code)
	}
}

func TestSessionOfAFunctionKnowsItself(t *testing.T) {
	c := start(t, cloud.Options{})
	arn := c.STS.AddRole(sts.Role{Name: "provision"})
	creds, err := c.STS.Assume(arn, "joiner-provision", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	id, err := clientOf(c, creds).GetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "arn:aws:sts::" + account + ":assumed-role/provision/joiner-provision"; *id.Arn != want || *id.Account != account {
		t.Errorf("identity %s in %s, want %s", *id.Arn, *id.Account, want)
	}
	if _, err := c.STS.Assume(arn+"-absent", "s", time.Hour); err == nil {
		t.Error("assumed a role that does not exist")
	}
}

func TestAssumeRoleAsksWhoIsTrusted(t *testing.T) {
	const other = "210987654321"
	function := sts.Role{Name: "function"}
	tests := map[string]struct {
		role       sts.Role
		externalID string
		ok         bool
	}{
		"by role":                     {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":role/function"}}, "", true},
		"by session":                  {sts.Role{TrustedARNs: []string{"arn:aws:sts::" + account + ":assumed-role/function/s1"}}, "", true},
		"by account":                  {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":root"}}, "", true},
		"in another account":          {sts.Role{Account: other, TrustedARNs: []string{"arn:aws:iam::" + account + ":role/function"}}, "", true},
		"nobody":                      {sts.Role{}, "", false},
		"another role":                {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":role/other"}}, "", false},
		"another session":             {sts.Role{TrustedARNs: []string{"arn:aws:sts::" + account + ":assumed-role/function/s2"}}, "", false},
		"another account":             {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + other + ":root"}}, "", false},
		"with the external id":        {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":root"}, ExternalID: "x"}, "x", true},
		"with another external id":    {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":root"}, ExternalID: "x"}, "y", false},
		"without the external id":     {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":root"}, ExternalID: "x"}, "", false},
		"with an unasked external id": {sts.Role{TrustedARNs: []string{"arn:aws:iam::" + account + ":root"}}, "x", true},
	}
	c := start(t, cloud.Options{})
	creds, err := c.STS.Assume(c.STS.AddRole(function), "s1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.role.Name, tt.role.Path = "cluster", "/joiner/"
			in := &awssts.AssumeRoleInput{RoleArn: aws.String(c.STS.AddRole(tt.role)), RoleSessionName: aws.String("provision")}
			if tt.externalID != "" {
				in.ExternalId = &tt.externalID
			}
			out, err := clientOf(c, creds).AssumeRole(t.Context(), in)
			if !tt.ok {
				wantCode(t, err, "AccessDenied")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := clientOf(c, sts.Credentials{
				AccessKeyID: *out.Credentials.AccessKeyId, SecretAccessKey: *out.Credentials.SecretAccessKey, SessionToken: *out.Credentials.SessionToken,
			}).GetCallerIdentity(t.Context(), nil)
			if err != nil || *got.Arn != *out.AssumedRoleUser.Arn || *got.UserId != *out.AssumedRoleUser.AssumedRoleId {
				t.Errorf("the session is %+v, %v; want %+v", got, err, out.AssumedRoleUser)
			}
		})
	}
}

func TestAssumeRoleBoundsTheSession(t *testing.T) {
	c := start(t, cloud.Options{})
	root := "arn:aws:iam::" + account + ":root"
	user := c.STS.AddUser("admin")
	session, err := c.STS.Assume(c.STS.AddRole(sts.Role{Name: "function"}), "s", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	long := c.STS.AddRole(sts.Role{Name: "long", TrustedARNs: []string{root}, MaxSession: 12 * time.Hour})
	short := c.STS.AddRole(sts.Role{Name: "short", TrustedARNs: []string{root}})
	tests := map[string]struct {
		caller  sts.Credentials
		role    string
		seconds int32
		session string
		ok      bool
	}{
		"default":                 {user, short, 0, "name", true},
		"shortest":                {user, short, 900, "name", true},
		"too short":               {user, short, 899, "name", false},
		"beyond the role's own":   {user, short, 3601, "name", false},
		"twelve hours":            {user, long, 43200, "name", true},
		"chained beyond an hour":  {session, long, 3601, "name", false},
		"a name with a space":     {user, short, 0, "two words", false},
		"a name of one character": {user, short, 0, "x", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &awssts.AssumeRoleInput{RoleArn: &tt.role, RoleSessionName: &tt.session}
			if tt.seconds > 0 {
				in.DurationSeconds = &tt.seconds
			}
			out, err := clientOf(c, tt.caller).AssumeRole(t.Context(), in)
			if !tt.ok {
				wantCode(t, err, "ValidationError")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := time.Duration(max(tt.seconds, 0)) * time.Second
			if want == 0 {
				want = time.Hour
			}
			if left := time.Until(*out.Credentials.Expiration); left > want || left < want-time.Minute {
				t.Errorf("session ends in %v, want %v", left, want)
			}
		})
	}
}

func TestEndedSessionIsRefused(t *testing.T) {
	fake := clock.NewFake(time.Now())
	c := start(t, cloud.Options{Clock: fake})
	creds, err := c.STS.Assume(c.STS.AddRole(sts.Role{Name: "r"}), "s", 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(c, creds).GetCallerIdentity(t.Context(), nil); err != nil {
		t.Errorf("live session: %v", err)
	}
	fake.Advance(5 * time.Minute)
	_, err = clientOf(c, creds).GetCallerIdentity(t.Context(), nil)
	wantCode(t, err, "ExpiredToken")
}
