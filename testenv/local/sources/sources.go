package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variable is the environment variable that names the root of the repository, for programs that run elsewhere.
const variable = "JOINER_SOURCES"

const (
	repositoryModule = "github.com/joiner-sh/joiner"
	localModule      = repositoryModule + "/testenv/local"
)

// started is the working folder when the program began: in a test the folder of its package, whatever it changes to.
var started, errStarted = os.Getwd()

// Repository returns the absolute path of the repository's root: the folder that the environment variable
// JOINER_SOURCES names, else the one that holds the folder in which this program was started. The error says how to
// name it.
func Repository() (string, error) {
	if errStarted != nil {
		return "", fmt.Errorf("find the sources of %s: %w", repositoryModule, errStarted)
	}
	return repository(os.Getenv(variable), started)
}

// MustRepository is Repository for tests, and for programs that have called Repository before. It panics with the
// error.
func MustRepository() string {
	root, err := Repository()
	if err != nil {
		panic(err)
	}
	return root
}

// Local returns the absolute path of the module testenv/local. Where this program was started outside of the
// repository, that is where the go command has the module, as a requirement of the module that it was started in.
func Local(ctx context.Context) (string, error) {
	root, err := Repository()
	if err == nil {
		return filepath.Join(root, "testenv", "local"), nil
	}
	if os.Getenv(variable) != "" {
		return "", err
	}
	return required(ctx, started)
}

// repository returns the folder that is named or, where none is, the nearest one above dir that is the repository's
// root.
func repository(named, dir string) (string, error) {
	if named != "" {
		root, err := filepath.Abs(named)
		if err != nil {
			return "", fmt.Errorf("find the sources of %s in %s=%s: %w", repositoryModule, variable, named, err)
		}
		if !isRoot(root) {
			return "", fmt.Errorf("find the sources of %s: %s=%s has no go.mod of it; name the repository's root",
				repositoryModule, variable, named)
		}
		return root, nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if isRoot(at) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("find the sources of %s: neither %s nor a folder above has a go.mod of that module; "+
				"run inside the repository, or set %s to its root", repositoryModule, dir, variable)
		}
	}
}

// isRoot says that the folder's go.mod is the repository's own, and not one of its other modules'.
func isRoot(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
			return fields[1] == repositoryModule
		}
	}
	return false
}

// required asks the go command in dir for the folder of the module testenv/local.
func required(ctx context.Context, dir string) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", localModule)
	command.Dir = dir
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if path := strings.TrimSpace(string(out)); err == nil && path != "" {
		return path, nil
	}
	if err == nil {
		err = errors.New("the go command has not downloaded it")
	}
	return "", fmt.Errorf("find the sources of %s (run inside its repository, or set %s to its root): %w",
		localModule, variable, err)
}
