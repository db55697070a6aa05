package sts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // of ES256 and RS256
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
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

// claims are what a token says.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	Expires  int64    `json:"exp"`
	Begins   int64    `json:"nbf"`
}

// audience is one text or a list.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// signed is a token taken apart.
type signed struct {
	algorithm, key string
	content        string // what is signed
	signature      []byte
	claims         claims
}

func parseToken(token string) (signed, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return signed{}, errors.New("it is no JWT")
	}
	var header struct{ Alg, Kid string }
	s := signed{content: parts[0] + "." + parts[1]}
	for i, into := range []any{&header, &s.claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return signed{}, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return signed{}, err
		}
	}
	var err error
	s.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	s.algorithm, s.key = header.Alg, header.Kid
	return s, err
}

// verify says why a token is none of the provider's, for somebody that it knows, now.
func (p Provider) verify(s signed, now time.Time) error {
	switch {
	case !slices.ContainsFunc(s.claims.Audience, func(a string) bool { return slices.Contains(p.Audiences, a) }):
		return errors.New("Incorrect token audience") //nolint:staticcheck // AWS's words
	case now.Unix() >= s.claims.Expires:
		return errExpired
	case now.Unix() < s.claims.Begins:
		return errors.New("it is not valid yet")
	}
	text, err := p.Keys()
	if err != nil {
		//nolint:staticcheck // AWS's words
		return fmt.Errorf("Couldn't retrieve verification key from your identity provider: %w", err)
	}
	key, err := keyOf(text, s.key)
	if err != nil {
		return err
	}
	digest := crypto.SHA256.New()
	digest.Write([]byte(s.content))
	sum := digest.Sum(nil)
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		n := len(s.signature) / 2
		r, t := new(big.Int).SetBytes(s.signature[:n]), new(big.Int).SetBytes(s.signature[n:])
		if s.algorithm == "ES256" && n == 32 && ecdsa.Verify(k, sum, r, t) {
			return nil
		}
	case *rsa.PublicKey:
		if s.algorithm == "RS256" && rsa.VerifyPKCS1v15(k, crypto.SHA256, sum, s.signature) == nil {
			return nil
		}
	}
	return errors.New("its signature is not of the key that it names")
}

// errExpired is the one reason that has a code of its own.
var errExpired = errors.New("Token expired") //nolint:staticcheck // AWS's words

// keyOf finds a key of a JWKS document.
func keyOf(document []byte, id string) (crypto.PublicKey, error) {
	var set struct {
		Keys []struct{ Kid, Kty, Crv, X, Y, N, E string }
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("read the issuer's keys: %w", err)
	}
	for _, k := range set.Keys {
		if k.Kid != id {
			continue
		}
		switch number := numbers(k.X, k.Y, k.N, k.E); {
		case k.Kty == "EC" && k.Crv == "P-256":
			return &ecdsa.PublicKey{Curve: elliptic.P256(), X: number[0], Y: number[1]}, nil
		case k.Kty == "RSA":
			return &rsa.PublicKey{N: number[2], E: int(number[3].Int64())}, nil
		}
		return nil, fmt.Errorf("the issuer's key %s is of type %s %s, which is not read here", id, k.Kty, k.Crv)
	}
	return nil, fmt.Errorf("the issuer publishes no key %s", id)
}

func numbers(texts ...string) []*big.Int {
	var out []*big.Int
	for _, text := range texts {
		bytes, _ := base64.RawURLEncoding.DecodeString(text) // nothing verifies by what cannot be read
		out = append(out, new(big.Int).SetBytes(bytes))
	}
	return out
}
