package s3

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const (
	maxKeyBytes      = 1024
	maxMetadataBytes = 2048
	metadataPrefix   = "X-Amz-Meta-"
)

// storedHeaders are given back by GET as they were put.
var storedHeaders = []string{"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type", "Expires"}

func (h handler) putObject(w http.ResponseWriter, r *http.Request, t target) error {
	if len(t.key) > maxKeyBytes {
		return wire.Errorf("KeyTooLongError", "Your key is too long")
	}
	body, header, err := readBody(r)
	if err != nil {
		return err
	}
	checksums, err := verifyChecksums(header, body)
	if err != nil {
		return err
	}
	kept, err := keptHeaders(r.Header)
	if err != nil {
		return err
	}
	o := &object{key: t.key, body: body, etag: etagOf(body), header: kept, checksums: checksums, modified: h.m.clock.Now()}
	err = h.m.with(t.bucket, func(b *bucket) error {
		if err := h.m.conflicts(r.Header); err != nil {
			return err
		}
		if err := checkWrite(r.Header, b.objects[t.key]); err != nil {
			return err
		}
		b.objects[t.key] = o
		b.setExpiration(w.Header(), o)
		return nil
	})
	if err != nil {
		return err
	}
	o.setChecksums(w.Header())
	w.Header().Set("ETag", o.etag)
	w.Header().Set("x-amz-server-side-encryption", "AES256")
	w.WriteHeader(http.StatusOK)
	return nil
}

// keptHeaders returns the headers of a put that belong to the object.
func keptHeaders(h http.Header) (http.Header, error) {
	kept := http.Header{}
	for _, name := range storedHeaders {
		value := h.Get(name)
		if name == "Content-Encoding" {
			value = strings.Trim(strings.TrimPrefix(value, "aws-chunked"), ", ")
		}
		if value != "" {
			kept.Set(name, value)
		}
	}
	if kept.Get("Content-Type") == "" {
		kept.Set("Content-Type", "binary/octet-stream")
	}
	metadataBytes := 0
	for name, values := range h {
		if suffix, ok := strings.CutPrefix(name, metadataPrefix); ok {
			kept[name] = values
			metadataBytes += len(suffix) + len(strings.Join(values, ","))
		}
	}
	if metadataBytes > maxMetadataBytes {
		return nil, wire.Errorf("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size")
	}
	return kept, nil
}

// getObject serves GET and HEAD.
func (h handler) getObject(w http.ResponseWriter, r *http.Request, t target) error {
	var o *object
	err := h.m.with(t.bucket, func(b *bucket) error {
		if o = b.objects[t.key]; o == nil {
			return errorKey
		}
		b.setExpiration(w.Header(), o)
		return nil
	})
	if err != nil {
		return err
	}
	if err := checkRead(r.Header, o); err != nil {
		return err
	}
	from, to, status, err := span(r.Header.Get("Range"), len(o.body))
	if err != nil {
		return err
	}
	head := w.Header()
	for name, values := range o.header {
		head[name] = values
	}
	for name, value := range responseOverrides(r) {
		head.Set(name, value)
	}
	head.Set("ETag", o.etag)
	head.Set("Last-Modified", o.modified.UTC().Format(http.TimeFormat))
	head.Set("Accept-Ranges", "bytes")
	head.Set("Content-Length", strconv.Itoa(to-from))
	head.Set("x-amz-server-side-encryption", "AES256")
	if status == http.StatusPartialContent {
		head.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(o.body)))
	} else if strings.EqualFold(r.Header.Get("X-Amz-Checksum-Mode"), "enabled") {
		o.setChecksums(head)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(o.body[from:to])
	}
	return nil
}

// responseOverrides are the headers a signed GET may ask to be answered with.
func responseOverrides(r *http.Request) map[string]string {
	overrides := map[string]string{}
	query := r.URL.Query()
	for _, name := range storedHeaders {
		if value := query.Get("response-" + strings.ToLower(name)); value != "" {
			overrides[name] = value
		}
	}
	return overrides
}

// span reads a Range header over size bytes. A header that is absent or makes
// no sense selects everything; one that selects nothing is InvalidRange.
func span(header string, size int) (from, to, status int, err error) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	if !ok || !dash || strings.Contains(spec, ",") {
		return 0, size, http.StatusOK, nil
	}
	invalid := wire.StatusErrorf(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	if first == "" { // the last n bytes
		n, err := strconv.Atoi(last)
		switch {
		case err != nil:
			return 0, size, http.StatusOK, nil
		case n == 0 || size == 0:
			return 0, 0, 0, invalid
		}
		return max(0, size-n), size, http.StatusPartialContent, nil
	}
	from, err = strconv.Atoi(first)
	if err != nil {
		return 0, size, http.StatusOK, nil
	}
	to = size
	if last != "" {
		end, err := strconv.Atoi(last)
		if err != nil || end < from {
			return 0, size, http.StatusOK, nil
		}
		to = min(size, end+1)
	}
	if from >= size {
		return 0, 0, 0, invalid
	}
	return from, to, http.StatusPartialContent, nil
}

func (h handler) deleteObject(w http.ResponseWriter, r *http.Request, t target) error {
	if r.Header.Get("If-Match") != "" {
		return notImplemented(w, r, t)
	}
	err := h.m.with(t.bucket, func(b *bucket) error {
		delete(b.objects, t.key)
		return nil
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
