package e2e

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed manifests
var manifests embed.FS

// WriteManifest writes one of manifests into a folder, with the name of the cluster in it, and returns its path.
func WriteManifest(dir, name, cluster string) (string, error) {
	text, err := manifests.ReadFile("manifests/" + name + ".yaml")
	if err != nil {
		return "", fmt.Errorf("there is no manifest %q", name)
	}
	path := filepath.Join(dir, name+".yaml")
	return path, os.WriteFile(path, bytes.ReplaceAll(text, []byte("$CLUSTER_NAME"), []byte(cluster)), 0o644)
}
