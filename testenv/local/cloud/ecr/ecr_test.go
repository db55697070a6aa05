package ecr

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Who is logged in pushes to repositories that exist, and to no others.
func TestTheRegistryLetsInWhoIsLoggedIn(t *testing.T) {
	m := New(Options{})
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
	closed, err := m.ServeRegistry("127.0.0.1:0", behind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	put := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+m.Host()+path, bytes.NewBufferString("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		if token != "" {
			r.SetBasicAuth("AWS", token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	out, err := m.getAuthorizationToken(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	login, _ := base64.StdEncoding.DecodeString(out.AuthorizationData[0].AuthorizationToken)
	_, token, _ := strings.Cut(string(login), ":")

	if status, _ := put("/v2/joiner-watcher/manifests/v1", ""); status != http.StatusUnauthorized {
		t.Errorf("without a login: status %d", status)
	}
	if status, said := put("/v2/joiner-watcher/manifests/v1", token); status != http.StatusNotFound || !strings.Contains(said, "NAME_UNKNOWN") || !strings.Contains(said, "'joiner-watcher' does not exist") {
		t.Errorf("without a repository: status %d, %s", status, said)
	}
	if err := m.Create("joiner-watcher"); err != nil {
		t.Fatal(err)
	}
	var again *wire.Error
	if err := m.Create("joiner-watcher"); !errors.As(err, &again) || again.Code != "RepositoryAlreadyExistsException" {
		t.Errorf("made twice: %v", err)
	}
	if status, said := put("/v2/joiner-watcher/manifests/v1", token); status != http.StatusCreated {
		t.Errorf("status %d, %s", status, said)
	}
	const empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	if got := m.Digests("joiner-watcher"); len(got) != 1 || got[0] != empty {
		t.Errorf("digests %v", got)
	}
	images, err := m.describeImages(t.Context(), &imagesInput{RepositoryName: "joiner-watcher", ImageIDs: []imageID{{ImageTag: "v1"}}})
	if err != nil || len(images.ImageDetails) != 1 || images.ImageDetails[0].ImageTags[0] != "v1" {
		t.Errorf("images %v, %v", images, err)
	}
	var full *wire.Error
	if err := m.Delete("joiner-watcher", false); !errors.As(err, &full) || full.Code != "RepositoryNotEmptyException" {
		t.Errorf("deleted with an image in it: %v", err)
	}
	if err := m.Delete("joiner-watcher", true); err != nil {
		t.Fatal(err)
	}
}
