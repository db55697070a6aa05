package unit

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/mod/sumdb/dirhash"
)

// The modules whose specs are run: Karpenter, and its provider for AWS.
const (
	karpenter = "sigs.k8s.io/karpenter"
	provider  = "github.com/aws/karpenter-provider-aws"
)

// module is a Go module as `go mod download -json` tells of it.
type module struct {
	Version string
	Dir     string
	Sum     string // of its files, as go.sum has it
}

// tree is a copy of a module, of the version that home's go.mod names, below cache: Go's -overlay replaces no file of
// its module cache. All of its files are as go.sum says, or the error is that they are not.
func tree(ctx context.Context, home, cache, name string) (string, module, error) {
	var m module
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", name)
	download.Dir = home
	out, err := download.Output()
	if err != nil {
		return "", m, fmt.Errorf("go mod download %s: %w", name, err)
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return "", m, fmt.Errorf("go mod download -json %s: %w", name, err)
	}
	copied := filepath.Join(cache, filepath.Base(name)+"-"+m.Version)
	sum := func() (string, error) {
		return dirhash.HashDir(copied, name+"@"+m.Version, dirhash.Hash1)
	}
	if have, err := sum(); err == nil && have == m.Sum {
		return copied, m, nil
	}
	if err := os.RemoveAll(copied); err != nil {
		return "", m, err
	}
	if err := copyTree(m.Dir, copied); err != nil {
		return "", m, err
	}
	switch have, err := sum(); {
	case err != nil:
		return "", m, err
	case have != m.Sum:
		return "", m, fmt.Errorf("the copy of %s %s is %s, and go.sum says %s", name, m.Version, have, m.Sum)
	}
	return copied, m, nil
}

// copyTree copies a folder. What is copied may be written, other than what Go keeps in its module cache.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}
