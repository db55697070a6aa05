package kube

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// published is a host of releases: files by path. It counts what is asked.
type published struct {
	files map[string]string
	asked []string
}

func (p *published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = append(p.asked, r.URL.Path)
	text, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Write([]byte(text))
}

// officialFinder finds an API server and etcd that a host publishes, and whose sources do not compile.
func officialFinder(t *testing.T, host *published) finder {
	t.Helper()
	server := httptest.NewServer(host)
	t.Cleanup(server.Close)
	f := tinyFinder(t, "not Go at all")
	module := buildModule{dir: "mod", version: "v1.36.3", etcd: "v3.6.8"}
	f.programs = []program{
		{name: "etcd", pkg: "example.com/tiny", build: module, published: etcdArchive,
			path: func(a *Assets) *string { return &a.Etcd }},
		{name: "kube-apiserver", pkg: "example.com/tiny", build: module, published: fileOfRelease,
			path: func(a *Assets) *string { return &a.APIServer }},
	}
	f.releases = releasesFrom(func(name string) string {
		return server.URL + map[string]string{kubernetesVariable: "/release/", etcdVariable: "/etcd"}[name]
	})
	f.releases.os, f.releases.arch = "linux", "amd64"
	return f
}

func officialFiles(t *testing.T) map[string]string {
	t.Helper()
	archive := archiveOf(t, "etcd-v3.6.8-linux-amd64/etcd", "the etcd")
	return map[string]string{
		"/release/v1.36.3/bin/linux/amd64/kube-apiserver":        "the API server",
		"/release/v1.36.3/bin/linux/amd64/kube-apiserver.sha256": sumOf("the API server"),
		"/etcd/v3.6.8/etcd-v3.6.8-linux-amd64.tar.gz":            archive,
		"/etcd/v3.6.8/SHA256SUMS": sumOf("another") + "  etcd-v3.6.8-linux-arm64.tar.gz\n" +
			sumOf(archive) + "  etcd-v3.6.8-linux-amd64.tar.gz\n",
	}
}

// U85: official binaries are fetched once, checked, and run as they are; nothing is built.
func TestU85OfficialBinariesAreFetched(t *testing.T) {
	host := &published{files: officialFiles(t)}
	f := officialFinder(t, host)
	var progress bytes.Buffer
	f.progress = &progress
	assets, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{assets.Etcd: "the etcd", assets.APIServer: "the API server"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want || !isExecutable(path) {
			t.Errorf("%s is %q, %v; want %q, executable", path, text, err, want)
		}
	}
	if strings.Contains(progress.String(), "building") || strings.Count(progress.String(), "kube: fetched ") != 2 {
		t.Errorf("progress is\n%s", &progress)
	}
	asked := len(host.asked)
	if again, err := find(t.Context(), f); err != nil || again != assets || len(host.asked) != asked {
		t.Errorf("a second call: %v, %v, and asks for %q", again, err, host.asked[asked:])
	}
}

// U85: what the host does not have, or cannot be asked, is built, and its host is asked once.
func TestU85WhatCannotBeFetchedIsBuilt(t *testing.T) {
	for name, change := range map[string]func(*finder, *published){
		"there is no such version":   func(_ *finder, h *published) { clear(h.files) },
		"no checksums are published": func(_ *finder, h *published) { delete(h.files, "/etcd/v3.6.8/SHA256SUMS") },
		"none for the platform":      func(f *finder, _ *published) { f.releases.arch = "riscv64" },
		"the host cannot be reached": func(f *finder, _ *published) { f.releases.etcd = "http://127.0.0.1:1" },
		"nothing is to be fetched":   func(f *finder, _ *published) { f.releases.etcd = "" },
	} {
		t.Run(name, func(t *testing.T) {
			host := &published{files: officialFiles(t)}
			f := officialFinder(t, host)
			root, _ := f.moduleRoot(t.Context())
			write(t, filepath.Join(root, "mod", "main.go"), hello)
			f.programs = f.programs[:1]
			change(&f, host)
			var progress bytes.Buffer
			f.progress = &progress
			assets, err := find(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(assets.Etcd); err != nil || string(text) == "the etcd" {
				t.Errorf("it is not built: %v\n%s", err, &progress)
			}
			if says := strings.Contains(progress.String(), "building instead"); says != (f.releases.etcd != "") {
				t.Errorf("progress is\n%s", &progress)
			}
		})
	}
}

// U85: a host that has no file is not asked for those that follow.
func TestU85AHostIsAskedOnce(t *testing.T) {
	host := &published{}
	f := officialFinder(t, host)
	third := f.programs[1]
	third.name = "kubectl"
	rest, err := f.releases.fetch(t.Context(), append(f.programs, third), t.TempDir(), f.progress)
	if err != nil || len(rest) != 3 || len(host.asked) != 2 {
		t.Errorf("%d are to be built, %v; asked for %q", len(rest), err, host.asked)
	}
}

// U85: a file that is not what its checksum says is refused with an error, and not built instead.
func TestU85AWrongChecksumIsRefused(t *testing.T) {
	for change, want := range map[string]string{
		"/release/v1.36.3/bin/linux/amd64/kube-apiserver":        "set JOINER_KUBERNETES_RELEASES=off to build it",
		"/release/v1.36.3/bin/linux/amd64/kube-apiserver.sha256": "set JOINER_KUBERNETES_RELEASES=off to build it",
		"/etcd/v3.6.8/etcd-v3.6.8-linux-amd64.tar.gz":            "set JOINER_ETCD_RELEASES=off to build it",
	} {
		host := &published{files: officialFiles(t)}
		host.files[change] = "<html>sign in</html>"
		f := officialFinder(t, host)
		_, err := find(t.Context(), f)
		if err == nil || !strings.Contains(err.Error(), "has the SHA-256") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want the checksums and %q", change, err, want)
		}
		kept, err := filepath.Glob(filepath.Join(f.cacheDir, "*", "*kube-apiserver*"))
		if strings.Contains(change, "kube-apiserver") && (err != nil || len(kept) > 0) {
			t.Errorf("%s: kept %v, %v", change, kept, err)
		}
	}
	host := &published{files: officialFiles(t)}
	archive := archiveOf(t, "etcd-v3.6.8-linux-amd64/README.md", "none")
	host.files["/etcd/v3.6.8/etcd-v3.6.8-linux-amd64.tar.gz"] = archive
	host.files["/etcd/v3.6.8/SHA256SUMS"] = sumOf(archive) + "  etcd-v3.6.8-linux-amd64.tar.gz\n"
	if _, err := find(t.Context(), officialFinder(t, host)); err == nil || !strings.Contains(err.Error(), "it has no") {
		t.Errorf("an archive without the program: %v", err)
	}
}

func TestReleasesAreOfTheProjectsUnlessTheEnvironmentNamesOthers(t *testing.T) {
	preset := releasesFrom(func(string) string { return "" })
	if !strings.HasPrefix(preset.kubernetes, "https://dl.k8s.io/") || !strings.HasPrefix(preset.etcd, "https://") {
		t.Errorf("got %q and %q", preset.kubernetes, preset.etcd)
	}
	if none := releasesFrom(func(string) string { return "off" }); none.kubernetes != "" || none.etcd != "" {
		t.Errorf("off: got %q and %q", none.kubernetes, none.etcd)
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func archiveOf(t *testing.T, name, content string) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}
	if err := files.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
