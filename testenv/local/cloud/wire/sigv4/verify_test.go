package sigv4_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire/sigv4"
)

var (
	now  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	user = aws.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: "secret"}
	sess = aws.Credentials{AccessKeyID: "ASIA1", SecretAccessKey: "other", SessionToken: "token/with+odd=chars"}
)

type keys map[string]sigv4.Credential

func (k keys) Credential(id string) (sigv4.Credential, bool) { c, ok := k[id]; return c, ok }

var verifier = sigv4.Verifier{
	Now: func() time.Time { return now },
	Keys: keys{
		"AKIA1": {SecretAccessKey: "secret", Identity: wire.Identity{ARN: "arn:user"}},
		"ASIA1": {SecretAccessKey: "other", SessionToken: sess.SessionToken, Expires: now.Add(time.Hour), Identity: wire.Identity{ARN: "arn:session"}},
		"ASIA2": {SecretAccessKey: "old", SessionToken: "t", Expires: now, Identity: wire.Identity{ARN: "arn:ended"}},
	},
}

// request builds a request with the official signer, signed at the given time.
func request(t *testing.T, creds aws.Credentials, service, target, body string, at time.Time) *http.Request {
	t.Helper()
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "Svc.Do")
	r.Header.Set("X-Padded", "  two   words ")
	sum := sha256.Sum256([]byte(body))
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	if err := signer.SignHTTP(context.Background(), creds, r, hex.EncodeToString(sum[:]), service, "us-west-2", at); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerifyAcceptsWhatTheOfficialSignerSigns(t *testing.T) {
	for _, service := range []string{"sqs", "s3", "eks"} {
		for _, target := range []string{
			"http://h:1/", "http://h:1", "http://h/a%2Fb/c%20d/e+f", "http://h/?b=2&a=1&a=0&empty=&a-b=x%20z",
		} {
			if service == "s3" { // S3 signs paths in its own canonical encoding only
				target = strings.NewReplacer("%2F", "/", "+", "%2B").Replace(target)
			}
			for _, creds := range []aws.Credentials{user, sess} {
				r := request(t, creds, service, target, "body", now.Add(-14*time.Minute))
				got, err := verifier.Verify(r, []byte("body"))
				if err != nil {
					t.Errorf("%s %s with %s: %v", service, target, creds.AccessKeyID, err)
				} else if want := verifier.Keys.(keys)[creds.AccessKeyID].Identity; got != want {
					t.Errorf("%s %s: identity %v, want %v", service, target, got, want)
				}
			}
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	signed := func(creds aws.Credentials, at time.Time, change func(*http.Request)) *http.Request {
		r := request(t, creds, "sqs", "http://h/queue?a=1", "body", at)
		if change != nil {
			change(r)
		}
		return r
	}
	tests := map[string]struct {
		r    *http.Request
		want sigv4.Reason
	}{
		"no signature":              {httptest.NewRequest("GET", "/", nil), sigv4.Missing},
		"another algorithm":         {signed(user, now, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }), sigv4.Malformed},
		"no date":                   {signed(user, now, func(r *http.Request) { r.Header.Del("X-Amz-Date") }), sigv4.Malformed},
		"date of another day":       {signed(user, now, func(r *http.Request) { r.Header.Set("X-Amz-Date", "20260302T120000Z") }), sigv4.Malformed},
		"unknown key":               {signed(aws.Credentials{AccessKeyID: "AKIA9", SecretAccessKey: "secret"}, now, nil), sigv4.UnknownKey},
		"session without its token": {signed(aws.Credentials{AccessKeyID: "ASIA1", SecretAccessKey: "other"}, now, nil), sigv4.UnknownKey},
		"wrong secret":              {signed(aws.Credentials{AccessKeyID: "AKIA1", SecretAccessKey: "guess"}, now, nil), sigv4.Mismatch},
		"changed path":              {signed(user, now, func(r *http.Request) { r.URL.Path = "/other" }), sigv4.Mismatch},
		"changed query":             {signed(user, now, func(r *http.Request) { r.URL.RawQuery = "a=2" }), sigv4.Mismatch},
		"changed method":            {signed(user, now, func(r *http.Request) { r.Method = "PUT" }), sigv4.Mismatch},
		"changed signed header":     {signed(user, now, func(r *http.Request) { r.Header.Set("X-Amz-Target", "Svc.Undo") }), sigv4.Mismatch},
		"changed host":              {signed(user, now, func(r *http.Request) { r.Host = "elsewhere" }), sigv4.Mismatch},
		"changed date":              {signed(user, now, func(r *http.Request) { r.Header.Set("X-Amz-Date", "20260301T120001Z") }), sigv4.Mismatch},
		"ended session":             {signed(aws.Credentials{AccessKeyID: "ASIA2", SecretAccessKey: "old", SessionToken: "t"}, now, nil), sigv4.ExpiredKey},
		"signed long ago":           {signed(user, now.Add(-16*time.Minute), nil), sigv4.Skewed},
		"signed in the future":      {signed(user, now.Add(16*time.Minute), nil), sigv4.Skewed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantReason(t, tt.r, []byte("body"), tt.want) })
	}
}

func TestVerifyRefusesAnotherBody(t *testing.T) {
	wantReason(t, request(t, user, "sqs", "http://h/", "body", now), []byte("tampered"), sigv4.Mismatch)
	r := request(t, user, "s3", "http://h/b/k", "body", now)
	sum := sha256.Sum256([]byte("body"))
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	wantReason(t, r, []byte("tampered"), sigv4.PayloadMismatch)
}

func TestVerifyPresignedURLUntilItExpires(t *testing.T) {
	tests := map[string]struct {
		service string
		age     time.Duration
		want    sigv4.Reason
		ok      bool
	}{
		"within its time":                   {"s3", 59 * time.Second, 0, true},
		"after its time":                    {"s3", 61 * time.Second, sigv4.Expired, false},
		"sts for a quarter of an hour":      {"sts", 14 * time.Minute, 0, true},
		"sts after a quarter of an hour":    {"sts", 16 * time.Minute, sigv4.Expired, false},
		"signed in the future beyond limit": {"s3", -16 * time.Minute, sigv4.Skewed, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := presigned(t, tt.service, now.Add(-tt.age))
			if tt.ok {
				if _, err := verifier.Verify(r, nil); err != nil {
					t.Error(err)
				}
				return
			}
			wantReason(t, r, nil, tt.want)
		})
	}
}

func presigned(t *testing.T, service string, at time.Time) *http.Request {
	t.Helper()
	r := httptest.NewRequest("GET", "http://h/?Action=GetCallerIdentity&X-Amz-Expires=60", nil)
	r.Header.Set("X-K8s-Aws-Id", "cluster")
	hash := "UNSIGNED-PAYLOAD"
	if service != "s3" {
		sum := sha256.Sum256(nil)
		hash = hex.EncodeToString(sum[:])
	}
	url, headers, err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" }).
		PresignHTTP(context.Background(), sess, r, hash, service, "us-west-2", at)
	if err != nil {
		t.Fatal(err)
	}
	out := httptest.NewRequest("GET", url, bytes.NewReader(nil))
	for name, values := range headers {
		out.Header[http.CanonicalHeaderKey(name)] = values
	}
	return out
}

func wantReason(t *testing.T, r *http.Request, body []byte, want sigv4.Reason) {
	t.Helper()
	_, err := verifier.Verify(r, body)
	var refusal *sigv4.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Errorf("got %v, want refusal for reason %d", err, want)
	}
}

func TestScopeOfNamesTheServiceUnverified(t *testing.T) {
	for _, r := range []*http.Request{
		request(t, user, "sqs", "http://h/", "", now),
		presigned(t, "sqs", now),
	} {
		if scope, ok := sigv4.ScopeOf(r); !ok || scope.Service != "sqs" || scope.Region != "us-west-2" {
			t.Errorf("scope %+v, %v; want sqs in us-west-2", scope, ok)
		}
	}
	if _, ok := sigv4.ScopeOf(httptest.NewRequest("GET", "/", nil)); ok {
		t.Error("an unsigned request has a scope")
	}
}
