package speccases

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Cases are questions that specs which pass put to Joiner, and what of the answers they accepted.
type Cases struct {
	Karpenter string                     `json:"karpenter"` // its version
	Catalogs  map[string]json.RawMessage `json:"catalogs"`  // by digest; as --catalog of joiner plan takes them
	Cases     []Case                     `json:"cases"`
}

// Case is one question.
type Case struct {
	Suite   string            `json:"suite"`
	Spec    string            `json:"spec"`
	Call    int               `json:"call"`
	Args    []string          `json:"args"` // of joiner, but for --filename and --catalog
	Objects []json.RawMessage `json:"objects"`
	Catalog string            `json:"catalog"` // its digest
	Want    json.RawMessage   `json:"want"`    // see unit.Essence
}

// Read reads a file of cases: JSON in gzip.
func Read(path string) (*Cases, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out Cases
	if err := json.NewDecoder(reader).Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &out, nil
}

// List returns the case's objects as one object of kind List, in JSON.
func (c *Case) List() ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": c.Objects})
}

// Provision reports whether the question is which nodes to ask for; otherwise it is which to give back.
func (c *Case) Provision() bool { return slices.Contains(c.Args, "provision") }

// Option returns the value of a flag such as --now; "" where the question does without.
func (c *Case) Option(flag string) string {
	if at := slices.Index(c.Args, flag); at >= 0 && at+1 < len(c.Args) {
		return c.Args[at+1]
	}
	return ""
}
