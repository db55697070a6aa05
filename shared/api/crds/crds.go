package crds

import (
	"embed"
	"fmt"
)

//go:generate go -C ../../../tools run ./apigen

//go:embed *.yaml
var files embed.FS

// Names of the definitions, as metadata.name has them.
const (
	NodePools      = "nodepools.karpenter.sh"
	NodeClaims     = "nodeclaims.karpenter.sh"
	EC2NodeClasses = "ec2nodeclasses.karpenter.k8s.aws"
)

// Manifests returns every definition that is installed in a cluster as one YAML document each, sorted by file name. The bytes are the caller's own.
func Manifests() [][]byte {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("crds: embedded files cannot be listed: %v", err))
	}
	manifests := make([][]byte, 0, len(entries))
	for _, entry := range entries {
		manifests = append(manifests, manifest(entry.Name()))
	}
	return manifests
}

func manifest(name string) []byte {
	manifest, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("crds: embedded file %s cannot be read: %v", name, err))
	}
	return manifest
}
