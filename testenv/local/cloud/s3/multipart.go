package s3

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// minPartBytes is what every part of an upload but the last has at least, and maxParts how many there are at most.
// Source: Amazon S3 user guide, "Amazon S3 multipart upload limits".
const (
	minPartBytes = 5 << 20
	maxParts     = 10_000
)

// upload is an object that is put part by part.
type upload struct {
	key    string
	header http.Header
	parts  map[int]part // by number
}

type part struct {
	body []byte
	etag string // quoted
}

var errorUpload = wire.StatusErrorf(http.StatusNotFound, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.")

// withUpload calls f with an upload of a key under the lock.
func (h handler) withUpload(r *http.Request, t target, f func(*bucket, string, *upload) error) error {
	return h.m.with(t.bucket, func(b *bucket) error {
		id := r.URL.Query().Get("uploadId")
		u := b.uploads[id]
		if u == nil || u.key != t.key {
			return errorUpload
		}
		return f(b, id, u)
	})
}

func (h handler) createUpload(w http.ResponseWriter, r *http.Request, t target) error {
	if len(t.key) > maxKeyBytes {
		return wire.Errorf("KeyTooLongError", "Your key is too long")
	}
	kept, err := keptHeaders(r.Header)
	if err != nil {
		return err
	}
	var out struct {
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}
	out.Bucket, out.Key, out.UploadID = t.bucket, t.key, strings.ReplaceAll(wire.NewRequestID(), "-", "")
	err = h.m.with(t.bucket, func(b *bucket) error {
		if b.uploads == nil {
			b.uploads = map[string]*upload{}
		}
		b.uploads[out.UploadID] = &upload{key: t.key, header: kept, parts: map[int]part{}}
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "InitiateMultipartUploadResult", out)
	return nil
}

func (h handler) uploadPart(w http.ResponseWriter, r *http.Request, t target) error {
	number, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
	if err != nil || number < 1 || number > maxParts {
		return wire.Errorf("InvalidArgument", "Part number must be an integer between 1 and %d, inclusive", maxParts)
	}
	body, header, err := readBody(r)
	if err != nil {
		return err
	}
	checksums, err := verifyChecksums(header, body)
	if err != nil {
		return err
	}
	p := part{body, etagOf(body)}
	if err := h.withUpload(r, t, func(_ *bucket, _ string, u *upload) error { u.parts[number] = p; return nil }); err != nil {
		return err
	}
	(&object{checksums: checksums}).setChecksums(w.Header())
	w.Header().Set("ETag", p.etag)
	w.WriteHeader(http.StatusOK)
	return nil
}

// completeUpload makes the object of the parts that the request lists, in the order of their numbers.
func (h handler) completeUpload(w http.ResponseWriter, r *http.Request, t target) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var in struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(text, &in); err != nil || len(in.Part) == 0 {
		return malformedXML()
	}
	for i := 1; i < len(in.Part); i++ {
		if in.Part[i].PartNumber <= in.Part[i-1].PartNumber {
			return wire.Errorf("InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.")
		}
	}
	var made *object
	err = h.withUpload(r, t, func(b *bucket, id string, u *upload) error {
		var body, sums []byte
		for i, listed := range in.Part {
			p, ok := u.parts[listed.PartNumber]
			switch {
			case !ok || strings.Trim(listed.ETag, `"`) != strings.Trim(p.etag, `"`):
				return wire.Errorf("InvalidPart", "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.")
			case i < len(in.Part)-1 && len(p.body) < minPartBytes:
				return wire.Errorf("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
			}
			sum := md5.Sum(p.body)
			body, sums = append(body, p.body...), append(sums, sum[:]...)
		}
		if err := checkWrite(r.Header, b.objects[t.key]); err != nil {
			return err
		}
		checksums, err := verifyChecksums(http.Header{}, body)
		if err != nil {
			return err
		}
		of := md5.Sum(sums)
		made = &object{
			key: t.key, body: body, etag: fmt.Sprintf(`"%s-%d"`, hex.EncodeToString(of[:]), len(in.Part)), header: u.header, checksums: checksums, modified: h.m.clock.Now(),
		}
		b.objects[t.key] = made
		delete(b.uploads, id)
		b.setExpiration(w.Header(), made)
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "CompleteMultipartUploadResult", struct{ Location, Bucket, Key, ETag string }{"/" + t.bucket + "/" + t.key, t.bucket, t.key, made.etag})
	return nil
}

func (h handler) abortUpload(w http.ResponseWriter, r *http.Request, t target) error {
	if err := h.withUpload(r, t, func(b *bucket, id string, _ *upload) error { delete(b.uploads, id); return nil }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Uploads returns the keys of uploads that are neither complete nor aborted, sorted.
func (m *Model) Uploads(bucketName string) (keys []string) {
	m.with(bucketName, func(b *bucket) error { // a missing bucket has none
		for _, id := range slices.Sorted(maps.Keys(b.uploads)) {
			keys = append(keys, b.uploads[id].key)
		}
		return nil
	})
	slices.Sort(keys)
	return keys
}
