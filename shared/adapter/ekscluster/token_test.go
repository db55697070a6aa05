package ekscluster

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/joiner-sh/joiner/shared/fault"
)

func signer(now func() time.Time) *tokens {
	config := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "secret", "")}
	return newTokens(config, clusterName, now)
}

// The form is that of aws-iam-authenticator: a presigned GetCallerIdentity with the cluster's name in a signed header.
func TestTokenIsASignedRequestForTheCluster(t *testing.T) {
	token, err := signer(time.Now).get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(token, "k8s-aws-v1.")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(token) > 4096 {
		t.Fatalf("%d bytes, %v: %s", len(token), err, token)
	}
	u, err := url.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme != "https" || u.Host != "sts.eu-west-1.amazonaws.com" || q.Get("Action") != "GetCallerIdentity" ||
		!strings.Contains(q.Get("X-Amz-SignedHeaders"), "x-k8s-aws-id") || q.Get("X-Amz-Expires") != "60" {
		t.Errorf("got %s", u)
	}
}

func TestTokenIsKeptForTwelveMinutes(t *testing.T) {
	now := time.Now()
	tokens := signer(func() time.Time { return now })
	get := func() time.Time {
		t.Helper()
		if _, err := tokens.get(t.Context()); err != nil {
			t.Fatal(err)
		}
		return tokens.signedAt
	}
	first := get()
	now = now.Add(11 * time.Minute)
	if got := get(); !got.Equal(first) {
		t.Errorf("signed again after 11 minutes")
	}
	now = now.Add(time.Minute)
	second := get()
	if second.Equal(first) {
		t.Errorf("not signed again after 12 minutes")
	}
	now = now.Add(-time.Hour)
	if got := get(); got.Equal(second) {
		t.Errorf("a token from the future was used after the clock went back")
	}
}

func TestOnlyTheTokenThatWasRefusedIsDropped(t *testing.T) {
	tokens := signer(time.Now)
	token, err := tokens.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tokens.drop("an older one")
	if tokens.token != token {
		t.Error("a newer token was dropped")
	}
	tokens.drop(token)
	if tokens.token != "" {
		t.Error("the refused token was kept")
	}
}

func TestATokenLetsAFunctionIn(t *testing.T) {
	if _, err := connect(t).List(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := registration(t)
	other.Cluster = "test"
	client, err := Connect(shared.cloud.Config(), other, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.List(t.Context()); !fault.Is(err, fault.Denied) {
		t.Errorf("a token for another cluster: got %v, want Denied", err)
	}
}
