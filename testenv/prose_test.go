package testenv

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What holds of the pages: README.md has at most readmeLines lines, a page's sentences have fewer than averageWords words on average, and no sentence has
// more than longestWords. Tables, code blocks, headings, comments and front matter are no sentences; an item of a list is one or more.
const (
	readmeLines  = 200
	averageWords = 18
	longestWords = 35
)

// sentence is one of a page.
type sentence struct {
	line int // of its first word, from 1
	text string
}

func (s sentence) words() int {
	n := 0
	for _, field := range strings.Fields(s.text) {
		if strings.ContainsFunc(field, func(r rune) bool {
			return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 127 && r != '–' && r != '→'
		}) {
			n++
		}
	}
	return n
}

var (
	codeSpan   = regexp.MustCompile("`+[^`]*`+")
	picture    = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	remark     = regexp.MustCompile(`<!--.*?-->`)
	listItem   = regexp.MustCompile(`^\s*([*+-]|\d+\.)\s+`)
	abbreviate = regexp.MustCompile(`\b(e\.g|i\.e|etc|vs|cf|No)\.`)
	endOfOne   = regexp.MustCompile(`[.!?][)"'*_]*(\s|$)`)
)

// sentences returns those of a page's prose, in order.
func sentences(text string) []sentence {
	var out []sentence
	var words []string // of the paragraph so far
	var lines []int    // the line of each of them
	flush := func() {
		start := 0
		for i, word := range words {
			if endOfOne.MatchString(word) && !abbreviate.MatchString(word) || i == len(words)-1 {
				if s := (sentence{lines[start], strings.Join(words[start:i+1], " ")}); s.words() > 0 {
					out = append(out, s)
				}
				start = i + 1
			}
		}
		words, lines = nil, nil
	}
	fence, matter := "", false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if i == 0 && trimmed == "---" {
			matter = true
			continue
		}
		switch {
		case matter:
			matter = trimmed != "---"
			continue
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			flush()
			fence = trimmed[:3]
			continue
		case trimmed == "", strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "<"), len(words) == 0 && strings.HasPrefix(line, "    ") && !listItem.MatchString(line):
			flush()
			continue
		case listItem.MatchString(line):
			flush()
			trimmed = listItem.ReplaceAllString(line, "")
		}
		trimmed = strings.TrimPrefix(trimmed, "> ")
		trimmed = remark.ReplaceAllString(picture.ReplaceAllString(trimmed, ""), "")
		trimmed = linkText.ReplaceAllString(codeSpan.ReplaceAllString(trimmed, "code"), "$1")
		for _, word := range strings.Fields(trimmed) {
			words, lines = append(words, word), append(lines, i+1)
		}
	}
	flush()
	return out
}

// TestSentencesAreTakenOutOfAPage: what counts as a sentence, with its line.
func TestSentencesAreTakenOutOfAPage(t *testing.T) {
	const page = "---\ntitle: no sentence\n---\n# None either\n\nOne is here. Two goes\non `a b. c` here, e.g. so!\n\n| a | table. |\n|---|---|\n\n```\ncode. code.\n```\n* three, [a link. of two](x.md)\n" +
		"  goes on\n* four\n\n1. five (v1.2). Six?\n\n<!-- seven. -->\n![eight](a.png)\n\n    indented code\n"
	want := []sentence{{6, "One is here."}, {6, "Two goes on code here, e.g. so!"}, {15, "three, a link."}, {15, "of two goes on"}, {17, "four"}, {19, "five (v1.2)."}, {19, "Six?"}}
	if got := sentences(page); !slices.Equal(got, want) {
		t.Errorf("sentences are\n%v, not\n%v", got, want)
	}
	if n := (sentence{0, "Two goes on code here, e.g. so – 3!"}).words(); n != 8 {
		t.Errorf("%d words, not 8", n)
	}
}

// TestV3SentencesOfPagesAreShort names each sentence that is too long.
func TestV3SentencesOfPagesAreShort(t *testing.T) {
	all, words := 0, 0
	for _, page := range pages(t, false) {
		text, err := os.ReadFile("../" + page)
		if err != nil {
			t.Fatal(err)
		}
		n, sum := 0, 0
		for _, s := range sentences(string(text)) {
			n, sum = n+1, sum+s.words()
			if s.words() > longestWords {
				t.Errorf("%s:%d: a sentence of %d words: %s", page, s.line, s.words(), s.text)
			}
		}
		t.Logf("%s: %d sentences, %.1f words on average", page, n, float64(sum)/float64(max(n, 1)))
		all, words = all+n, words+sum
		if sum >= averageWords*n && n > 0 {
			t.Errorf("%s:1: its %d sentences have %.1f words on average, not under %d", page, n, float64(sum)/float64(n), averageWords)
		}
	}
	t.Logf("all: %d sentences, %.1f words on average", all, float64(words)/float64(max(all, 1)))
}

// TestV4READMEIsShort: what a visitor reads first.
func TestV4READMEIsShort(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > readmeLines {
		t.Errorf("README.md has %d lines, and at most %d are wanted", lines, readmeLines)
	}
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	scheme     = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
	noLetter   = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	spaces     = regexp.MustCompile(`[\s-]+`)
)

// anchors are the names that a page's headings are linked to by. Where GitHub and Python-Markdown, which makes the site, name a heading differently, there is
// none: it cannot be linked to from both.
func anchors(text string) []string {
	var out []string
	fence := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fence = !fence
		}
		if level := strings.IndexFunc(line, func(r rune) bool { return r != '#' }); fence || level < 1 || level > 6 || line[level] != ' ' {
			continue
		}
		title := linkText.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(strings.TrimLeft(line, "#")), "`", ""), "$1")
		plain := strings.ToLower(noLetter.ReplaceAllString(title, ""))
		github, site := strings.ReplaceAll(plain, " ", "-"), strings.Trim(spaces.ReplaceAllString(plain, "-"), "-")
		if github == site && !slices.Contains(out, github) {
			out = append(out, github)
		}
	}
	return out
}

// brokenLinks returns those of a page that lead to no file, or to no heading of it. read returns the text of a page and whether it is there.
func brokenLinks(page, text string, read func(name string) (string, bool)) []string {
	var out []string
	fence := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fence = !fence
		}
		if fence {
			continue
		}
		for _, match := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "code"), -1) {
			target := match[1]
			if scheme.MatchString(target) {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			name := page
			if file != "" {
				name = path.Join(path.Dir(page), file)
			}
			other, there := read(name)
			switch {
			case !there:
				out = append(out, fmt.Sprintf("%s:%d: %s is not there", page, i+1, target))
			case there && anchor != "" && !slices.Contains(anchors(other), anchor):
				out = append(out, fmt.Sprintf("%s:%d: %s: no heading has this anchor", page, i+1, target))
			}
		}
	}
	return out
}

// TestU75LinksOfPagesLeadSomewhere: files and headings, of every Markdown file.
func TestU75LinksOfPagesLeadSomewhere(t *testing.T) {
	read := func(name string) (string, bool) {
		info, err := os.Stat(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil || info.IsDir() {
			return "", err == nil
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		return string(text), err == nil
	}
	n := 0
	for _, page := range pages(t, true) {
		text, there := read(page)
		if !there {
			t.Fatal(page)
		}
		n += len(linkTarget.FindAllString(text, -1))
		for _, broken := range brokenLinks(page, text, read) {
			t.Error(broken)
		}
	}
	if n < 50 {
		t.Errorf("only %d links were found", n)
	}
}

// TestBrokenLinksAreFound: each kind of them, and none that is right.
func TestBrokenLinksAreFound(t *testing.T) {
	there := map[string]string{"docs/a.md": "# A page\n\n## What it does, and `how`\n\n## This — and that\n```\n# no heading\n```\n", "docs/tasks/b.md": ""}
	text := "[ok](../a.md) [ok](../a.md#what-it-does-and-how) [ok](https://example.com/none) [ok](#here) `[code](none.md)`\n## Here\n[one](none.md)\n[two](../a.md#no-heading) [three](#there) [four](../a.md#this--and-that)\n```\n[code](none.md)\n```\n"
	there["docs/tasks/b.md"] = text
	got := brokenLinks("docs/tasks/b.md", text, func(name string) (string, bool) { text, ok := there[name]; return text, ok })
	want := []string{"docs/tasks/b.md:3: none.md is not there", "docs/tasks/b.md:4: ../a.md#no-heading: no heading has this anchor", "docs/tasks/b.md:4: #there: no heading has this anchor", "docs/tasks/b.md:4: ../a.md#this--and-that: no heading has this anchor"}
	if !slices.Equal(got, want) {
		t.Errorf("broken are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
