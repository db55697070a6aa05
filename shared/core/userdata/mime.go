package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
)

const (
	nodeConfigType  = "application/node.eks.aws"
	shellType       = `text/x-shellscript; charset="us-ascii"`
	cloudConfigType = `text/cloud-config; charset="us-ascii"`
)

// part of a MIME document.
type part struct {
	header textproto.MIMEHeader // with a Content-Type
	body   string
}

func newPart(contentType, body string) part {
	return part{textproto.MIMEHeader{"Content-Type": {contentType}}, body}
}

// is reports whether the part is of a media type, whatever its parameters.
func (p part) is(mediaType string) bool {
	got, _, err := mime.ParseMediaType(p.header.Get("Content-Type"))
	return err == nil && got == mediaType
}

// encoded reports whether the body is text only once it is decoded.
func (p part) encoded() bool {
	switch strings.ToLower(p.header.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		return true
	}
	_, err := base64.StdEncoding.DecodeString(strings.TrimSpace(p.body))
	return err == nil && strings.TrimSpace(p.body) != ""
}

func readParts(text string) ([]part, error) {
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	mediaType, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(mediaType, "multipart/") {
		return readWhole(message)
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	var parts []part
	for {
		p, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		if p.Header.Get("Content-Type") == "" {
			p.Header.Set("Content-Type", "text/plain")
		}
		parts = append(parts, part{p.Header, string(body)})
	}
}

// headerName is what a part's header may be called. Messages are read with less care than parts.
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// forbidden reports whether no header's value may have the character: RFC 5322 §2.2 leaves control characters out, but
// the tab. Line breaks are what is left of folding.
func forbidden(r rune) bool {
	return r < ' ' && r != '\t' && r != '\r' && r != '\n' || r == 0x7f
}

// readWhole returns a message that is no multipart as one part.
func readWhole(message *mail.Message) ([]part, error) {
	header := textproto.MIMEHeader(message.Header)
	header.Del("Mime-Version") // the document as a whole has one
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !headerName.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a header", name)
		}
		for _, value := range header[name] {
			if at := strings.IndexFunc(value, forbidden); at >= 0 {
				return nil, fmt.Errorf("header %s has the character %q, which none may have", name, value[at])
			}
		}
	}
	body, err := io.ReadAll(message.Body)
	return []part{{header, string(body)}}, err
}

// writeParts returns a multipart/mixed document. Its boundary is derived from the parts and occurs in none of them, so
// that no text of a user can end its part early.
func writeParts(parts []part) []byte {
	boundary := boundaryFor(parts)
	var out bytes.Buffer
	out.WriteString("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n")
	for _, p := range parts {
		out.WriteString("--" + boundary + "\n" + headerText(p) + "\n" + p.body)
		if !strings.HasSuffix(p.body, "\n") {
			out.WriteString("\n")
		}
	}
	out.WriteString("--" + boundary + "--\n")
	return out.Bytes()
}

// headerText writes the header's lines, sorted by name. A value is one line: readers of MIME have joined those that
// went on, and what is left of a line break becomes a space.
func headerText(p part) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		for _, value := range p.header[name] {
			out.WriteString(name + ": " + strings.NewReplacer("\r", " ", "\n", " ").Replace(value) + "\n")
		}
	}
	return out.String()
}

func boundaryFor(parts []part) string {
	hash := sha256.New()
	for _, p := range parts {
		hash.Write([]byte(headerText(p) + "\x00" + p.body + "\x00"))
	}
	for {
		boundary := "joiner-" + hex.EncodeToString(hash.Sum(nil)[:12])
		clash := false
		for _, p := range parts {
			clash = clash || strings.Contains(p.body, boundary) || strings.Contains(headerText(p), boundary)
		}
		if !clash {
			return boundary
		}
		hash.Write([]byte(boundary))
	}
}
