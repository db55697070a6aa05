package lambdaruntime

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles the main package to folder/bootstrap for this machine, with the build tag Lambda's custom runtimes use,
// and returns the executable's path. dir is a folder inside the module that holds the package.
func Build(ctx context.Context, dir, mainPackage, folder string) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", mainPackage, err)
	}
	path, err := filepath.Abs(filepath.Join(folder, "bootstrap"))
	if err != nil {
		return "", fmt.Errorf("build %s: %w", mainPackage, err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-o", path, mainPackage)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", mainPackage, err, output)
	}
	return path, nil
}
