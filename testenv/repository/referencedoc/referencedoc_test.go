package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// TestU66PagesAreUpToDate: each page is what the code makes it. A key, variable, statement or field without a meaning fails, and so does a
// meaning of what is not there.
func TestU66PagesAreUpToDate(t *testing.T) {
	for _, err := range pages.Stale(root) {
		t.Error(err)
	}
}

func committed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// U7: TestU66EveryVariableIsListed looks for names of variables in the source without knowing how they are read: what
// is in any file that ships is in the page.
func TestU66EveryVariableIsListed(t *testing.T) {
	text, found := committed(t, "settings.md"), map[string]bool{}
	for _, folder := range []string{"functions", "cmd/watcher", "shared/boot", "infra/cdk"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "cdk.out") {
				if err == nil {
					err = filepath.SkipDir
				}
				return err
			}
			if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			source, err := os.ReadFile(file)
			for _, name := range regexp.MustCompile(`JOINER_[A-Z][A-Z_]*[A-Z]`).FindAllString(string(source), -1) {
				found[name] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 30 {
		t.Fatalf("only %v were found", found)
	}
	for name := range found {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("docs/reference/settings.md does not list %s", name)
		}
	}
}

// U7: TestU66EveryOptionIsListed holds the page to the comments of options.go, which name each key once more.
func TestU66EveryOptionIsListed(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "infra/cdk/options.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, n := committed(t, "settings.md"), 0
	for _, field := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ .*// (\w+): `).FindAllStringSubmatch(string(source), -1) {
		n++
		if !strings.Contains(text, "| `"+field[1]+"` |") {
			t.Errorf("docs/reference/settings.md does not list %s", field[1])
		}
	}
	if n < 30 {
		t.Errorf("only %d options were found", n)
	}
}

// TestU67EveryActionIsListed: each action that any template allows or denies is in the page, read as text.
func TestU67EveryActionIsListed(t *testing.T) {
	text, n := committed(t, "iam.md"), 0
	files, err := filepath.Glob(filepath.Join(root, "infra/cdk/templates/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		template, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range regexp.MustCompile(`"((?:ec2|iam|sqs|s3|dynamodb|sts|ssm|eks|kms|logs|pricing|events|lambda):[A-Z]\w+)"`).FindAllStringSubmatch(string(template), -1) {
			n++
			known := strings.Contains(text, action[1]) || action[1] == "lambda:InvokeFunction" // permissions of functions, which name their rule
			if !known {
				t.Errorf("docs/reference/iam.md does not list %s of %s", action[1], filepath.Base(file))
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d actions were found", n)
	}
}

// TestMeaningsAreHeldToWhatIsThere tries what the generator refuses.
func TestMeaningsAreHeldToWhatIsThere(t *testing.T) {
	words := &glossary{file: "x.csv", meaning: map[string]string{"a": "A.", "b": "B."}, asked: map[string]bool{}}
	words.of("a")
	words.of("c")
	err := words.check()
	if err == nil || !strings.Contains(err.Error(), "no row for c") || !strings.Contains(err.Error(), "a row for b") || strings.Contains(err.Error(), "for a") {
		t.Errorf("%v", err)
	}
}
