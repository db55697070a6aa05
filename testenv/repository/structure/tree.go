package structure

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// Tree is the Go code of a repository.
type Tree struct {
	Packages []*Package // by folder

	set      *token.FileSet
	byImport map[string]*Package
	standard types.Importer
}

// Package is the Go code of a folder.
type Package struct {
	Folder        string // below the root, with slashes
	Files         []*File
	Circle        []string // the files of the largest circle
	Imports       []string // folders of the repository's packages that it imports
	LongLines     []string // places of lines over MaxColumns
	LongTestLines []string // the same in tests

	path    string
	checked *types.Package
	info    *types.Info
}

// File is one file that is neither a test nor generated.
type File struct {
	Name  string
	Lines int

	text    []byte
	syntax  *ast.File
	ignored bool // its build constraint leaves it out on this system
}

// Under returns the packages below some folders, these included.
func (t *Tree) Under(folders ...string) []*Package {
	var out []*Package
	for _, p := range t.Packages {
		for _, folder := range folders {
			if len(p.Files) > 0 && (p.Folder == folder || strings.HasPrefix(p.Folder, folder+"/")) {
				out = append(out, p)
			}
		}
	}
	return out
}
