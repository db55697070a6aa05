// Command image makes the watcher's container image: nothing but the program, for each architecture, byte for byte the same each
// time. It needs no container engine and no network, unless it is to push.
//
//	go run ./image -out ../dist/watcher amd64=../dist/amd64/watcher arm64=../dist/arm64/watcher
//	go run ./image -out ../dist/watcher -push REPOSITORY:TAG amd64=… arm64=…
//
// The folder is an OCI image layout: any tool that speaks OCI copies it to a registry. It prints the digest, which is what
// the chart's image.digest wants. To push it takes the credentials that docker login or a credential helper left, or the user and the
// password of REGISTRY_USER and REGISTRY_PASSWORD, where these are set.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	out := flag.String("out", "", "folder of the OCI layout; it is made anew")
	push := flag.String("push", "", "reference to push the image to")
	flag.Parse()
	digest, err := run(*out, *push, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// run makes the image of the programs (ARCHITECTURE=FILE), writes and pushes it, and returns its digest.
func run(out, push string, programs []string) (string, error) {
	if out == "" || len(programs) == 0 {
		return "", errors.New("usage: image -out FOLDER [-push REFERENCE] ARCHITECTURE=FILE…")
	}
	index, err := indexOf(programs)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	path, err := layout.Write(out, empty.Index)
	if err != nil {
		return "", err
	}
	if err := path.AppendIndex(index); err != nil {
		return "", err
	}
	if push != "" {
		reference, err := name.ParseReference(push)
		if err != nil {
			return "", err
		}
		if err := remote.WriteIndex(reference, index, credentials(os.Getenv)); err != nil {
			return "", fmt.Errorf("push %s: %w", push, err)
		}
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// credentials are those to push with.
func credentials(env func(string) string) remote.Option {
	if user, password := env("REGISTRY_USER"), env("REGISTRY_PASSWORD"); user != "" && password != "" {
		return remote.WithAuth(&authn.Basic{Username: user, Password: password})
	}
	return remote.WithAuthFromKeychain(authn.DefaultKeychain)
}

// indexOf is the image of all architectures.
func indexOf(programs []string) (v1.ImageIndex, error) {
	slices.Sort(programs)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, program := range programs {
		arch, file, ok := strings.Cut(program, "=")
		if !ok {
			return nil, fmt.Errorf("%q: give ARCHITECTURE=FILE", program)
		}
		image, err := imageOf(arch, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, nil
}

// imageOf is the image of one architecture: the program as /watcher, run by a user without a name.
func imageOf(arch, file string) (v1.Image, error) {
	packed, err := pack(file)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config.Entrypoint, config.Config.User, config.Config.WorkingDir = []string{"/watcher"}, "65532:65532", "/"
	config.Config.Labels = map[string]string{"org.opencontainers.image.title": "joiner-watcher", "org.opencontainers.image.licenses": "Apache-2.0"}
	return mutate.ConfigFile(image, config)
}

// pack is the layer: one file, without the time it was made.
func pack(file string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.WriteHeader(&tar.Header{Name: "watcher", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
