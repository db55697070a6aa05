package ecr

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// user is the name by which every holder of a token logs in.
const user = "AWS"

// largestManifest is what ECR takes at most.
const largestManifest = 4 << 20

// ServeRegistry serves the registry at host:port (port 0: a free one), over plain HTTP as registries of this machine are spoken to, until closed is
// called. behind keeps blobs and manifests.
func (m *Model) ServeRegistry(address string, behind http.Handler) (closed func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the registry: %w", err)
	}
	m.mu.Lock()
	m.host = listener.Addr().String()
	m.mu.Unlock()
	server := &http.Server{Handler: front{m, behind}, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener) // returns when closed
	return func() { server.Close() }, nil
}

// front lets in who is logged in, to repositories that exist.
type front struct {
	m      *Model
	behind http.Handler
}

func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, token, ok := r.BasicAuth(); !ok || name != user || !f.m.valid(token) {
		w.Header().Set("WWW-Authenticate", `Basic realm="http://`+f.m.Host()+`/",service="ecr.amazonaws.com"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "Not Authorized")
		return
	}
	name, reference, isManifest := split(r.URL.Path)
	if name == "" { // the version of the API
		f.behind.ServeHTTP(w, r)
		return
	}
	f.m.mu.Lock()
	_, err := f.m.repository(name)
	f.m.mu.Unlock()
	if err != nil {
		message := fmt.Sprintf("The repository with name '%s' does not exist in the registry with id '%s'", name, f.m.account)
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN", message)
		return
	}
	if r.Method != http.MethodPut || !isManifest {
		f.behind.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestManifest))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "MANIFEST_INVALID", err.Error())
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := &watched{ResponseWriter: w, status: http.StatusOK}
	f.behind.ServeHTTP(answer, r)
	if answer.status != http.StatusCreated {
		return
	}
	sum := sha256.Sum256(body)
	digest, tag := "sha256:"+hex.EncodeToString(sum[:]), reference
	if strings.HasPrefix(reference, "sha256:") {
		tag = ""
	}
	f.m.pushed(name, digest, tag, r.Header.Get("Content-Type"), int64(len(body)))
}

// split returns the repository a path is about, and of a manifest its reference.
func split(path string) (name, reference string, isManifest bool) {
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok || rest == "" {
		return "", "", false
	}
	if i := strings.LastIndex(rest, "/manifests/"); i > 0 {
		return rest[:i], rest[i+len("/manifests/"):], true
	}
	for _, part := range []string{"/blobs/", "/tags/", "/referrers/"} {
		if i := strings.LastIndex(rest, part); i > 0 {
			return rest[:i], "", false
		}
	}
	return rest, "", false
}

// refuse answers as registries do.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
}

// watched remembers the status of an answer.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
