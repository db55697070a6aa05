package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestLicenceIsRecognisedByItsWordsAndNothingElseIs(t *testing.T) {
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
		if got, err := licenceOf(folder); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := licenceOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no licence file") {
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
