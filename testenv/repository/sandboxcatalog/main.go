// Command sandboxcatalog writes the machine types of the sandbox catalog, with their prices, in the compact form the
// command line carries with it. Programs may not import testenv, so they get the facts as a file; this makes it, and
// `make generated` fails where it is not up to date.
//
//	go run ./testenv/repository/sandboxcatalog cmd/joiner/catalogfile/sandbox.json.gz
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sandboxcatalog FILE")
		os.Exit(2)
	}
	data, err := sandbox()
	if err == nil {
		err = write(os.Args[1], data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandboxcatalog:", err)
		os.Exit(1)
	}
}

// sandbox returns the catalog as JSON.
func sandbox() ([]byte, error) {
	instances, err := world.New(world.Options{}).Catalog.InstanceTypes(context.Background())
	if err != nil {
		return nil, fmt.Errorf("read the sandbox catalogue: %w", err)
	}
	types := slices.Clone(instances.Types)
	for i := range types {
		types[i].BranchInterfaces = ec2catalog.BranchInterfaces(types[i].Name) // EC2 does not say it, so the model of EC2 cannot
	}
	return json.Marshal(map[string]any{"region": catalog.Region, "machines": types})
}

// write compresses data into a file, unless that holds the same already: compressors differ from release to release in
// what they make of the same text.
func write(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(unpacked(old), data) {
		return nil
	}
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := packer.Write(data); err != nil {
		return err
	}
	if err := packer.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// unpacked returns what a file holds, nil where it cannot be read.
func unpacked(file []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(reader); err != nil {
		return nil
	}
	return out.Bytes()
}
