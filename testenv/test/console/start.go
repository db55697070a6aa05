package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// Console is a running one.
type Console struct {
	URL     string
	process *child.Process
}

// Program is the path of the command line that Build compiles. It panics where the project cannot be found.
func Program() string { return filepath.Join(sources.MustRepository(), ".cache", "console", "joiner") }

// Build compiles the command line into the project's cache and returns its path. Where nothing changed it is up to date at once.
func Build(ctx context.Context) (string, error) {
	root, err := sources.Repository()
	if err != nil {
		return "", err
	}
	program := Program()
	command := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/joiner")
	command.Dir = root
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build joiner: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return program, nil
}

// Start builds the command line and runs `joiner console` with further arguments until Stop. Its log is dir/console.log.
func Start(ctx context.Context, dir string, args ...string) (*Console, error) {
	program, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "console.log")
	process, err := child.Start(child.Spec{Name: "joiner console", Path: program, Args: append([]string{"console"}, args...), Env: os.Environ(), LogPath: log})
	if err != nil {
		return nil, err
	}
	c := &Console{process: process}
	for {
		if c.URL = addressIn(log); c.URL != "" {
			return c, nil
		}
		select {
		case <-ctx.Done():
			process.Kill()
			return nil, ctx.Err()
		case <-process.Done():
			return nil, errors.Join(errors.New("joiner console ended before it said where it listens"), process.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// addressIn returns the address a console has written, "" where it has not yet.
func addressIn(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return ""
		}
		if strings.HasPrefix(line, "http://") {
			return strings.TrimSpace(line)
		}
	}
}

// Stop ends it.
func (c *Console) Stop() { c.process.Kill() }
