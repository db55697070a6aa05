package structure

import (
	"go/ast"
	"go/token"
)

// cyclomatic is one more than the number of branches of a body: if, for, case, && and ||.
func cyclomatic(body *ast.BlockStmt) int {
	n := 1
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// cognitive is the cognitive complexity of a function as SonarSource defines it: each break of the straight line counts
// one, and one more for each level that it is nested in.
func cognitive(f *ast.FuncDecl) int {
	c := &cognition{name: f.Name.Name, method: f.Recv != nil}
	c.walk(f.Body, 0)
	return c.n
}

type cognition struct {
	name   string
	method bool
	n      int
}

func (c *cognition) walk(node ast.Node, depth int) {
	if node == nil {
		return
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			c.n += 1 + depth
			c.branch(n, depth)
			return false
		case *ast.ForStmt:
			c.n += 1 + depth
			c.walkAll(depth, n.Init, n.Cond, n.Post)
			c.walk(n.Body, depth+1)
			return false
		case *ast.RangeStmt:
			c.n += 1 + depth
			c.walk(n.X, depth)
			c.walk(n.Body, depth+1)
			return false
		case *ast.SwitchStmt:
			c.n += 1 + depth
			c.walkAll(depth, n.Init, n.Tag)
			c.walk(n.Body, depth+1)
			return false
		case *ast.TypeSwitchStmt:
			c.n += 1 + depth
			c.walk(n.Body, depth+1)
			return false
		case *ast.SelectStmt:
			c.n += 1 + depth
			c.walk(n.Body, depth+1)
			return false
		case *ast.FuncLit:
			c.walk(n.Body, depth+1)
			return false
		case *ast.BranchStmt:
			if n.Label != nil {
				c.n++
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == c.name && !c.method {
				c.n++ // it calls itself
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				c.logic(n, depth)
				return false
			}
		}
		return true
	})
}

func (c *cognition) walkAll(depth int, nodes ...ast.Node) {
	for _, n := range nodes {
		c.walk(n, depth)
	}
}

// branch walks an if that was counted, and what follows its else.
func (c *cognition) branch(n *ast.IfStmt, depth int) {
	c.walkAll(depth, n.Init, n.Cond)
	c.walk(n.Body, depth+1)
	switch other := n.Else.(type) {
	case *ast.IfStmt:
		c.n++
		c.branch(other, depth)
	case *ast.BlockStmt:
		c.n++
		c.walk(other, depth+1)
	}
}

// logic counts each run of equal operators of a condition once.
func (c *cognition) logic(n *ast.BinaryExpr, depth int) {
	last := token.ILLEGAL
	var flat func(ast.Expr)
	flat = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.ParenExpr:
			flat(e.X)
			return
		case *ast.BinaryExpr:
			if e.Op == token.LAND || e.Op == token.LOR {
				flat(e.X)
				if e.Op != last {
					c.n++
					last = e.Op
				}
				flat(e.Y)
				return
			}
		}
		c.walk(e, depth)
	}
	flat(n)
}
