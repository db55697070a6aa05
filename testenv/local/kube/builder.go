package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// progressInterval is how often a build that is under way says so.
const progressInterval = 5 * time.Second

// builder compiles the programs of one module into the cache, in one command: what they share is compiled once, and one
// links while another compiles.
type builder struct {
	programs  []program // of one buildModule; at least one
	moduleDir string
	cacheDir  string
	progress  io.Writer
	ordinal   string // "1 of 2"
	releases  releases
}

// ensure returns the folder of the programs. It fetches or builds those that
// are absent. Each file appears complete or not at all.
func (b builder) ensure(ctx context.Context) (string, error) {
	dir, err := b.targetDir()
	if err != nil {
		return "", err
	}
	if len(b.absent(dir)) == 0 {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, ".lock"), func() {
		fmt.Fprintf(b.progress, "kube: another process is building %s; waiting for it\n", names(b.programs))
	})
	if err != nil {
		return "", fmt.Errorf("lock cache folder %s: %w", dir, err)
	}
	defer unlock()
	absent := b.absent(dir) // some may have been built while we waited
	if len(absent) == 0 {
		return dir, nil
	}
	absent, err = b.releases.fetch(ctx, absent, dir, b.progress)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", names(b.programs), err)
	}
	if len(absent) == 0 {
		return dir, nil
	}
	if err := b.build(ctx, absent, dir); err != nil {
		return "", fmt.Errorf("build %s: %w", names(absent), err)
	}
	return dir, nil
}

// absent returns the programs that are not in the folder.
func (b builder) absent(dir string) []program {
	var out []program
	for _, p := range b.programs {
		if !isExecutable(filepath.Join(dir, p.name)) {
			out = append(out, p)
		}
	}
	return out
}

func names(programs []program) string {
	var out []string
	for _, p := range programs {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

// outputName is what "go build -o folder/" calls the program of a package: the last element of its path that is no
// version.
func outputName(pkg string) string {
	base := path.Base(pkg)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(pkg))
	}
	return base
}

// targetDir names the folder after the version and after everything else that
// makes the binary what it is, so that a changed pin is a new folder.
func (b builder) targetDir() (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, b.programs[0].build.ldflags, runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(b.moduleDir, name))
		if errors.Is(err, os.ErrNotExist) && name == "go.sum" { // a module without requirements has none
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read the module that pins %s: %w", names(b.programs), err)
		}
		fmt.Fprintln(hash, name, len(data))
		hash.Write(data)
	}
	sum := hex.EncodeToString(hash.Sum(nil))[:12]
	return filepath.Join(b.cacheDir, b.programs[0].build.version+"-"+sum), nil
}

func (b builder) build(ctx context.Context, programs []program, dir string) error {
	begun := time.Now()
	fmt.Fprintf(b.progress, "kube: building %s %s (%s), once; kept in %s\n",
		names(programs), programs[0].build.version, b.ordinal, dir)

	partial, err := os.MkdirTemp(dir, ".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	// Without -trimpath, because the test environment's other builds have none: what all have in common, the standard
	// library before all, is then compiled once.
	args := []string{"build", "-v", "-mod=readonly", "-ldflags", programs[0].build.ldflags, "-o", partial + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, p.pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.moduleDir
	// A caller that cross-compiles, or works in a workspace, means its own
	// build and not this one: these binaries run here.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if os.Getenv("GOGC") == "" {
		cmd.Env = append(cmd.Env, "GOGC=300") // memory for time: the compiler collects less often
	}
	output := &buildOutput{}
	cmd.Stdout, cmd.Stderr = output, output

	stop := b.reportEvery(begun, programs, output)
	err = cmd.Run()
	stop()
	if err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", b.moduleDir, err, output.tail())
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(partial, outputName(p.pkg)), filepath.Join(dir, p.name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.progress, "kube: built %s in %s\n", names(programs), time.Since(begun).Round(time.Second))
	return nil
}

// reportEvery writes how far the build is until the returned function is called.
func (b builder) reportEvery(begun time.Time, programs []program, output *buildOutput) (stop func()) {
	ticker := time.NewTicker(progressInterval)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				fmt.Fprintf(b.progress, "kube: building %s (%s): %s, %s\n", names(programs), b.ordinal,
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
	local, err := sources.Local(ctx)
	if err != nil {
		return "", fmt.Errorf("find the modules that pin the Kubernetes binaries (or set KUBEBUILDER_ASSETS): %w", err)
	}
	return checkBuildModule(filepath.Join(local, "kube"))
}

func checkBuildModule(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "build", "go.mod")); err != nil {
		return "", fmt.Errorf("find the module that pins the Kubernetes binaries (run inside the repository, or set KUBEBUILDER_ASSETS): %w", err)
	}
	return dir, nil
}
