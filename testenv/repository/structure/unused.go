package structure

import (
	"go/ast"
	"go/types"
)

// Unused returns the names at the top level of packages that ship which nothing that ships uses, "place: name" by
// folder. What a declaration names in itself does not count. Methods and fields are not looked at.
func (t *Tree) Unused() map[string][]string {
	packages := t.Under(Shipped...)
	used := map[types.Object]bool{}
	for _, p := range packages {
		for _, file := range p.Files {
			for _, decl := range file.syntax.Decls {
				p.uses(decl, used)
			}
		}
	}
	out := map[string][]string{}
	for _, p := range packages {
		if p.checked == nil {
			continue
		}
		scope := p.checked.Scope()
		for _, name := range scope.Names() {
			object := scope.Lookup(name)
			if !used[object] && !(p.checked.Name() == "main" && name == "main") {
				out[p.Folder] = append(out[p.Folder], t.place(p, object.Pos())+": "+name)
			}
		}
	}
	return out
}

// uses notes what a declaration names, but itself: neither a function itself, nor a method its receiver's type.
func (p *Package) uses(decl ast.Decl, used map[types.Object]bool) {
	note := func(node ast.Node, itself types.Object) {
		ast.Inspect(node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if object := p.info.Uses[id]; object != nil && object != itself {
					used[origin(object)] = true
				}
			}
			return true
		})
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		itself := p.info.Defs[d.Name]
		if of := receiver(d); of != "" && p.checked != nil {
			itself = p.checked.Scope().Lookup(of)
		}
		note(d.Type, itself)
		if d.Body != nil {
			note(d.Body, itself)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				note(s.Type, p.info.Defs[s.Name])
			case *ast.ValueSpec:
				note(s, nil)
			}
		}
	}
}

func origin(object types.Object) types.Object {
	switch o := object.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return object
}
