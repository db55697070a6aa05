package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	nodeConfigType = "application/node.eks.aws"
	shellType      = `text/x-shellscript; charset="us-ascii"`
)

// part of a MIME document.
type part struct {
	contentType string
	body        string
}

// customParts returns the class's own user data as parts, in their order; none where there is no user data.
func customParts(class model.Class) ([]part, error) {
	text := strings.ReplaceAll(class.UserData, "\r", "")
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return nil, nil
	case strings.HasPrefix(trimmed, "MIME-Version:"), strings.HasPrefix(trimmed, "Content-Type:"):
		parts, err := readParts(trimmed)
		return parts, fault.Wrap(fault.Invalid, "InvalidUserData", err,
			"spec.userData of EC2NodeClass %s begins like a MIME document and is none; mend it, or give a plain script or NodeConfig", class.Name)
	case looksLikeNodeConfig(trimmed):
		return []part{{nodeConfigType, text}}, nil
	}
	return []part{{shellType, text}}, nil
}

// looksLikeNodeConfig tells a NodeConfig document from a script: a JSON object, or top-level apiVersion and kind keys and
// no interpreter line.
func looksLikeNodeConfig(text string) bool {
	if strings.HasPrefix(text, "#!") {
		return false
	}
	if strings.HasPrefix(text, "{") {
		return true
	}
	var version, kind bool
	for line := range strings.Lines(text) {
		version = version || strings.HasPrefix(line, "apiVersion:")
		kind = kind || strings.HasPrefix(line, "kind:")
	}
	return version && kind
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
		body, err := io.ReadAll(message.Body)
		return []part{{message.Header.Get("Content-Type"), string(body)}}, err
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
		contentType := p.Header.Get("Content-Type")
		if contentType == "" {
			contentType = "text/plain"
		}
		parts = append(parts, part{contentType, string(body)})
	}
}

// writeParts returns a multipart/mixed document. Its boundary is derived from the parts and occurs in none of them, so
// that no text of a user can end its part early.
func writeParts(parts []part) []byte {
	boundary := boundaryFor(parts)
	var out bytes.Buffer
	out.WriteString("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n")
	for _, p := range parts {
		out.WriteString("--" + boundary + "\nContent-Type: " + p.contentType + "\n\n" + p.body)
		if !strings.HasSuffix(p.body, "\n") {
			out.WriteString("\n")
		}
	}
	out.WriteString("--" + boundary + "--\n")
	return out.Bytes()
}

func boundaryFor(parts []part) string {
	hash := sha256.New()
	for _, p := range parts {
		hash.Write([]byte(p.contentType + "\x00" + p.body + "\x00"))
	}
	for {
		boundary := "joiner-" + hex.EncodeToString(hash.Sum(nil)[:12])
		clash := false
		for _, p := range parts {
			clash = clash || strings.Contains(p.body, boundary)
		}
		if !clash {
			return boundary
		}
		hash.Write([]byte(boundary))
	}
}
