package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// MaxSkew is how far the time of a signature may be from the time of the
// verifier, either way.
const MaxSkew = 15 * time.Minute

// Credential is an issued access key.
type Credential struct {
	SecretAccessKey string
	SessionToken    string    // empty for a long-lived key
	Expires         time.Time // zero for a long-lived key
	Identity        wire.Identity
}

// Keys knows the issued access keys.
type Keys interface {
	// Credential returns the key with this id; ok is false when none was issued.
	Credential(accessKeyID string) (c Credential, ok bool)
}

// Reason says why a request was refused.
type Reason int

// The reasons of refusal.
const (
	Missing         Reason = iota // not signed at all
	Malformed                     // the signature lacks a part or a part makes no sense
	UnknownKey                    // no such access key, or another session token
	ExpiredKey                    // the session has ended
	Mismatch                      // signed with another secret, or changed since
	Skewed                        // signed too long ago, or in the future
	Expired                       // the presigned URL has ended
	PayloadMismatch               // the body is not the one whose hash was signed
)

// Refusal is the error of Verify.
type Refusal struct {
	Reason  Reason
	Message string
	Scope   Scope // as far as it could be read
}

func (r *Refusal) Error() string { return r.Message }

// Scope is the credential scope of a signature.
type Scope struct {
	AccessKeyID string
	Date        string // yyyymmdd
	Region      string
	Service     string // e.g. "sqs"
}

func (s Scope) String() string {
	return s.Date + "/" + s.Region + "/" + s.Service + "/aws4_request"
}

// Verifier checks signatures.
type Verifier struct {
	Keys Keys
	Now  func() time.Time // decides when sessions end
	// ClientNow is the time as clients have it, against which signatures are
	// old or new. nil: Now. It differs where a model's clock is made to run
	// away from the instance's, with which SDKs sign.
	ClientNow func() time.Time
}

// Verify returns who signed r, or a *Refusal. body is the whole body of r,
// which Verify does not read itself.
func (v Verifier) Verify(r *http.Request, body []byte) (wire.Identity, error) {
	sig, err := parse(r)
	if err != nil {
		return wire.Identity{}, err
	}
	refuse := func(reason Reason, format string, args ...any) (wire.Identity, error) {
		return wire.Identity{}, &Refusal{reason, fmt.Sprintf(format, args...), sig.Scope}
	}
	cred, ok := v.Keys.Credential(sig.AccessKeyID)
	if !ok || !hmac.Equal([]byte(cred.SessionToken), []byte(sig.token)) {
		return refuse(UnknownKey, "The security token included in the request is invalid.")
	}
	payload, ok := sig.payloadHash(r, body)
	if !ok {
		return refuse(PayloadMismatch, "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	if want := sig.sign(r, payload, cred.SecretAccessKey); !hmac.Equal([]byte(want), []byte(sig.signature)) {
		return refuse(Mismatch, "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	}
	now := v.Now()
	if !cred.Expires.IsZero() && !now.Before(cred.Expires) {
		return refuse(ExpiredKey, "The security token included in the request is expired")
	}
	if v.ClientNow != nil {
		now = v.ClientNow()
	}
	if reason, message := sig.checkTime(now); message != "" {
		return refuse(reason, "%s", message)
	}
	return cred.Identity, nil
}

func (s *signature) checkTime(now time.Time) (Reason, string) {
	oldest := now.Add(-MaxSkew)
	if s.presigned {
		if end := s.time.Add(s.validity()); now.After(end) {
			return Expired, fmt.Sprintf("Signature expired: %s is now earlier than %s", end.Format(timeFormat), now.UTC().Format(timeFormat))
		}
		oldest = s.time
	}
	switch {
	case s.time.Before(oldest):
		return Skewed, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 15 min.)",
			s.time.Format(timeFormat), oldest.UTC().Format(timeFormat), now.UTC().Format(timeFormat))
	case s.time.After(now.Add(MaxSkew)):
		return Skewed, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 15 min.)",
			s.time.Format(timeFormat), now.Add(MaxSkew).UTC().Format(timeFormat), now.UTC().Format(timeFormat))
	}
	return 0, ""
}

// validity of a presigned URL. STS honors its URLs for a quarter of an hour
// whatever they say; cluster authentication relies on it.
func (s *signature) validity() time.Duration {
	if s.Service == "sts" {
		return MaxSkew
	}
	return s.expires
}

// sign computes the signature the request should have.
func (s *signature) sign(r *http.Request, payload, secret string) string {
	request := strings.Join([]string{
		r.Method,
		canonicalPath(r.URL, s.Service),
		canonicalQuery(r.URL),
		canonicalHeaders(r, s.headers),
		strings.Join(s.headers, ";"),
		payload,
	}, "\n")
	sum := sha256.Sum256([]byte(request))
	text := strings.Join([]string{algorithm, s.time.Format(timeFormat), s.Scope.String(), hex.EncodeToString(sum[:])}, "\n")
	key := mac([]byte("AWS4"+secret), s.Date)
	for _, part := range []string{s.Region, s.Service, "aws4_request"} {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

// payloadHash returns what stands for the payload in the signature; ok is false
// when the client declared a hash that body does not have.
func (s *signature) payloadHash(r *http.Request, body []byte) (hash string, ok bool) {
	declared := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case declared == "" && s.presigned && s.Service == "s3":
		return "UNSIGNED-PAYLOAD", true
	case declared == "UNSIGNED-PAYLOAD", strings.HasPrefix(declared, "STREAMING-"):
		return declared, true
	}
	sum := sha256.Sum256(body)
	computed := hex.EncodeToString(sum[:])
	return computed, declared == "" || declared == computed
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// SignedHeaders returns the names a request's signature covers, lower case and
// sorted; nil when it is not signed.
func SignedHeaders(r *http.Request) []string {
	sig, err := parse(r)
	if err != nil {
		return nil
	}
	return slices.Clone(sig.headers)
}
