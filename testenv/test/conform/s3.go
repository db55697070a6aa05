package conform

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// S3 is the contract of buckets and objects.
func S3(t *testing.T, target Target) {
	c := s3.NewFromConfig(target.Config, func(o *s3.Options) { o.UsePathStyle = true })
	target.Run(t, "s3", append(s3Buckets(c), s3Objects(c)...))
}

func s3Buckets(c *s3.Client) []Case {
	return []Case{
		{"a bucket is created once, found and deleted", func(t T) {
			b := newBucket(t, c)
			_, err := c.CreateBucket(t.Context(), b.createInput())
			wantType[*types.BucketAlreadyOwnedByYou](t, err)
			if _, err := c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &b.name}); err != nil {
				t.Errorf("head bucket: %v", err)
			}
			if _, err := c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &b.name}); err != nil {
				t.Errorf("delete bucket: %v", err)
			}
			_, err = c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &b.name})
			wantType[*types.NotFound](t, err)
			_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &b.name})
			wantType[*types.NoSuchBucket](t, err)
		}},
		{"a bucket with objects is not deleted", func(t T) {
			b := newBucket(t, c)
			b.put(t, "k", "v")
			_, err := c.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &b.name})
			wantCode(t, err, "BucketNotEmpty")
		}},
		{"a bucket outside the first region names its region", func(t T) {
			_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(Unique("b"))})
			wantCode(t, err, "IllegalLocationConstraintException")
		}},
		{"a bucket's name is checked", func(t T) {
			b := &testBucket{name: "Upper-" + Unique("b")}
			_, err := c.CreateBucket(t.Context(), b.createInput())
			wantCode(t, err, "InvalidBucketName")
		}},
		{"buckets are listed", func(t T) {
			b := newBucket(t, c)
			out, err := c.ListBuckets(t.Context(), &s3.ListBucketsInput{})
			if err != nil || !slices.ContainsFunc(out.Buckets, func(x types.Bucket) bool { return *x.Name == b.name }) {
				t.Errorf("list: %v, %v; want %s among them", out, err, b.name)
			}
		}},
		{"a lifecycle configuration is stored, read and removed", func(t T) {
			b := newBucket(t, c)
			get := &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.name}
			_, err := c.GetBucketLifecycleConfiguration(t.Context(), get)
			wantCode(t, err, "NoSuchLifecycleConfiguration")
			_, err = c.PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{Bucket: &b.name,
				LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
					ID: aws.String("old"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("snap/")},
					Expiration: &types.LifecycleExpiration{Days: aws.Int32(30)}}}}})
			if err != nil {
				t.Fatalf("put lifecycle: %v", err)
			}
			out, err := c.GetBucketLifecycleConfiguration(t.Context(), get)
			if err != nil || len(out.Rules) != 1 || *out.Rules[0].ID != "old" || *out.Rules[0].Expiration.Days != 30 || *out.Rules[0].Filter.Prefix != "snap/" {
				t.Errorf("lifecycle %+v, %v", out, err)
			}
			if _, err := c.DeleteBucketLifecycle(t.Context(), &s3.DeleteBucketLifecycleInput{Bucket: &b.name}); err != nil {
				t.Errorf("delete lifecycle: %v", err)
			}
			_, err = c.GetBucketLifecycleConfiguration(t.Context(), get)
			wantCode(t, err, "NoSuchLifecycleConfiguration")
		}},
	}
}

func s3Objects(c *s3.Client) []Case {
	return append([]Case{
		{"an object comes back as it was put", func(t T) {
			b := newBucket(t, c)
			key := "dir/näme +&=.json"
			put, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: strings.NewReader("hello"),
				ContentType: aws.String("application/json"), ContentEncoding: aws.String("zstd"), Metadata: map[string]string{"sequence": "7"}})
			if err != nil || *put.ETag != `"5d41402abc4b2a76b9719d911017c592"` {
				t.Fatalf("put: %v, %v", put, err)
			}
			got, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: &key})
			if err != nil {
				t.Fatalf("get: %v", err)
			}
			body, err := io.ReadAll(got.Body)
			if err != nil || string(body) != "hello" || *got.ContentType != "application/json" || *got.ContentEncoding != "zstd" || got.Metadata["sequence"] != "7" || *got.ETag != *put.ETag {
				t.Errorf("got %q, %+v, %v", body, got, err)
			}
			head, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.name, Key: &key})
			if err != nil || *head.ContentLength != 5 || *head.ETag != *put.ETag || head.LastModified.IsZero() {
				t.Errorf("head %+v, %v", head, err)
			}
		}},
		{"a large object survives the way", func(t T) {
			b := newBucket(t, c)
			body := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
			if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: aws.String("k"), Body: bytes.NewReader(body)}); err != nil {
				t.Fatalf("put: %v", err)
			}
			if got := b.get(t, "k"); got != string(body) {
				t.Errorf("got %d bytes, want %d", len(got), len(body))
			}
		}},
		{"an absent object is refused by its code", func(t T) {
			b := newBucket(t, c)
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k")})
			wantType[*types.NoSuchKey](t, err)
			_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String("k")})
			wantType[*types.NotFound](t, err)
		}},
		{"deleting is idempotent", func(t T) {
			b := newBucket(t, c)
			b.put(t, "k", "v")
			for range 2 {
				if _, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String("k")}); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k")})
			wantType[*types.NoSuchKey](t, err)
		}},
		{"many objects are deleted at once, absent ones too", func(t T) {
			b := newBucket(t, c)
			b.put(t, "a", "1")
			b.put(t, "b", "2")
			out, err := c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &b.name, Delete: &types.Delete{
				Objects: []types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("absent")}}}})
			if err != nil || len(out.Deleted) != 2 || len(out.Errors) != 0 {
				t.Fatalf("delete: %+v, %v", out, err)
			}
			if got := b.list(t, nil); got != "b" {
				t.Errorf("left %q, want b", got)
			}
		}},
		{"a range gives a part and says which", func(t T) {
			b := newBucket(t, c)
			b.put(t, "k", "0123456789")
			for spec, want := range map[string]string{"bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89", "bytes=8-100": "89"} {
				out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k"), Range: &spec})
				if err != nil {
					t.Errorf("%s: %v", spec, err)
					continue
				}
				body, err := io.ReadAll(out.Body)
				if err != nil || string(body) != want || !strings.HasSuffix(*out.ContentRange, "/10") {
					t.Errorf("%s gave %q of %s, %v; want %q", spec, body, *out.ContentRange, err, want)
				}
			}
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k"), Range: aws.String("bytes=10-")})
			wantCode(t, err, "InvalidRange")
		}},
		{"objects are listed in order, by prefix and in pages", func(t T) {
			b := newBucket(t, c)
			for _, key := range []string{"a/3", "a/1", "a/2", "b"} {
				b.put(t, key, "v")
			}
			if got := b.list(t, &s3.ListObjectsV2Input{Prefix: aws.String("a/"), MaxKeys: aws.Int32(2)}); got != "a/1 a/2 | a/3" {
				t.Errorf("pages %q, want a/1 a/2 | a/3", got)
			}
			if got := b.list(t, &s3.ListObjectsV2Input{StartAfter: aws.String("a/2")}); got != "a/3 b" {
				t.Errorf("after a/2: %q, want a/3 b", got)
			}
		}},
		{"a delimiter rolls keys up", func(t T) {
			b := newBucket(t, c)
			for _, key := range []string{"a/1", "a/2", "b", "c/1"} {
				b.put(t, key, "v")
			}
			if got := b.list(t, &s3.ListObjectsV2Input{Delimiter: aws.String("/")}); got != "b a/ c/" {
				t.Errorf("rolled up %q, want b a/ c/", got)
			}
			if got := b.list(t, &s3.ListObjectsV2Input{Delimiter: aws.String("/"), MaxKeys: aws.Int32(1)}); got != "a/ | b | c/" {
				t.Errorf("pages %q, want a/ | b | c/", got)
			}
		}},
		{"a checksum that does not match is refused and nothing stored", func(t T) {
			b := newBucket(t, c)
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: aws.String("k"), Body: strings.NewReader("v"),
				ChecksumSHA256: aws.String("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")})
			wantCode(t, err, "BadDigest")
			_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String("k")})
			wantType[*types.NotFound](t, err)
		}},
		{"checksums of every algorithm are checked and given back", func(t T) {
			b := newBucket(t, c)
			for algorithm, want := range map[types.ChecksumAlgorithm]string{
				types.ChecksumAlgorithmCrc32:     "y/Q5Jg==",
				types.ChecksumAlgorithmCrc32c:    "4waSgw==",
				types.ChecksumAlgorithmCrc64nvme: "rosUhgp5mIg=",
				types.ChecksumAlgorithmSha1:      "98O8HYCOBHMq32eZZczDTKeuNEE=",
				types.ChecksumAlgorithmSha256:    "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
			} {
				if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: aws.String("k"), Body: strings.NewReader("123456789"), ChecksumAlgorithm: algorithm}); err != nil {
					t.Errorf("%s: %v", algorithm, err)
					continue
				}
				head, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String("k"), ChecksumMode: types.ChecksumModeEnabled})
				if err != nil {
					t.Errorf("%s: %v", algorithm, err)
					continue
				}
				got := aws.ToString(head.ChecksumCRC32) + aws.ToString(head.ChecksumCRC32C) + aws.ToString(head.ChecksumCRC64NVME) + aws.ToString(head.ChecksumSHA1) + aws.ToString(head.ChecksumSHA256)
				if got != want {
					t.Errorf("%s of 123456789 is %q, want %q", algorithm, got, want)
				}
			}
		}},
	}, s3Conditions(c)...)
}

func s3Conditions(c *s3.Client) []Case {
	return []Case{
		{"if-none-match star creates and never replaces", func(t T) {
			b := newBucket(t, c)
			put := func(body string) error {
				_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: aws.String("k"), Body: strings.NewReader(body), IfNoneMatch: aws.String("*")})
				return err
			}
			if err := put("first"); err != nil {
				t.Fatalf("first put: %v", err)
			}
			wantCode(t, put("second"), "PreconditionFailed")
			if got := b.get(t, "k"); got != "first" {
				t.Errorf("stored %q, want first", got)
			}
		}},
		{"if-match replaces only what was read", func(t T) {
			b := newBucket(t, c)
			first := b.put(t, "k", "first")
			b.put(t, "k", "second")
			put := func(key, etag string) error {
				_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: strings.NewReader("third"), IfMatch: &etag})
				return err
			}
			wantCode(t, put("k", first), "PreconditionFailed")
			wantCode(t, put("absent", first), "NoSuchKey")
			if err := put("k", b.put(t, "k", "fresh")); err != nil {
				t.Errorf("put over the version read: %v", err)
			}
		}},
		{"if-none-match on a read says not modified", func(t T) {
			b := newBucket(t, c)
			etag := b.put(t, "k", "v")
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k"), IfNoneMatch: &etag})
			var response *smithyhttp.ResponseError
			if !errors.As(err, &response) || response.HTTPStatusCode() != http.StatusNotModified {
				t.Errorf("got %v, want status 304", err)
			}
			if _, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k"), IfNoneMatch: aws.String(`"other"`)}); err != nil {
				t.Errorf("another version: %v", err)
			}
		}},
		{"if-match on a read refuses another version", func(t T) {
			b := newBucket(t, c)
			b.put(t, "k", "v")
			_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: aws.String("k"), IfMatch: aws.String(`"other"`)})
			wantCode(t, err, "PreconditionFailed")
		}},
	}
}

// testBucket is the bucket of one case.
type testBucket struct {
	c    *s3.Client
	name string
}

func newBucket(t T, c *s3.Client) *testBucket {
	t.Helper()
	b := &testBucket{c, Unique("bucket")}
	if _, err := c.CreateBucket(t.Context(), b.createInput()); err != nil {
		t.Fatalf("create bucket: %v", err)
	}
	return b
}

func (b *testBucket) createInput() *s3.CreateBucketInput {
	return &s3.CreateBucketInput{Bucket: &b.name, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: Region}}
}

// put stores an object and returns its ETag.
func (b *testBucket) put(t T, key, body string) string {
	t.Helper()
	out, err := b.c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return *out.ETag
}

func (b *testBucket) get(t T, key string) string {
	t.Helper()
	out, err := b.c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	return string(body)
}

// list returns all keys and then common prefixes of each page, separated by
// spaces, pages by bars. in may be nil.
func (b *testBucket) list(t T, in *s3.ListObjectsV2Input) string {
	t.Helper()
	if in == nil {
		in = &s3.ListObjectsV2Input{}
	}
	in.Bucket = &b.name
	var pages []string
	for p := s3.NewListObjectsV2Paginator(b.c, in); p.HasMorePages(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		var names []string
		for _, o := range page.Contents {
			names = append(names, *o.Key)
		}
		for _, prefix := range page.CommonPrefixes {
			names = append(names, *prefix.Prefix)
		}
		pages = append(pages, strings.Join(names, " "))
	}
	return strings.Join(pages, " | ")
}
