package kube

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The environment variables that name where official binaries are fetched from; "off" = they are built.
const (
	kubernetesVariable = "JOINER_KUBERNETES_RELEASES"
	etcdVariable       = "JOINER_ETCD_RELEASES"
	off                = "off"
)

// publisher is who publishes the binary of a program.
type publisher int

const (
	nobody        publisher = iota // it is built
	fileOfRelease                  // of Kubernetes: below a version and a platform, each with a file of its SHA-256
	etcdArchive                    // in an archive of a version, listed in SHA256SUMS
)

// errNotThere wraps why a file cannot be had: its host does not answer, or does not have it.
var errNotThere = errors.New("it cannot be fetched")

// releases are where official binaries are published. The zero value has none.
type releases struct {
	kubernetes, etcd string // base addresses; "" = nothing is fetched
	client           *http.Client
	os, arch         string
}

// releasesFrom returns what the environment names, else the addresses of the projects. A host that does not answer
// within seconds counts as one that is not there, so that a closed network delays a build by that much.
func releasesFrom(environment func(string) string) releases {
	const patience = 3 * time.Second
	address := func(variable, preset string) string {
		named := cmp.Or(environment(variable), preset)
		if named == off {
			return ""
		}
		return strings.TrimSuffix(named, "/")
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout: patience, ResponseHeaderTimeout: 2 * patience, ForceAttemptHTTP2: true,
	}
	return releases{
		kubernetes: address(kubernetesVariable, "https://dl.k8s.io/release"),
		etcd:       address(etcdVariable, "https://github.com/etcd-io/etcd/releases/download"),
		client:     &http.Client{Transport: transport, Timeout: 10 * time.Minute},
		os:         runtime.GOOS, arch: runtime.GOARCH,
	}
}

// fetch puts into the folder what of the programs is published, and returns the others, which have to be built. What
// cannot be fetched is reported and built; its publisher is not asked again. A checksum that does not hold is an error.
func (r releases) fetch(ctx context.Context, programs []program, dir string, progress io.Writer) ([]program, error) {
	var rest []program
	silent := map[publisher]bool{}
	for _, p := range programs {
		base := map[publisher]string{fileOfRelease: r.kubernetes, etcdArchive: r.etcd}[p.published]
		if base == "" || silent[p.published] {
			rest = append(rest, p)
			continue
		}
		began := time.Now()
		err := r.fetchOne(ctx, p, filepath.Join(dir, p.name))
		switch {
		case errors.Is(err, errNotThere) && ctx.Err() == nil:
			fmt.Fprintf(progress, "kube: %v; building instead\n", err)
			silent[p.published] = true
			rest = append(rest, p)
		case err != nil:
			return nil, err
		default:
			took := time.Since(began).Round(time.Second)
			fmt.Fprintf(progress, "kube: fetched %s from %s in %s\n", p.name, base, took)
		}
	}
	return rest, nil
}

// fetchOne writes the program to the path, which appears complete or not at all.
func (r releases) fetchOne(ctx context.Context, p program, path string) error {
	partial, err := os.CreateTemp(filepath.Dir(path), ".fetched-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	take := r.kubernetesProgram
	if p.published == etcdArchive {
		take = r.etcdProgram
	}
	if err := take(ctx, p, partial); err != nil {
		return err
	}
	if err := errors.Join(partial.Chmod(0o755), partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}

// kubernetesProgram writes a program of Kubernetes, once its checksum holds.
func (r releases) kubernetesProgram(ctx context.Context, p program, to io.Writer) error {
	address := strings.Join([]string{r.kubernetes, p.build.version, "bin", r.os, r.arch, p.name}, "/")
	sums := address + ".sha256"
	text, err := r.text(ctx, sums)
	if err != nil {
		return err
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return refused(kubernetesVariable, "%s is empty", sums)
	}
	return r.checked(ctx, address, expected{fields[0], sums, kubernetesVariable}, to)
}

// etcdProgram writes the program etcd out of its archive, once that one's checksum holds.
func (r releases) etcdProgram(ctx context.Context, p program, to io.Writer) error {
	folder := r.etcd + "/" + p.build.etcd
	name := fmt.Sprintf("etcd-%s-%s-%s", p.build.etcd, r.os, r.arch)
	text, err := r.text(ctx, folder+"/SHA256SUMS")
	if err != nil {
		return err
	}
	want := expected{from: folder + "/SHA256SUMS", variable: etcdVariable}
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		if fields := strings.Fields(scan.Text()); len(fields) == 2 && fields[1] == name+".tar.gz" {
			want.sum = fields[0]
		}
	}
	if want.sum == "" {
		return fmt.Errorf("%w: %s does not list %s.tar.gz", errNotThere, want.from, name)
	}
	archive, err := os.CreateTemp("", "etcd-")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	if err := r.checked(ctx, folder+"/"+name+".tar.gz", want, archive); err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := unpack(archive, name+"/"+p.name, to); err != nil {
		return refused(etcdVariable, "%s/%s.tar.gz: %v", folder, name, err)
	}
	return nil
}

// unpack writes one file of an archive.
func unpack(archive io.Reader, name string, to io.Writer) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			return fmt.Errorf("it has no %s", name)
		}
		if err != nil {
			return err
		}
		if header.Name == name {
			_, err := io.Copy(to, files)
			return err
		}
	}
}

// expected is the checksum of a file, where it was read, and the variable that names that place.
type expected struct{ sum, from, variable string }

// checked writes what the address has. The error of a checksum that does not hold names both.
func (r releases) checked(ctx context.Context, address string, want expected, to io.Writer) error {
	body, err := r.get(ctx, address)
	if err != nil {
		return err
	}
	defer body.Close()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, hash), body); err != nil {
		return fmt.Errorf("%w: %s: %w", errNotThere, address, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(got, want.sum) {
		return refused(want.variable, "%s has the SHA-256 %s, and %s says %.64s", address, got, want.from, want.sum)
	}
	return nil
}

// refused is the error of a file that is not what its publisher says.
func refused(variable, format string, args ...any) error {
	return fmt.Errorf("%s; it is not used: name another place by %s, or set %s=%s to build it",
		fmt.Sprintf(format, args...), variable, variable, off)
}

// text returns a small file.
func (r releases) text(ctx context.Context, address string) (string, error) {
	body, err := r.get(ctx, address)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", errNotThere, address, err)
	}
	return string(text), nil
}

func (r releases) get(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %q: %w", address, err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotThere, err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("%w: %s answers %s", errNotThere, address, response.Status)
	}
	return response.Body, nil
}
