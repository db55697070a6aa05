package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// programs are files that stand for the watcher's binaries.
func programs(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, arch := range []string{"arm64", "amd64"} {
		file := filepath.Join(t.TempDir(), "watcher")
		if err := os.WriteFile(file, []byte("the program for "+arch), 0o700); err != nil {
			t.Fatal(err)
		}
		out = append(out, arch+"="+file)
	}
	return out
}

func TestImageIsTheSameEachTime(t *testing.T) {
	all := programs(t)
	first, err := run(filepath.Join(t.TempDir(), "one"), "", all)
	if err != nil {
		t.Fatal(err)
	}
	second, err := run(filepath.Join(t.TempDir(), "two"), "", []string{all[1], all[0]})
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !strings.HasPrefix(first, "sha256:") {
		t.Errorf("digests %s and %s", first, second)
	}
	if _, err := run(filepath.Join(t.TempDir(), "three"), "", []string{"amd64"}); err == nil || !strings.Contains(err.Error(), "ARCHITECTURE=FILE") {
		t.Errorf("a program without a file: %v", err)
	}
}

func TestImageThatIsPushedRunsTheProgram(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/joiner-watcher:v1"
	digest, err := run(filepath.Join(t.TempDir(), "out"), reference, programs(t))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Errorf("the registry has %s (%v), printed was %s", got, err, digest)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(parsed, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != arch || config.Config.User != "65532:65532" || strings.Join(config.Config.Entrypoint, " ") != "/watcher" {
			t.Errorf("%s: %+v", arch, config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%s has %d layers: %v", arch, len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(content)
		if err != nil || !strings.Contains(string(all), "the program for "+arch) {
			t.Errorf("%s holds %q (%v)", arch, all, err)
		}
	}
}

// TestA10ImageIsPushedWithAPasswordOfTheEnvironment: a registry that asks for a password, as ECR does, gets that of the environment, and no container
// engine has to log in.
func TestA10ImageIsPushedWithAPasswordOfTheEnvironment(t *testing.T) {
	behind := registry.New()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "AWS" || password != "token" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/joiner-watcher:v1"
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("REGISTRY_USER", "")
	if _, err := run(filepath.Join(t.TempDir(), "out"), reference, programs(t)); err == nil {
		t.Error("it was pushed without a password")
	}
	t.Setenv("REGISTRY_USER", "AWS")
	t.Setenv("REGISTRY_PASSWORD", "token")
	if _, err := run(filepath.Join(t.TempDir(), "out"), reference, programs(t)); err != nil {
		t.Error(err)
	}
}
