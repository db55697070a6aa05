package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom writes one bill of materials of all the binaries: each of them, and each module that was linked into any, with the hash
// go.sum knows it by. Equal binaries make equal bills: it names no time and draws no serial number.
func sbom(binaries []string, out io.Writer) error {
	programs, modules := []cyclonedx.Component{}, map[string]cyclonedx.Component{}
	var needs []cyclonedx.Dependency
	for _, path := range binaries {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w; build it first, by `make build`", path, err)
		}
		ref := filepath.ToSlash(path)
		programs = append(programs, cyclonedx.Component{BOMRef: ref, Type: cyclonedx.ComponentTypeApplication, Name: info.Path, Version: info.Main.Version})
		of := []string{}
		add := func(name, version, sum string) {
			c := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: "pkg:golang/" + name + "@" + version}
			c.BOMRef = c.PackageURL
			if sum != "" {
				c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
			}
			modules[c.BOMRef], of = c, append(of, c.BOMRef)
		}
		add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version, m.Sum)
		}
		needs = append(needs, cyclonedx.Dependency{Ref: ref, Dependencies: &of})
	}
	components := programs
	for _, c := range modules {
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b cyclonedx.Component) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.BOMRef, b.BOMRef))
	})
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{BOMRef: "joiner", Type: cyclonedx.ComponentTypeApplication, Name: "joiner"}}
	bom.Components, bom.Dependencies = &components, &needs
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}
