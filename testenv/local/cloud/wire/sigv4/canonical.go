package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// canonicalPath is the path as it enters the signature: encoded once for S3,
// twice for all others.
func canonicalPath(u *url.URL, service string) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	if service == "s3" {
		return encode(u.Path, true)
	}
	return encode(path, true)
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		if name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, encode(name, false)+"="+encode(value, false))
		}
	}
	// Sorting whole pairs would put "a-b=" before "a=": names come first.
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, valueA, _ := strings.Cut(a, "=")
		nameB, valueB, _ := strings.Cut(b, "=")
		if c := strings.Compare(nameA, nameB); c != 0 {
			return c
		}
		return strings.Compare(valueA, valueB)
	})
	return strings.Join(pairs, "&")
}

// canonicalHeaders lists the signed headers, each line ended. Go keeps two of
// them outside the header map.
func canonicalHeaders(r *http.Request, names []string) string {
	var b strings.Builder
	for _, name := range names {
		var values []string
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		case "transfer-encoding":
			values = r.TransferEncoding
		default:
			values = r.Header.Values(name)
		}
		b.WriteString(name + ":")
		for i, value := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.Join(strings.Fields(value), " "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// encode percent-encodes everything outside RFC 3986's unreserved characters,
// and the slash too unless keepSlash.
func encode(s string, keepSlash bool) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '.', c == '~', c == '/' && keepSlash:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}
