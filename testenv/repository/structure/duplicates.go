package structure

import (
	"go/scanner"
	"go/token"
	"hash/maphash"
)

// blockTokens is how many tokens in a row make a block: some fifteen lines.
const blockTokens = 100

// Duplicates counts the blocks of the packages that stand again, and the lines of these. Layout, comments, names and
// values make no difference.
func Duplicates(packages []*Package) (blocks, lines int) {
	seed, first := maphash.MakeSeed(), map[uint64]bool{}
	for _, p := range packages {
		for _, file := range p.Files {
			tokens := tokensOf(file.text)
			ended, counted := 0, 0 // the token after the last block, and the last line counted
			for at := 0; at+blockTokens <= len(tokens); at++ {
				hash := hashOf(seed, tokens[at:at+blockTokens])
				if !first[hash] {
					first[hash] = true
					continue
				}
				if at >= ended {
					blocks++
				}
				for _, t := range tokens[max(at, ended) : at+blockTokens] {
					if t.line != counted {
						lines++
						counted = t.line
					}
				}
				ended = at + blockTokens
			}
		}
	}
	return blocks, lines
}

type word struct {
	text string
	line int
}

func tokensOf(text []byte) []word {
	var out []word
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	head := true // package and imports
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return out
		}
		head = head && tok != token.FUNC && tok != token.TYPE && tok != token.VAR && tok != token.CONST
		if head || tok == token.SEMICOLON {
			continue
		}
		switch {
		case tok == token.IDENT || tok.IsLiteral():
			literal = ""
		case literal == "":
			literal = tok.String()
		}
		out = append(out, word{literal, file.Line(pos)})
	}
}

func hashOf(seed maphash.Seed, tokens []word) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, t := range tokens {
		h.WriteString(t.text) //nolint:errcheck // never fails
		h.WriteByte(0)        //nolint:errcheck // never fails
	}
	return h.Sum64()
}
