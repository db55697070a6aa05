package dayone

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// Page is a document of the project.
type Page struct {
	Name     string // "docs/getting-started.md"
	sections []section
}

type section struct {
	title  string
	blocks []Block
}

// Block is what stands between two fences.
type Block struct {
	Page     string
	Line     int    // of its first command
	Language string // "" where none is named
	Text     string
}

// Root is the folder of the project. It panics where that cannot be found.
func Root() string { return sources.MustRepository() }

// Read reads a page by its path in the project.
func Read(name string) (*Page, error) {
	text, err := os.ReadFile(filepath.Join(Root(), name))
	if err != nil {
		return nil, err
	}
	return parse(name, string(text))
}

// parse splits a page into sections, which begin with a heading of the second level or below.
func parse(name, text string) (*Page, error) {
	p := &Page{Name: name, sections: []section{{}}}
	var block *Block
	for i, line := range strings.Split(text, "\n") {
		at := &p.sections[len(p.sections)-1]
		fence, language := strings.CutPrefix(line, "```")
		switch {
		case language && block == nil:
			block = &Block{Page: name, Line: i + 2, Language: fence}
		case language:
			at.blocks = append(at.blocks, *block)
			block = nil
		case block != nil:
			block.Text += line + "\n"
		case strings.HasPrefix(line, "##"):
			p.sections = append(p.sections, section{title: strings.TrimSpace(strings.TrimLeft(line, "#"))})
		}
	}
	if block != nil {
		return nil, fmt.Errorf("%s, line %d: the block is not closed", name, block.Line-1)
	}
	return p, nil
}

// Section returns the blocks with commands of a section; an error where there is no such section, or nothing in it to run.
func (p *Page) Section(title string) ([]Block, error) {
	i := slices.IndexFunc(p.sections, func(s section) bool { return s.title == title })
	if i < 0 {
		return nil, fmt.Errorf("%s has no section %q", p.Name, title)
	}
	var out []Block
	for _, b := range p.sections[i].blocks {
		if b.Language == "" || b.Language == "sh" || b.Language == "bash" {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s, section %q: there is nothing to run", p.Name, title)
	}
	return out, nil
}

// Command is one that a reader types: a line with those it goes on with.
type Command struct {
	Where string // "docs/getting-started.md:33"
	Text  string
}

// Commands returns what a reader types of blocks, without comments and what is shown of a command's output. Of a block with lines that begin with "$ "
// these are its commands.
func Commands(blocks []Block) []Command {
	var out []Command
	for _, b := range blocks {
		lines := strings.Split(b.Text, "\n")
		shown := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "$ ") })
		for i := 0; i < len(lines); i++ {
			line := lines[i]
			if shown {
				typed, ok := strings.CutPrefix(line, "$ ")
				if !ok {
					continue
				}
				line = typed
			}
			if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
				continue
			}
			c := Command{Where: fmt.Sprintf("%s:%d", b.Page, b.Line+i)}
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line += "\n" + lines[i]
			}
			c.Text = line
			out = append(out, c)
		}
	}
	return out
}
