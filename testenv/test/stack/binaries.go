package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// binaries is the folder of the compiled functions and the watcher.
type binaries string

// function is the path of a function's executable.
func (b binaries) function(name string) string { return filepath.Join(string(b), name, "bootstrap") }

// watcher is the path of the watcher's executable.
func (b binaries) watcher() string { return filepath.Join(string(b), "watcher") }

// builds are binaries under way.
type builds struct {
	done  chan struct{}
	built binaries
	err   error
}

// buildAll compiles functions and watcher while the rest starts, and links them into the stack's folder: another process
// that builds from changed sources meanwhile changes nothing for this one.
func (s *Stack) buildAll(ctx context.Context) *builds {
	b := &builds{done: make(chan struct{}), built: binaries(filepath.Join(s.dir, "bin"))}
	go func() {
		defer close(b.done)
		kept, err := compileOnce(ctx)
		if err == nil {
			err = kept.linkTo(b.built)
		}
		b.err = err
	}()
	return b
}

func (b *builds) wait() (binaries, error) {
	<-b.done
	return b.built, b.err
}

// functions are the main packages in functions.
var functions = []string{"provision", "interruption", "catalog", "disrupt"}

// linkTo makes the folder hold the same executables, as links where that is possible.
func (b binaries) linkTo(to binaries) error {
	pairs := map[string]string{b.watcher(): to.watcher()}
	for _, name := range functions {
		pairs[b.function(name)] = to.function(name)
	}
	for from, path := range pairs {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if os.Link(from, path) == nil {
			continue
		}
		program, err := os.ReadFile(from) // another file system
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, program, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// compiled is what this process has compiled: the sources are taken not to change while it runs.
var compiled struct {
	mutex sync.Mutex
	dir   binaries // "" = not yet
}

// compileOnce compiles functions and watcher unless this process has, into a folder of the project that is kept: where nothing
// has changed since, go build finds them up to date and links nothing anew, which is most of the work.
func compileOnce(ctx context.Context) (binaries, error) {
	compiled.mutex.Lock()
	defer compiled.mutex.Unlock()
	if compiled.dir != "" {
		return compiled.dir, nil
	}
	root, err := sources.Repository()
	if err != nil {
		return "", err
	}
	dir := binaries(filepath.Join(root, ".cache", "stack"))
	for _, name := range functions {
		if _, err := lambdaruntime.Build(ctx, root, "./functions/"+name, filepath.Dir(dir.function(name))); err != nil {
			return "", err
		}
	}
	if err := build(ctx, root, "./cmd/watcher", dir.watcher()); err != nil {
		return "", err
	}
	compiled.dir = dir
	return dir, nil
}

// build compiles a main package.
func build(ctx context.Context, root, pkg, out string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	command.Dir = root
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, strings.TrimSpace(string(text)))
	}
	return nil
}
