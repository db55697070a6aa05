package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestLicenseIsRecognizedByItsWordsAndNothingElseIs(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                             "Apache-2.0",
		"Redistribution and use in source and\nbinary forms … endorse or promote products derived": "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                        "BSD-2-Clause",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                                                    "",
		"All rights reserved.":                                                                     "",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "LICENSE.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := licenseOf(folder); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := licenseOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no license file") {
		t.Errorf("of a folder without one: %v", err)
	}
}

// The test's own binary is as good as any: it is linked with the library that writes bills.
func TestBillNamesWhatIsLinkedIn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := sbom([]string{self}, &first); err != nil {
		t.Fatal(err)
	}
	if err := sbom([]string{self}, &second); err != nil || first.String() != second.String() {
		t.Errorf("twice the same binary, two bills: %v", err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&first, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range *bom.Components {
		names[c.Name] = true
	}
	if !names["github.com/CycloneDX/cyclonedx-go"] || !names["stdlib"] {
		t.Errorf("the bill has %v", names)
	}
	if err := sbom([]string{"main.go"}, &first); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("of what is no binary: %v", err)
	}
}

// TestW18TheBillHasHashesOfBinariesAndWhatIsBuiltIntoThePage: the test's own binary stands for the one with the page.
func TestW18TheBillHasHashesOfBinariesAndWhatIsBuiltIntoThePage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	const lock = "../../cmd/joiner/console/ui/package-lock.json"
	var out bytes.Buffer
	if err := sbom([]string{"-npm", info.Path + "=" + lock, self}, &out); err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&out, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program, names := "", map[string]string{}
	for _, c := range *bom.Components {
		if c.Hashes == nil {
			continue
		}
		if h := (*c.Hashes)[0]; c.Type == cyclonedx.ComponentTypeApplication {
			program = h.Value
		} else {
			names[c.PackageURL] = fmt.Sprint(h.Algorithm, len(h.Value))
		}
	}
	if program != fmt.Sprintf("%x", sha256.Sum256(content)) {
		t.Errorf("the binary's hash is %q", program)
	}
	if names["pkg:npm/preact@11.2.0"] != "SHA-512128" || names["pkg:npm/uplot@1.6.32"] != "SHA-512128" || len(names) != 2 {
		t.Errorf("the page has %v", names)
	}
	needs := fmt.Sprint((*(*bom.Dependencies)[0].Dependencies))
	if !strings.Contains(needs, "pkg:npm/preact@11.2.0") {
		t.Errorf("the program needs %v", needs)
	}
	if err := sbom([]string{"-npm", "other=" + lock, self}, &out); err == nil || !strings.Contains(err.Error(), "none of the binaries is program other") {
		t.Errorf("of no such program: %v", err)
	}
	text, err := os.ReadFile("../../LICENSES.csv")
	if err != nil || !strings.Contains(string(text), "npm:preact,MIT\nnpm:uplot,MIT\n") {
		t.Errorf("LICENSES.csv lacks the page's packages: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "lock.json")
	if err := os.WriteFile(bad, []byte(`{"packages":{"node_modules/x":{"version":"1.0.0","license":"GPL-3.0"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pages(bad); err == nil || !strings.Contains(err.Error(), `package x has license "GPL-3.0"`) {
		t.Errorf("of a license that is not compatible: %v", err)
	}
}
