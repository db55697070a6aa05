package s3

import (
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves m over REST XML, buckets in the path or in the host name.
func NewHandler(m *Model) http.Handler { return handler{m} }

type handler struct{ m *Model }

// target is what a request is about. Both are empty for the account, key is
// empty for a bucket.
type target struct{ bucket, key string }

type action struct {
	name string
	do   func(http.ResponseWriter, *http.Request, target) error
}

// ActionName names the action of a request, for the front door's log.
func (h handler) ActionName(r *http.Request) string { return h.route(r, targetOf(r)).name }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := wire.RequestID(r.Context())
	r = r.WithContext(wire.WithRequestID(r.Context(), id))
	w.Header().Set("x-amz-request-id", id)
	w.Header().Set("x-amz-id-2", id)
	t := targetOf(r)
	if err := h.route(r, t).do(w, r, t); err != nil {
		wire.WriteRESTXMLError(w, r, err)
	}
}

// targetOf reads bucket and key. A bucket is in the host when the host is a
// name under "localhost" or has a label of S3 after it.
func targetOf(r *http.Request) target {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if bucket, ok := strings.CutSuffix(host, ".localhost"); ok && bucket != "s3" {
		return target{strings.TrimSuffix(bucket, ".s3"), path}
	}
	if strings.HasSuffix(host, ".amazonaws.com") {
		if i := max(strings.LastIndex(host, ".s3."), strings.LastIndex(host, ".s3-")); i > 0 {
			return target{host[:i], path}
		}
	}
	bucket, key, _ := strings.Cut(path, "/")
	return target{bucket, key}
}

// subresources are query parameters that make a request about something else
// than the bucket or object itself. Those without an action are not modeled.
var subresources = []string{
	"accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering", "inventory",
	"legal-hold", "lifecycle", "location", "logging", "metadataTable", "metrics", "notification", "object-lock",
	"ownershipControls", "partNumber", "policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment",
	"restore", "retention", "select", "session", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions", "website",
}

func (h handler) route(r *http.Request, t target) action {
	what := r.Method
	query := r.URL.Query()
	for _, name := range subresources {
		if query.Has(name) {
			what += " ?" + name
			break
		}
	}
	switch {
	case r.Header.Get("X-Amz-Copy-Source") != "":
		what += " copy"
	case t.key != "":
		what += " object"
	case t.bucket != "":
		what += " bucket"
	}
	if a, ok := h.actions()[what]; ok {
		return a
	}
	return action{what, notImplemented}
}

func (h handler) actions() map[string]action {
	return map[string]action{
		"GET":                      {"ListBuckets", h.listBuckets},
		"PUT bucket":               {"CreateBucket", h.createBucket},
		"HEAD bucket":              {"HeadBucket", h.headBucket},
		"DELETE bucket":            {"DeleteBucket", h.removeBucket},
		"GET bucket":               {"ListObjectsV2", h.listObjectsV2Only},
		"POST ?delete bucket":      {"DeleteObjects", h.deleteObjects},
		"GET ?location bucket":     {"GetBucketLocation", h.getLocation},
		"GET ?encryption bucket":   {"GetBucketEncryption", h.getEncryption},
		"GET ?versioning bucket":   {"GetBucketVersioning", h.getVersioning},
		"PUT ?lifecycle bucket":    {"PutBucketLifecycleConfiguration", h.putLifecycle},
		"GET ?lifecycle bucket":    {"GetBucketLifecycleConfiguration", h.getLifecycle},
		"DELETE ?lifecycle bucket": {"DeleteBucketLifecycle", h.deleteLifecycle},
		"PUT object":               {"PutObject", h.putObject},
		"GET object":               {"GetObject", h.getObject},
		"HEAD object":              {"HeadObject", h.getObject},
		"DELETE object":            {"DeleteObject", h.deleteObject},
		"POST ?uploads object":     {"CreateMultipartUpload", h.createUpload},
		"PUT ?partNumber object":   {"UploadPart", h.uploadPart},
		"POST ?uploadId object":    {"CompleteMultipartUpload", h.completeUpload},
		"DELETE ?uploadId object":  {"AbortMultipartUpload", h.abortUpload},
	}
}

func notImplemented(_ http.ResponseWriter, r *http.Request, _ target) error {
	return wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%s %s implies functionality that is not modelled here", r.Method, r.URL)
}

func (h handler) listObjectsV2Only(w http.ResponseWriter, r *http.Request, t target) error {
	if r.URL.Query().Get("list-type") != "2" {
		return notImplemented(w, r, t)
	}
	return h.listObjects(w, r, t)
}

func (h handler) createBucket(w http.ResponseWriter, r *http.Request, t target) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var config struct{ LocationConstraint string }
	if len(body) > 0 {
		if err := xml.Unmarshal(body, &config); err != nil {
			return malformedXML()
		}
	}
	// The first region is the one that must not be named.
	if want := h.m.region; config.LocationConstraint != want && !(want == "us-east-1" && config.LocationConstraint == "") {
		constraint := config.LocationConstraint
		if constraint == "" {
			constraint = "unspecified"
		}
		return wire.Errorf("IllegalLocationConstraintException",
			"The %s location constraint is incompatible for the region specific endpoint this request was sent to.", constraint)
	}
	if err := h.m.CreateBucket(t.bucket); err != nil {
		return err
	}
	w.Header().Set("Location", "/"+t.bucket)
	w.WriteHeader(http.StatusOK)
	return nil
}

func (h handler) headBucket(w http.ResponseWriter, _ *http.Request, t target) error {
	if err := h.m.with(t.bucket, func(*bucket) error { return nil }); err != nil {
		return err
	}
	w.Header().Set("x-amz-bucket-region", h.m.region)
	w.WriteHeader(http.StatusOK)
	return nil
}

func (h handler) removeBucket(w http.ResponseWriter, _ *http.Request, t target) error {
	if err := h.m.deleteBucket(t.bucket); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h handler) getLocation(w http.ResponseWriter, r *http.Request, t target) error {
	if err := h.m.with(t.bucket, func(*bucket) error { return nil }); err != nil {
		return err
	}
	region := h.m.region
	if region == "us-east-1" {
		region = ""
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "LocationConstraint", region)
	return nil
}

// getEncryption answers what every bucket has of which nothing else is said: keys of S3.
func (h handler) getEncryption(w http.ResponseWriter, r *http.Request, t target) error {
	if err := h.m.with(t.bucket, func(*bucket) error { return nil }); err != nil {
		return err
	}
	var out struct {
		Algorithm string `xml:"Rule>ApplyServerSideEncryptionByDefault>SSEAlgorithm"`
		BucketKey bool   `xml:"Rule>BucketKeyEnabled"`
	}
	out.Algorithm = "AES256"
	wire.WriteRESTXML(w, r, http.StatusOK, "ServerSideEncryptionConfiguration", out)
	return nil
}

func (h handler) getVersioning(w http.ResponseWriter, r *http.Request, t target) error {
	if err := h.m.with(t.bucket, func(*bucket) error { return nil }); err != nil {
		return err
	}
	wire.WriteRESTXML(w, r, http.StatusOK, "VersioningConfiguration", struct{}{})
	return nil
}
