package unit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/speccases"
	"github.com/joiner-sh/joiner/testenv/bench/upstream/unit"
)

// least is how many cases there are at least.
const least = 350

// What specs of Karpenter's asked, and accepted of the answers, is what `joiner plan` says today.
func TestJoinerPlansWhatKarpentersSpecsAccept(t *testing.T) {
	cases, err := speccases.Read(filepath.Join("testdata", "cases.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases.Cases) < least {
		t.Errorf("%d cases, want at least %d", len(cases.Cases), least)
	}
	folder := t.TempDir()
	joiner := filepath.Join(folder, "joiner")
	build := exec.Command("go", "build", "-trimpath", "-o", joiner, "./cmd/joiner")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for digest, text := range cases.Catalogs {
		if err := os.WriteFile(filepath.Join(folder, digest+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range cases.Cases {
		c := &cases.Cases[i]
		t.Run(fmt.Sprintf("%s/%d", c.Suite, i), func(t *testing.T) {
			t.Parallel()
			objects, err := c.List()
			if err != nil {
				t.Fatal(err)
			}
			ask := exec.Command(joiner, append(c.Args, "--filename", "-", "--catalog", filepath.Join(folder, c.Catalog+".json"))...)
			ask.Stdin = bytes.NewReader(objects)
			var said bytes.Buffer
			ask.Stderr = &said
			answer, err := ask.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.Spec, err, said.Bytes())
			}
			got, err := unit.Essence(answer)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, c.Want) {
				t.Errorf("%s (call %d): joiner says\n%s\nand the spec accepted\n%s\nIf Karpenter's spec passes with this too, run make upstream-unit WRITE=1", c.Spec, c.Call, got, c.Want)
			}
		})
	}
}
