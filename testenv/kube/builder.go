package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// progressInterval is how often a build that is under way says so.
const progressInterval = 5 * time.Second

// builder compiles one program into the cache.
type builder struct {
	program   program
	moduleDir string
	cacheDir  string
	progress  io.Writer
	ordinal   string // "2 of 6"
}

// ensure returns the path of the built program and builds it where it is
// absent. The file appears complete or not at all.
func (b builder) ensure(ctx context.Context) (string, error) {
	dir, err := b.targetDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, b.program.name)
	if isExecutable(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, ".lock"), func() {
		fmt.Fprintf(b.progress, "kube: another process is building %s; waiting for it\n", b.program.name)
	})
	if err != nil {
		return "", fmt.Errorf("lock cache folder %s: %w", dir, err)
	}
	defer unlock()
	if isExecutable(path) { // built while we waited
		return path, nil
	}
	if err := b.build(ctx, path); err != nil {
		return "", fmt.Errorf("build %s: %w", b.program.name, err)
	}
	return path, nil
}

// targetDir names the folder after the version and after everything else that
// makes the binary what it is, so that a changed pin is a new folder.
func (b builder) targetDir() (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, b.program.build.ldflags, runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(b.moduleDir, name))
		if errors.Is(err, os.ErrNotExist) && name == "go.sum" { // a module without requirements has none
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read the module that pins %s: %w", b.program.name, err)
		}
		fmt.Fprintln(hash, name, len(data))
		hash.Write(data)
	}
	sum := hex.EncodeToString(hash.Sum(nil))[:12]
	return filepath.Join(b.cacheDir, b.program.build.version+"-"+sum), nil
}

func (b builder) build(ctx context.Context, path string) error {
	begun := time.Now()
	fmt.Fprintf(b.progress, "kube: building %s %s (%s), once; it is kept in %s\n",
		b.program.name, b.program.build.version, b.ordinal, filepath.Dir(path))

	partial := path + ".partial"
	defer os.Remove(partial)
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-mod=readonly", "-trimpath",
		"-ldflags", b.program.build.ldflags, "-o", partial, b.program.pkg)
	cmd.Dir = b.moduleDir
	// A caller that cross-compiles, or works in a workspace, means its own
	// build and not this one: these binaries run here.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	output := &buildOutput{}
	cmd.Stdout, cmd.Stderr = output, output

	stop := b.reportEvery(begun, output)
	err := cmd.Run()
	stop()
	if err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", b.moduleDir, err, output.tail())
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "kube: built %s in %s\n", b.program.name, time.Since(begun).Round(time.Second))
	return nil
}

// reportEvery writes how far the build is until the returned function is called.
func (b builder) reportEvery(begun time.Time, output *buildOutput) (stop func()) {
	ticker := time.NewTicker(progressInterval)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				fmt.Fprintf(b.progress, "kube: building %s (%s): %s, %s\n", b.program.name, b.ordinal,
					output.summary(), time.Since(begun).Round(time.Second))
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
		<-ended
	}
}

// packageDir finds this package's source folder, below which the modules lie
// that pin the programs.
func packageDir(ctx context.Context) (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		return checkBuildModule(filepath.Dir(file))
	}
	// The path is not absolute in a binary built with -trimpath.
	const module = "github.com/joiner-sh/joiner"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("find the sources of %s, which pin the Kubernetes binaries (run inside its repository, or set KUBEBUILDER_ASSETS): %w", module, err)
	}
	return checkBuildModule(filepath.Join(strings.TrimSpace(string(out)), "testenv", "kube"))
}

func checkBuildModule(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "build", "go.mod")); err != nil {
		return "", fmt.Errorf("find the module that pins the Kubernetes binaries (run inside the repository, or set KUBEBUILDER_ASSETS): %w", err)
	}
	return dir, nil
}
