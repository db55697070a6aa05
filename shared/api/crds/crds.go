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

// Manifests returns every definition as one YAML document each, sorted by file name. The bytes are the caller's own.
func Manifests() [][]byte {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("crds: embedded files cannot be listed: %v", err))
	}
	manifests := make([][]byte, 0, len(entries))
	for _, entry := range entries {
		manifest, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(fmt.Sprintf("crds: embedded file %s cannot be read: %v", entry.Name(), err))
		}
		manifests = append(manifests, manifest)
	}
	return manifests
}
