package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/s3"
)

const bucketName = "snapshots"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newModel(t *testing.T) (*s3.Model, *clock.Fake) {
	t.Helper()
	return modelAs(t, nil)
}

// modelAs is newModel with readings; nil: the environment's.
func modelAs(t *testing.T, reads *reading.Set) (*s3.Model, *clock.Fake) {
	t.Helper()
	c := clock.NewFake(noon)
	m := s3.NewModel(s3.Options{Clock: c, Account: "123456789012", Region: "us-west-2", Readings: reads})
	if err := m.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	return m, c
}

// newClient returns a client of a server that is reached under any host name.
func newClient(t *testing.T, server *httptest.Server, pathStyle bool) *awss3.Client {
	t.Helper()
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	return awss3.New(awss3.Options{
		Region: "us-west-2", BaseEndpoint: &server.URL, UsePathStyle: pathStyle, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient:  &http.Client{Transport: transport},
		// What configuration loaded the usual way says.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	})
}

func put(t *testing.T, c *awss3.Client, key, body string) *awss3.PutObjectOutput {
	t.Helper()
	out, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String(bucketName), Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return out
}

// Over TLS the SDK streams in chunks with the checksum in a trailer, over plain
// HTTP it does not: both must arrive alike.
func TestStreamedUploadArrivesDecoded(t *testing.T) {
	m, _ := newModel(t)
	var streamed bool
	handler := s3.NewHandler(m)
	c := newClient(t, httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streamed = streamed || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")
		handler.ServeHTTP(w, r)
	})), true)
	body := strings.Repeat("0123456789", 20_000)
	out, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String(bucketName), Key: aws.String("k"),
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: aws.Int64(int64(len(body))), ContentEncoding: aws.String("zstd")})
	if err != nil {
		t.Fatal(err)
	}
	if !streamed {
		t.Error("the SDK did not stream, so this tests nothing")
	}
	if out.ChecksumCRC32 == nil {
		t.Error("the checksum of the trailer is not answered")
	}
	got, err := c.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(got.Body)
	if err != nil || string(read) != body || aws.ToString(got.ContentEncoding) != "zstd" {
		t.Errorf("got %d bytes encoded %q, %v; want %d encoded zstd", len(read), aws.ToString(got.ContentEncoding), err, len(body))
	}
}

func TestBrokenStreamIsRefused(t *testing.T) {
	m, _ := newModel(t)
	handler := s3.NewHandler(m)
	for name, tt := range map[string]struct{ body, length, want string }{
		"whole":            {"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n", "3", ""},
		"with signatures":  {"3;chunk-signature=0a\r\nabc\r\n0;chunk-signature=0b\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n", "3", ""},
		"cut off":          {"5\r\nabc", "5", "IncompleteBody"},
		"shorter":          {"3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n", "4", "IncompleteBody"},
		"without trailer":  {"3\r\nabc\r\n0\r\n\r\n", "3", "MalformedTrailerError"},
		"another checksum": {"3\r\nabd\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n", "3", "BadDigest"},
		"a broken size":    {"x\r\nabc\r\n0\r\n\r\n", "3", "IncompleteBody"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("PUT", "/"+bucketName+"/k", strings.NewReader(tt.body))
			r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
			r.Header.Set("X-Amz-Decoded-Content-Length", tt.length)
			r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if tt.want == "" && w.Code != 200 || tt.want != "" && !strings.Contains(w.Body.String(), "<Code>"+tt.want+"</Code>") {
				t.Errorf("got %d %s, want %q", w.Code, w.Body, tt.want)
			}
		})
	}
}

func TestBucketMayBeInTheHostName(t *testing.T) {
	m, _ := newModel(t)
	server := httptest.NewServer(s3.NewHandler(m))
	server.URL = "http://localhost:4566"
	put(t, newClient(t, server, false), "dir/k", "v")
	if body, ok := m.Get(bucketName, "dir/k"); !ok || string(body) != "v" {
		t.Errorf("stored %q, %v; want v under dir/k", body, ok)
	}
	handler := s3.NewHandler(m)
	for _, host := range []string{"snapshots.s3.us-west-2.amazonaws.com", "snapshots.s3.amazonaws.com", "snapshots.s3-us-west-2.amazonaws.com", "snapshots.s3.localhost"} {
		r := httptest.NewRequest("GET", "/dir/k", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 200 || w.Body.String() != "v" {
			t.Errorf("%s: %d %s, want v", host, w.Code, w.Body)
		}
	}
}

// Now and then a conditional put is refused because another goes on, or never; nothing is done then.
func TestConditionalPutsConflictNowAndThenOrNever(t *testing.T) {
	for reads, want := range map[*reading.Set]int{reading.Strict(reading.ConditionalConflict): 2, reading.Other(reading.ConditionalConflict): 0} {
		m, _ := modelAs(t, reads)
		c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
		conflicts := 0
		for i := range 30 {
			key := fmt.Sprint(i)
			_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String(bucketName), Key: &key, Body: strings.NewReader("v"), IfNoneMatch: aws.String("*")})
			var api smithy.APIError
			_, stored := m.Get(bucketName, key)
			switch {
			case errors.As(err, &api) && api.ErrorCode() == "ConditionalRequestConflict" && !stored:
				conflicts++
			case err != nil || !stored:
				t.Errorf("put %d: %v, stored %v", i, err, stored)
			}
			put(t, c, key, "unconditional")
		}
		if conflicts != want {
			t.Errorf("%q: %d of 30 conflict, want %d", reads, conflicts, want)
		}
	}
}

func TestOneOfManyConditionalCreatesWins(t *testing.T) {
	m, _ := modelAs(t, reading.Other(reading.ConditionalConflict))
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	var mu sync.Mutex
	var winners []string
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			body := fmt.Sprint(i)
			_, err := c.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String(bucketName), Key: aws.String("pointer"), Body: strings.NewReader(body), IfNoneMatch: aws.String("*")})
			var api smithy.APIError
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winners = append(winners, body)
			} else if !errors.As(err, &api) || api.ErrorCode() != "PreconditionFailed" {
				t.Errorf("put %d: %v, want PreconditionFailed", i, err)
			}
		})
	}
	wg.Wait()
	body, _ := m.Get(bucketName, "pointer")
	if len(winners) != 1 || winners[0] != string(body) {
		t.Errorf("winners %v, stored %s; want one winner whose body is stored", winners, body)
	}
}

func TestLifecycleExpiresAtTheMidnightAfterTheAge(t *testing.T) {
	m, fake := newModel(t)
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	put(t, c, "snap/before", "v")
	_, err := c.PutBucketLifecycleConfiguration(t.Context(), &awss3.PutBucketLifecycleConfigurationInput{Bucket: aws.String(bucketName),
		LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{
			{ID: aws.String("thirty"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("snap/")}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(30)}},
			{ID: aws.String("off"), Status: types.ExpirationStatusDisabled, Filter: &types.LifecycleRuleFilter{}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)}},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "keep/1", "v")
	// Written on 1 March at noon, thirty days old on the 31st at noon: gone with 1 April.
	out := put(t, c, "snap/after", "v")
	if want := `expiry-date="Wed, 01 Apr 2026 00:00:00 GMT", rule-id="thirty"`; aws.ToString(out.Expiration) != want {
		t.Errorf("expiration %q, want %q", aws.ToString(out.Expiration), want)
	}
	end := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	fake.Advance(end.Sub(noon) - time.Second)
	if keys := strings.Join(m.Keys(bucketName, ""), " "); keys != "keep/1 snap/after snap/before" {
		t.Errorf("a second before: %s, want all three", keys)
	}
	fake.Advance(time.Second)
	if keys := strings.Join(m.Keys(bucketName, ""), " "); keys != "keep/1" {
		t.Errorf("at midnight: %s, want keep/1", keys)
	}
}

func TestLifecycleRefusesWhatIsNotModeled(t *testing.T) {
	m, _ := newModel(t)
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	rule := types.LifecycleRule{ID: aws.String("r"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{}}
	for name, tt := range map[string]struct {
		change func(*types.LifecycleRule)
		want   string
	}{
		"a transition": {func(r *types.LifecycleRule) {
			r.Transitions = []types.Transition{{Days: aws.Int32(1), StorageClass: types.TransitionStorageClassGlacier}}
		}, "NotImplemented"},
		"a tag": {func(r *types.LifecycleRule) {
			r.Filter.Tag = &types.Tag{Key: aws.String("a"), Value: aws.String("b")}
			r.Expiration = &types.LifecycleExpiration{Days: aws.Int32(1)}
		}, "NotImplemented"},
		"no action": {func(*types.LifecycleRule) {}, "InvalidRequest"},
		"no days":   {func(r *types.LifecycleRule) { r.Expiration = &types.LifecycleExpiration{Days: aws.Int32(0)} }, "InvalidArgument"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := rule
			filter := *rule.Filter
			changed.Filter = &filter
			tt.change(&changed)
			_, err := c.PutBucketLifecycleConfiguration(t.Context(), &awss3.PutBucketLifecycleConfigurationInput{Bucket: aws.String(bucketName),
				LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{changed}}})
			wantCode(t, err, tt.want)
		})
	}
}

func TestWhatIsNotModeledIsNotImplemented(t *testing.T) {
	m, _ := newModel(t)
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	put(t, c, "k", "v")
	_, err := c.CopyObject(t.Context(), &awss3.CopyObjectInput{Bucket: aws.String(bucketName), Key: aws.String("copy"), CopySource: aws.String(bucketName + "/k")})
	wantCode(t, err, "NotImplemented")
	_, err = c.ListParts(t.Context(), &awss3.ListPartsInput{Bucket: aws.String(bucketName), Key: aws.String("big"), UploadId: aws.String("u")})
	wantCode(t, err, "NotImplemented")
	_, err = c.GetObjectTagging(t.Context(), &awss3.GetObjectTaggingInput{Bucket: aws.String(bucketName), Key: aws.String("k")})
	wantCode(t, err, "NotImplemented")
	if keys := m.Keys(bucketName, ""); len(keys) != 1 {
		t.Errorf("keys %v, want k alone", keys)
	}
}

func TestReadsMayDependOnTime(t *testing.T) {
	m, _ := newModel(t)
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	put(t, c, "k", "v")
	get := func(in awss3.GetObjectInput) int {
		in.Bucket, in.Key = aws.String(bucketName), aws.String("k")
		_, err := c.GetObject(t.Context(), &in)
		var response interface{ HTTPStatusCode() int }
		if errors.As(err, &response) {
			return response.HTTPStatusCode()
		}
		return 200
	}
	for name, tt := range map[string]struct {
		in   awss3.GetObjectInput
		want int
	}{
		"modified since, no":    {awss3.GetObjectInput{IfModifiedSince: aws.Time(noon)}, 304},
		"modified since, yes":   {awss3.GetObjectInput{IfModifiedSince: aws.Time(noon.Add(-time.Second))}, 200},
		"unmodified since, yes": {awss3.GetObjectInput{IfUnmodifiedSince: aws.Time(noon)}, 200},
		"unmodified since, no":  {awss3.GetObjectInput{IfUnmodifiedSince: aws.Time(noon.Add(-time.Second))}, 412},
	} {
		if got := get(tt.in); got != tt.want {
			t.Errorf("%s: status %d, want %d", name, got, tt.want)
		}
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("got %v, want code %s", err, code)
	}
}
