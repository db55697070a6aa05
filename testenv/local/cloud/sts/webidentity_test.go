package sts_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

const issuer = "https://issuer.own.example.com"

// issuing signs tokens of an issuer.
type issuing struct {
	t   *testing.T
	key jose.JSONWebKey
}

func newIssuer(t *testing.T) issuing {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuing{t, jose.JSONWebKey{Key: key, KeyID: "one", Algorithm: string(jose.ES256)}}
}

func (i issuing) keys() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
}

// token signs what a service account's token says.
func (i issuing) token(issuer, audience, account string, life time.Duration) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: issuer, Audience: jwt.Audience{audience}, Subject: "system:serviceaccount:" + account,
		Expiry: jwt.NewNumericDate(time.Now().Add(life)),
	}).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// A token of an issuer that the account knows gets keys of the role that trusts that service account, and of no
// other; nobody signs the request.
func TestTokenOfAnIssuerGetsTheRoleThatTrustsIt(t *testing.T) {
	c, from := start(t, cloud.Options{}), newIssuer(t)
	const aud, own = "sts.amazonaws.com", "joiner:joiner-watcher"
	provider, err := c.STS.AddProvider(sts.Provider{Issuer: issuer, Audiences: []string{aud}, Keys: from.keys})
	if err != nil || provider != "arn:aws:iam::"+account+":oidc-provider/issuer.own.example.com" {
		t.Fatal(provider, err)
	}
	watcher := c.STS.AddRole(sts.Role{Name: "watcher"})
	trust, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {
		"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
		"Principal": {"Federated": "`+provider+`"}, "Condition": {"StringEquals": {
			"issuer.own.example.com:aud": "sts.amazonaws.com",
			"issuer.own.example.com:sub": "system:serviceaccount:joiner:joiner-watcher"}}}}`), policy.Trust)
	if err != nil {
		t.Fatal(err)
	}
	c.Policies.SetRole(watcher, access.Role{Trust: trust})
	nobodys := clientOf(c, sts.Credentials{})
	become := func(role, token string) (*awssts.AssumeRoleWithWebIdentityOutput, error) {
		return nobodys.AssumeRoleWithWebIdentity(t.Context(), &awssts.AssumeRoleWithWebIdentityInput{
			RoleArn: &role, RoleSessionName: aws.String("watcher-0"), WebIdentityToken: &token,
		})
	}
	out, err := become(watcher, from.token(issuer, aud, own, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	k := out.Credentials
	id, err := clientOf(c, sts.Credentials{
		AccessKeyID: *k.AccessKeyId, SecretAccessKey: *k.SecretAccessKey, SessionToken: *k.SessionToken,
	}).GetCallerIdentity(t.Context(), nil)
	if err != nil || *id.Arn != "arn:aws:sts::"+account+":assumed-role/watcher/watcher-0" {
		t.Errorf("identity %+v: %v", id, err)
	}
	for name, tt := range map[string]struct{ role, token, code string }{
		"another service account": {watcher, from.token(issuer, aud, "default:default", time.Hour), "AccessDenied"},
		"no such role":            {watcher + "s", from.token(issuer, aud, own, time.Hour), "AccessDenied"},
		"another audience":        {watcher, from.token(issuer, issuer, own, time.Hour), "InvalidIdentityToken"},
		"another issuer":          {watcher, from.token(issuer+".org", aud, own, time.Hour), "InvalidIdentityToken"},
		"another key":             {watcher, newIssuer(t).token(issuer, aud, own, time.Hour), "InvalidIdentityToken"},
		"an old token":            {watcher, from.token(issuer, aud, own, -time.Minute), "ExpiredTokenException"},
		"no token":                {watcher, "abc", "InvalidIdentityToken"},
	} {
		_, err := become(tt.role, tt.token)
		t.Log(name, err)
		wantCode(t, err, tt.code)
	}
}
