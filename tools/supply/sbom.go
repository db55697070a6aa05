package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom writes one bill of materials of all the binaries: each of them with its SHA-256, and each module that was linked into any, with the hash
// go.sum knows it by. An argument -npm PROGRAM=LOCK before them says that the program of that import path has the packages of a package-lock.json
// built in. Equal binaries make equal bills: it names no time and draws no serial number.
func sbom(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	npm := flags.String("npm", "", "PROGRAM=LOCK: the program has the packages of a package-lock.json built in")
	if err := flags.Parse(args); err != nil {
		return err
	}
	binaries := flags.Args()
	with, lock, _ := strings.Cut(*npm, "=")
	var built []page
	if *npm != "" {
		var err error
		if built, err = pages(lock); err != nil {
			return err
		}
	}
	programs, modules := []cyclonedx.Component{}, map[string]cyclonedx.Component{}
	var needs []cyclonedx.Dependency
	found := false
	for _, path := range binaries {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w; build it first, by `make build`", path, err)
		}
		ref := filepath.ToSlash(path)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		programs = append(programs, cyclonedx.Component{
			BOMRef: ref, Type: cyclonedx.ComponentTypeApplication, Name: info.Path, Version: info.Main.Version,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(content))}},
		})
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
		if *npm != "" && info.Path == with {
			found = true
			for _, p := range built {
				c, err := ofNPM(p)
				if err != nil {
					return err
				}
				modules[c.BOMRef], of = c, append(of, c.BOMRef)
			}
		}
		needs = append(needs, cyclonedx.Dependency{Ref: ref, Dependencies: &of})
	}
	if *npm != "" && !found {
		return fmt.Errorf("-npm %s: none of the binaries is program %s", *npm, with)
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

// ofNPM is a package of npm as a component, with its hash as bills have it: npm's is the same in base64.
func ofNPM(p page) (cyclonedx.Component, error) {
	sum, known := strings.CutPrefix(p.Integrity, "sha512-")
	raw, err := base64.StdEncoding.DecodeString(sum)
	if !known || err != nil {
		return cyclonedx.Component{}, fmt.Errorf("package %s: integrity %q is no SHA-512 in base64", p.Name, p.Integrity)
	}
	c := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, PackageURL: "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: p.License}}},
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA512, Value: fmt.Sprintf("%x", raw)}},
	}
	c.BOMRef = c.PackageURL
	return c, nil
}
