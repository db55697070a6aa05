package s3

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const maxListed = 1000

type listResult struct {
	Name                  string
	Prefix                string
	Delimiter             string `xml:",omitempty"`
	MaxKeys               int
	EncodingType          string `xml:",omitempty"`
	KeyCount              int
	IsTruncated           bool
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	StartAfter            string `xml:",omitempty"`
	Contents              []listed
	CommonPrefixes        []commonPrefix
}

type listed struct {
	Key               string
	LastModified      wire.Time
	ETag              string
	ChecksumAlgorithm string
	ChecksumType      string
	Size              int
	StorageClass      string
}

type commonPrefix struct{ Prefix string }

func (h handler) listObjects(w http.ResponseWriter, r *http.Request, t target) error {
	query := r.URL.Query()
	limit, err := maxKeys(query.Get("max-keys"))
	if err != nil {
		return err
	}
	out := &listResult{
		Name: t.bucket, Prefix: query.Get("prefix"), Delimiter: query.Get("delimiter"), MaxKeys: limit,
		EncodingType: query.Get("encoding-type"), ContinuationToken: query.Get("continuation-token"), StartAfter: query.Get("start-after"),
	}
	after := out.StartAfter
	if out.ContinuationToken != "" {
		decoded, err := base64.StdEncoding.DecodeString(out.ContinuationToken)
		if err != nil {
			return wire.Errorf("InvalidArgument", "The continuation token provided is incorrect")
		}
		after = string(decoded)
	}
	err = h.m.with(t.bucket, func(b *bucket) error {
		out.fill(b, after)
		return nil
	})
	if err != nil {
		return err
	}
	out.encode()
	wire.WriteRESTXML(w, r, http.StatusOK, "ListBucketResult", out)
	return nil
}

func maxKeys(s string) (int, error) {
	if s == "" {
		return maxListed, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, wire.Errorf("InvalidArgument", "Argument maxKeys must be an integer between 0 and 2147483647")
	}
	return min(n, maxListed), nil
}

// fill adds keys and rolled-up prefixes that sort after the given one.
func (l *listResult) fill(b *bucket, after string) {
	last := ""
	for _, key := range b.keys(l.Prefix) {
		entry, rolled := l.rollUp(key)
		if entry <= after || rolled && strings.HasPrefix(after, entry) || rolled && entry == last {
			continue
		}
		if l.KeyCount == l.MaxKeys {
			l.IsTruncated = l.MaxKeys > 0
			break
		}
		last = entry
		l.KeyCount++
		if rolled {
			l.CommonPrefixes = append(l.CommonPrefixes, commonPrefix{entry})
			continue
		}
		l.Contents = append(l.Contents, b.objects[key].listed())
	}
	if l.IsTruncated {
		l.NextContinuationToken = base64.StdEncoding.EncodeToString([]byte(last))
	}
}

// rollUp returns the common prefix a key is shown as, or the key itself.
func (l *listResult) rollUp(key string) (entry string, rolled bool) {
	if l.Delimiter == "" {
		return key, false
	}
	if i := strings.Index(key[len(l.Prefix):], l.Delimiter); i >= 0 {
		return key[:len(l.Prefix)+i+len(l.Delimiter)], true
	}
	return key, false
}

func (o *object) listed() listed {
	l := listed{
		Key: o.key, LastModified: wire.Time{Time: o.modified}, ETag: o.etag,
		ChecksumType: "FULL_OBJECT", Size: len(o.body), StorageClass: "STANDARD",
	}
	for algorithm := range o.checksums {
		l.ChecksumAlgorithm = strings.ToUpper(algorithm)
	}
	return l
}

// encode escapes names where the client asked for it.
func (l *listResult) encode() {
	if l.EncodingType != "url" {
		return
	}
	escape := func(s *string) { *s = strings.ReplaceAll(url.QueryEscape(*s), "%2F", "/") }
	escape(&l.Prefix)
	escape(&l.Delimiter)
	escape(&l.StartAfter)
	for i := range l.Contents {
		escape(&l.Contents[i].Key)
	}
	for i := range l.CommonPrefixes {
		escape(&l.CommonPrefixes[i].Prefix)
	}
}

type deleteRequest struct {
	Quiet  bool
	Object []struct {
		Key       string
		ETag      string
		VersionID string `xml:"VersionId"`
	}
}

type deleteResult struct {
	Deleted []struct{ Key string }
	Error   []deleteError
}

type deleteError struct{ Key, Code, Message string }

func (h handler) deleteObjects(w http.ResponseWriter, r *http.Request, t target) error {
	body, header, err := readBody(r)
	if err != nil {
		return err
	}
	if _, err := verifyChecksums(header, body); err != nil {
		return err
	}
	var in deleteRequest
	if err := xml.Unmarshal(body, &in); err != nil || len(in.Object) == 0 || len(in.Object) > maxListed {
		return wire.Errorf("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	}
	var out deleteResult
	err = h.m.with(t.bucket, func(b *bucket) error {
		for _, o := range in.Object {
			if o.ETag != "" || o.VersionID != "" {
				out.Error = append(out.Error, deleteError{o.Key, "NotImplemented", "Conditional deletes and versions are not modelled here"})
				continue
			}
			delete(b.objects, o.Key)
			if !in.Quiet {
				out.Deleted = append(out.Deleted, struct{ Key string }{o.Key})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "DeleteResult", out)
	return nil
}

type bucketList struct {
	Owner   struct{ ID string }
	Buckets []bucketEntry `xml:"Buckets>Bucket"`
}

type bucketEntry struct {
	Name         string
	CreationDate wire.Time
	BucketRegion string
}

func (h handler) listBuckets(w http.ResponseWriter, r *http.Request, _ target) error {
	h.m.mu.Lock()
	var out bucketList
	out.Owner.ID = h.m.account
	for _, b := range h.m.buckets {
		out.Buckets = append(out.Buckets, bucketEntry{b.name, wire.Time{Time: b.created}, h.m.region})
	}
	h.m.mu.Unlock()
	slices.SortFunc(out.Buckets, func(a, b bucketEntry) int { return strings.Compare(a.Name, b.Name) })
	wire.WriteRESTXML(w, r, http.StatusOK, "ListAllMyBucketsResult", out)
	return nil
}
