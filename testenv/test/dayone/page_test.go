package dayone

import (
	"slices"
	"testing"
)

func TestCommandsOfAPage(t *testing.T) {
	p, err := parse("page.md", "# T\n\n## One\n\n```\n# what for\nexport A=1\n\nmake \\\n  b\n```\n\n```json\n{}\n```\n\n## Two\n\n```\n$ ls -l\ntotal 0\n```\n## Three\n")
	if err != nil {
		t.Fatal(err)
	}
	one, err := p.Section("One")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Commands(one), []Command{{"page.md:7", "export A=1"}, {"page.md:9", "make \\\n  b"}}; !slices.Equal(got, want) {
		t.Errorf("commands of One: %q, not %q", got, want)
	}
	two, err := p.Section("Two")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Commands(two), []Command{{"page.md:20", "ls -l"}}; !slices.Equal(got, want) {
		t.Errorf("commands of Two: %q, not %q", got, want)
	}
	for _, name := range []string{"Three", "Four"} {
		if _, err := p.Section(name); err == nil {
			t.Errorf("section %s has something to run", name)
		}
	}
	if _, err := parse("page.md", "```\nls\n"); err == nil {
		t.Error("a block that is not closed is read")
	}
}

func TestATableFillsInWhatAReaderKnows(t *testing.T) {
	table := Usual()
	got := table.Fill(Command{"docs/tasks/upgrade.md:1", "git pull && make deploy"}).Text
	if want := ": git pull && make deploy"; got != want {
		t.Errorf("typed is %q, not %q", got, want)
	}
	digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	if learned := table.learn("go build\n" + digest + "\r\n"); learned["DIGEST"] != digest {
		t.Errorf("learned %v", learned)
	}
}

// Everything a page has to say about the first day is there to be run, and a reader types at most eight commands until pods run on the first node.
func TestA10PagesHaveWhatTheFirstDayTakes(t *testing.T) {
	for page, sections := range map[string][]string{
		"docs/getting-started.md": {"Ten minutes", "A key of your own"}, "docs/tasks/upgrade.md": {"Upgrade the installation"},
		"docs/tasks/remove.md":        {"Remove a cluster", "Remove the region", "Install again"},
		"docs/tasks/many-clusters.md": {"A cluster in another account", "Take it out again"}, "docs/tasks/private-clusters.md": {"Functions in the VPC", "Requests through the watcher"},
		"docs/tasks/migrate-from-karpenter.md": {"Coming from Karpenter"},
	} {
		p, err := Read(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, title := range sections {
			blocks, err := p.Section(title)
			if err != nil {
				t.Error(err)
				continue
			}
			if typed := Commands(blocks); title == "Ten minutes" && len(typed) > mostTyped {
				t.Errorf("%s, section %q: a reader types %d commands, more than %d", page, title, len(typed), mostTyped)
			}
		}
	}
}
