package s3

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// readBody returns the payload of a request and its headers with the trailers
// added, having taken off the aws-chunked encoding in which SDKs stream.
func readBody(r *http.Request) ([]byte, http.Header, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, wire.Errorf("IncompleteBody", "The request body terminated unexpectedly")
	}
	header := r.Header.Clone()
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return raw, header, nil
	}
	body, trailer, err := decodeChunks(raw)
	if err != nil {
		return nil, nil, wire.Errorf("IncompleteBody", "The request body terminated unexpectedly")
	}
	if want := r.Header.Get("X-Amz-Decoded-Content-Length"); want != strconv.Itoa(len(body)) {
		return nil, nil, wire.Errorf("IncompleteBody", "You did not provide the number of bytes specified by the x-amz-decoded-content-length HTTP header")
	}
	for name := range strings.SplitSeq(r.Header.Get("X-Amz-Trailer"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		value := trailer.Get(name)
		if value == "" {
			return nil, nil, wire.Errorf("MalformedTrailerError", "The request contained trailing data that was not well-formed or did not conform to our published schema.")
		}
		header.Set(name, value)
	}
	return body, header, nil
}

// decodeChunks reads "SIZE[;extension]\r\nDATA\r\n…0\r\ntrailers\r\n". The
// signature a chunk may carry as an extension is not verified: the seed
// signature in the request's header has been.
func decodeChunks(raw []byte) (body []byte, trailer http.Header, err error) {
	reader := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, nil, err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		size, err := strconv.ParseUint(digits, 16, 31)
		if err != nil {
			return nil, nil, err
		}
		if size == 0 {
			break
		}
		start := len(body)
		body = append(body, make([]byte, size)...)
		if _, err := io.ReadFull(reader, body[start:]); err != nil {
			return nil, nil, err
		}
		if _, err := reader.Discard(2); err != nil {
			return nil, nil, err
		}
	}
	fields, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	return body, http.Header(fields), nil
}
