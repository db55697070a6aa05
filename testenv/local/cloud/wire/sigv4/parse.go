package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
)

// signature is what a request says about how it was signed.
type signature struct {
	Scope
	headers   []string // lower case, sorted
	signature string
	token     string
	time      time.Time
	presigned bool
	expires   time.Duration // of a presigned URL
}

// ScopeOf returns the credential scope a request claims, without verifying
// anything; ok is false when it is not signed.
func ScopeOf(r *http.Request) (scope Scope, ok bool) {
	credential := r.URL.Query().Get("X-Amz-Credential")
	if header := r.Header.Get("Authorization"); header != "" {
		credential = authorizationFields(header)["Credential"]
	}
	return parseScope(credential)
}

func parseScope(credential string) (Scope, bool) {
	parts := strings.Split(credential, "/")
	n := len(parts)
	if n < 5 || parts[n-1] != "aws4_request" {
		return Scope{}, false
	}
	return Scope{
		AccessKeyID: strings.Join(parts[:n-4], "/"),
		Date:        parts[n-4],
		Region:      parts[n-3],
		Service:     parts[n-2],
	}, true
}

func parse(r *http.Request) (*signature, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return parseHeader(r, header)
	}
	if query := r.URL.Query(); query.Has("X-Amz-Signature") {
		return parseQuery(query)
	}
	return nil, &Refusal{Reason: Missing, Message: "Request is missing Authentication Token"}
}

func parseHeader(r *http.Request, header string) (*signature, error) {
	if !strings.HasPrefix(header, algorithm) {
		return nil, malformed("Authorization header requires the " + algorithm + " algorithm.")
	}
	fields := authorizationFields(header)
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[name] == "" {
			return nil, malformed("Authorization header requires '" + name + "' parameter.")
		}
	}
	date := r.Header.Get("X-Amz-Date")
	if date == "" {
		date = r.Header.Get("Date")
	}
	sig := &signature{signature: fields["Signature"], token: r.Header.Get("X-Amz-Security-Token")}
	return sig.fill(fields["Credential"], fields["SignedHeaders"], date)
}

func parseQuery(query url.Values) (*signature, error) {
	if query.Get("X-Amz-Algorithm") != algorithm {
		return nil, malformed("X-Amz-Algorithm only supports " + algorithm + ".")
	}
	seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	if query.Has("X-Amz-Expires") && (err != nil || seconds < 0 || seconds > 7*24*3600) {
		return nil, malformed("X-Amz-Expires must be a number of seconds of at most a week.")
	}
	sig := &signature{
		signature: query.Get("X-Amz-Signature"),
		token:     query.Get("X-Amz-Security-Token"),
		presigned: true,
		expires:   time.Duration(seconds) * time.Second,
	}
	return sig.fill(query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Date"))
}

func (s *signature) fill(credential, headers, date string) (*signature, error) {
	var ok bool
	if s.Scope, ok = parseScope(credential); !ok {
		return nil, malformed("Credential must have five parts and end in aws4_request.")
	}
	var err error
	if s.time, err = time.Parse(timeFormat, date); err != nil {
		return nil, malformed("Date must be in ISO-8601 'basic format'. Got '" + date + "'.")
	}
	if s.time.Format("20060102") != s.Date {
		return nil, malformed("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
	}
	s.headers = strings.Split(headers, ";")
	if !slices.Contains(s.headers, "host") {
		return nil, malformed("'Host' must be a 'SignedHeader'.")
	}
	return s, nil
}

// authorizationFields reads "AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…".
func authorizationFields(header string) map[string]string {
	_, rest, _ := strings.Cut(header, " ")
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	return fields
}

func malformed(message string) error {
	return &Refusal{Reason: Malformed, Message: message}
}
