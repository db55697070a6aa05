package sts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Provider is an OIDC provider that an account knows: tokens of its issuer stand for whom they name.
type Provider struct {
	Issuer    string   // URL, such as https://issuer.example.com
	Audiences []string // client IDs: whom tokens must be for
	// Keys returns the JWKS document that the issuer publishes. It is asked for each token.
	Keys func() ([]byte, error)
}

// AddProvider makes the account trust an issuer as far as roles do, and returns the provider's ARN.
func (m *Model) AddProvider(p Provider) (string, error) {
	host, ok := strings.CutPrefix(p.Issuer, "https://")
	if !ok || host == "" || strings.HasSuffix(host, "/") {
		return "", fmt.Errorf("issuer %q: give an https URL without a slash at its end", p.Issuer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.providers[p.Issuer] = p
	return m.providerARN(p), nil
}

// host is what ARNs and condition keys name the provider by.
func (p Provider) host() string { return strings.TrimPrefix(p.Issuer, "https://") }

func (m *Model) providerARN(p Provider) string {
	return fmt.Sprintf("arn:aws:iam::%s:oidc-provider/%s", m.account, p.host())
}

// signed is a token, and what it says.
type signed struct {
	token  *jwt.JSONWebToken
	claims jwt.Claims // verified by nobody yet
}

func parseToken(text string) (signed, error) {
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		return signed{}, err
	}
	s := signed{token: token}
	return s, token.UnsafeClaimsWithoutVerification(&s.claims)
}

// verify says why a token is none of the provider's, for somebody that it knows, now.
func (p Provider) verify(s signed, now time.Time) error {
	switch {
	case !slices.ContainsFunc(s.claims.Audience, func(a string) bool { return slices.Contains(p.Audiences, a) }):
		return errors.New("Incorrect token audience") //nolint:staticcheck // AWS's words
	case s.claims.Expiry == nil || !now.Before(s.claims.Expiry.Time()):
		return errExpired
	case s.claims.NotBefore != nil && now.Before(s.claims.NotBefore.Time()):
		return errors.New("it is not valid yet")
	}
	text, err := p.Keys()
	if err != nil {
		//nolint:staticcheck // AWS's words
		return fmt.Errorf("Couldn't retrieve verification key from your identity provider: %w", err)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(text, &keys); err != nil {
		return fmt.Errorf("read the issuer's keys: %w", err)
	}
	if err := s.token.Claims(&keys); err != nil {
		return fmt.Errorf("its signature is not of a key of the issuer: %w", err)
	}
	return nil
}

// errExpired is the one reason that has a code of its own.
var errExpired = errors.New("Token expired") //nolint:staticcheck // AWS's words
