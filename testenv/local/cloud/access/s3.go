package access

import (
	"encoding/xml"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// s3Actions are the IAM actions of S3's API, by action of the API. Those of objects end in "/".
var s3Actions = map[string]string{
	"CreateBucket": "s3:CreateBucket", "HeadBucket": "s3:ListBucket", "DeleteBucket": "s3:DeleteBucket", "ListObjectsV2": "s3:ListBucket",
	"GetBucketLocation": "s3:GetBucketLocation", "GetBucketVersioning": "s3:GetBucketVersioning",
	"PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration", "GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
	"DeleteBucketLifecycle": "s3:PutLifecycleConfiguration",
	"GetBucketEncryption":   "s3:GetEncryptionConfiguration",
	"PutObject":             "s3:PutObject/", "GetObject": "s3:GetObject/", "HeadObject": "s3:GetObject/", "DeleteObject": "s3:DeleteObject/",
	"CreateMultipartUpload": "s3:PutObject/", "UploadPart": "s3:PutObject/", "CompleteMultipartUpload": "s3:PutObject/", "AbortMultipartUpload": "s3:AbortMultipartUpload/",
}

func (b asker) ofS3(r Request) ([]wire.Access, error) {
	bucket, key := bucketAndKey(r.HTTP)
	switch r.Action {
	case "ListBuckets":
		return one("s3:ListAllMyBuckets", "*"), nil
	case "DeleteObjects":
		return deletions(bucket, r.Body)
	}
	action, ok := s3Actions[r.Action]
	if !ok {
		return nil, nil
	}
	ofObject, isObject := strings.CutSuffix(action, "/")
	if isObject {
		out := one(ofObject, "arn:aws:s3:::"+bucket+"/"+key)
		if r.Action == "PutObject" && r.HTTP.Header.Get("If-Match") != "" { // reads what it compares with
			out = append(out, wire.Access{Action: "s3:GetObject", Resource: out[0].Resource})
		}
		return out, nil
	}
	a := wire.Access{Action: action, Resource: "arn:aws:s3:::" + bucket}
	if r.Action == "ListObjectsV2" {
		a.Context = map[string][]string{}
		for parameter, condition := range map[string]string{"prefix": "s3:prefix", "delimiter": "s3:delimiter", "max-keys": "s3:max-keys"} {
			if query := r.HTTP.URL.Query(); query.Has(parameter) {
				a.Context[condition] = []string{query.Get(parameter)}
			}
		}
	}
	return []wire.Access{a}, nil
}

func deletions(bucket string, body []byte) ([]wire.Access, error) {
	var in struct{ Object []struct{ Key string } }
	if err := xml.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read request of S3: %w", err)
	}
	var out []wire.Access
	for _, o := range in.Object {
		out = append(out, wire.Access{Action: "s3:DeleteObject", Resource: "arn:aws:s3:::" + bucket + "/" + o.Key})
	}
	return out, nil
}

// bucketAndKey reads what an S3 request is about, by path or by host.
func bucketAndKey(r *http.Request) (bucket, key string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if name, ok := strings.CutSuffix(host, ".localhost"); ok && name != "s3" {
		return strings.TrimSuffix(name, ".s3"), path
	}
	if i := max(strings.LastIndex(host, ".s3."), strings.LastIndex(host, ".s3-")); i > 0 && strings.HasSuffix(host, ".amazonaws.com") {
		return host[:i], path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// Hidden returns what a caller must be allowed as well to learn that an object does not exist: without it S3 answers 403 instead
// of 404. ok is false for every other request. Source: API reference of GetObject, "Permissions".
func Hidden(r Request, status int) (a wire.Access, ok bool) {
	if r.Service != "s3" || status != http.StatusNotFound || r.Action != "GetObject" && r.Action != "HeadObject" {
		return wire.Access{}, false
	}
	bucket, _ := bucketAndKey(r.HTTP)
	return wire.Access{Action: "s3:ListBucket", Resource: "arn:aws:s3:::" + bucket}, true
}
