package installation

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// FolderBucket is a bucket's name where its objects are files.
const FolderBucket = "files"

// FolderClient returns a client that has the files of a folder, as "aws s3 sync" makes them, as the objects of
// FolderBucket. It reads, writes and lists objects, and nothing else; folders are made as they are needed.
func FolderClient(dir string) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", HTTPClient: dirObjects{dir},
		Credentials:  credentials.NewStaticCredentialsProvider("none", "none", ""),
		BaseEndpoint: aws.String("http://files.invalid"), UsePathStyle: true, RetryMaxAttempts: 1,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
}

type dirObjects struct{ dir string }

func (d dirObjects) Do(request *http.Request) (*http.Response, error) {
	key := filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(request.URL.Path, "/"+FolderBucket), "/"))
	body, status, err := []byte(nil), http.StatusBadRequest, error(nil)
	switch query := request.URL.Query(); {
	case request.Method == http.MethodGet && query.Get("list-type") == "2":
		body, err = d.list(query)
		status = http.StatusOK
	case !filepath.IsLocal(key):
	case request.Method == http.MethodGet:
		body, err = os.ReadFile(filepath.Join(d.dir, key))
		status = http.StatusOK
		if errors.Is(err, fs.ErrNotExist) {
			body, status, err = []byte("<Error><Code>NoSuchKey</Code></Error>"), http.StatusNotFound, nil
		}
	case request.Method == http.MethodPut:
		err = d.put(filepath.Join(d.dir, key), request.Body)
		status = http.StatusOK
	}
	if err != nil {
		return nil, err
	}
	return answered(request, status, http.Header{}, body), nil
}

// answered is a service's answer that nobody sent.
func answered(request *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: request,
		Header:  header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// put writes a file as a whole or not at all.
func (d dirObjects) put(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".part-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// dirList is the answer to ListObjectsV2.
type dirList struct {
	XMLName        xml.Name `xml:"ListBucketResult"`
	IsTruncated    bool
	Contents       []dirObject
	CommonPrefixes []dirPrefix
}

type dirObject struct {
	Key          string
	LastModified string
	Size         int64
}

type dirPrefix struct{ Prefix string }

// list answers ListObjectsV2 on one page: the files below the folder a prefix names, or with a delimiter the folders in
// it.
func (d dirObjects) list(query url.Values) ([]byte, error) {
	prefix, delimited := query.Get("prefix"), query.Get("delimiter") == "/"
	root := filepath.Join(d.dir, filepath.FromSlash(cmp.Or(prefix[:strings.LastIndexByte(prefix, '/')+1], ".")))
	out := dirList{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		switch {
		case entry.IsDir() && delimited && path != root:
			if strings.HasPrefix(key+"/", prefix) {
				out.CommonPrefixes = append(out.CommonPrefixes, dirPrefix{key + "/"})
			}
			return fs.SkipDir
		case entry.IsDir() || !strings.HasPrefix(key, prefix) || key <= query.Get("start-after") ||
			strings.HasPrefix(entry.Name(), ".part-"):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		out.Contents = append(out.Contents, dirObject{key, info.ModTime().UTC().Format("2006-01-02T15:04:05.000Z"),
			info.Size()})
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(out.Contents, func(a, b dirObject) int { return strings.Compare(a.Key, b.Key) })
	return xml.Marshal(out)
}
