package crds_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestU76ManifestsOfThePagesAreAdmitted: every object of ours in a block of YAML of the pages is one that the API server stores.
func TestU76ManifestsOfThePagesAreAdmitted(t *testing.T) {
	kinds := newServer(t)
	kinds["CapacityBuffer"] = bufferKind(t)
	found := map[string]int{}
	err := filepath.WalkDir("../../../docs", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		text, err := os.ReadFile(file)
		for i, part := range strings.Split(string(text), "\n```yaml\n") {
			block, _, closed := strings.Cut(part, "\n```")
			if i == 0 || !closed {
				continue
			}
			for _, obj := range read(t, block) {
				name, _ := obj["kind"].(string)
				of := kinds[name]
				if of == nil {
					continue
				}
				found[name]++
				if _, errs := of.admit(t, obj, nil); len(errs) > 0 {
					t.Errorf("%s: refused: %v\n%s", file, errs, block)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found["NodePool"] < 4 || found["EC2NodeClass"] < 2 || found["CapacityBuffer"] < 1 || found["NodeOverlay"] < 2 {
		t.Errorf("found only %v", found)
	}
}
