package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePageIsBuiltOfWhatIsHere: a change of ui/ without a build of the page, or of the page by hand, fails. That the
// same sources build to the same bytes `make console-check` says, which needs npm.
func TestThePageIsBuiltOfWhatIsHere(t *testing.T) {
	text, err := os.ReadFile("assets/built.json")
	if err != nil {
		t.Fatal(err)
	}
	var built struct{ Sources, Assets map[string]string }
	if err := json.Unmarshal(text, &built); err != nil {
		t.Fatal(err)
	}
	for folder, digests := range map[string]map[string]string{"ui": built.Sources, "assets": built.Assets} {
		for name, want := range digests {
			content, err := os.ReadFile(filepath.Join(folder, name))
			if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s/%s is not what the page was built of; run make console (%v)", folder, name, err)
			}
		}
	}
	sources, err := os.ReadDir("ui/src")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range sources {
		if built.Sources["src/"+entry.Name()] == "" {
			t.Errorf("ui/src/%s came after the page was built; run make console", entry.Name())
		}
	}
	files, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(built.Assets)+1 || len(built.Assets) < 5 {
		t.Errorf("assets has %d files; built.json and %d others were built", len(files), len(built.Assets))
	}
}

// TestThePageIsSmallAndComesFromHere: 300 KB compressed at most, and nothing is loaded from elsewhere.
func TestThePageIsSmallAndComesFromHere(t *testing.T) {
	files, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join("assets", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zip.Write(content); err != nil {
			t.Fatal(err)
		}
		if name := file.Name(); name == "index.html" || name == "app.css" {
			for _, word := range []string{"http://", "https://", "//cdn", "@import"} {
				if strings.Contains(string(content), word) {
					t.Errorf("%s speaks of %s", name, word)
				}
			}
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > 300<<10 {
		t.Errorf("the page has %d KB compressed", packed.Len()>>10)
	}
	licenses, err := os.ReadFile("assets/licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"preact ", "uplot "} {
		if !strings.Contains(string(licenses), "\n"+name) {
			t.Errorf("licenses.txt does not name %s", name)
		}
	}
}
