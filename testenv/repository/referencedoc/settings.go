package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

const aboutSettings = `# Settings

Generated from code by ` + "`make generated`" + `.

Options of the CDK app configure the stacks, and the stacks set the environment of the functions. The chart's values configure the watcher:
[infra/chart](../../infra/chart/README.md) lists them.

## Options of the CDK app

Give an option as ` + "`-c KEY=VALUE`" + `, through ` + "`make deploy CDKFLAGS=\"-c KEY=VALUE\"`" + `, or under ` + "`context`" + ` in
` + "`infra/cdk/cdk.json`" + `. A key that does not exist fails. Lists have commas between their items.

| Key | Default | Meaning |
|---|---|---|
`

const aboutClusters = `
### Options of a cluster

They apply to all clusters. An object of ` + "`clusters`" + ` overrides them for its cluster.

| Key | Default | Meaning |
|---|---|---|
`

const aboutVariables = `
## Environment variables

The stacks and the chart set them. "Settable" ones may be given in the option ` + "`settings`" + `, such as
` + "`-c settings='{\"JOINER_LOG_LEVEL\":\"debug\"}'`" + `. Programs also read the variables of the AWS SDK: ` + "`AWS_REGION`" + `, ` + "`AWS_PROFILE`" + `, ` + "`AWS_ENDPOINT_URL`" + ` and
others. A duration is a number with a unit, such as ` + "`90s`" + ` or ` + "`15m`" + `.

| Variable | Read by | Default | Settable | Meaning |
|---|---|---|---|---|
`

// settings writes settings.md.
func settings(out io.Writer, root string) error {
	words, err := open("settings.csv")
	if err != nil {
		return err
	}
	options, err := optionsOf(filepath.Join(root, "infra/cdk/options.go"))
	if err != nil {
		return err
	}
	fmt.Fprint(out, aboutSettings)
	for _, o := range options {
		if !o.cluster {
			page.Row(out, page.Code(o.key), page.Code(o.otherwise), words.of("option/"+o.key))
		}
	}
	fmt.Fprint(out, aboutClusters)
	for _, o := range options {
		if o.cluster {
			page.Row(out, page.Code(o.key), page.Code(o.otherwise), words.of("cluster/"+o.key))
		}
	}
	variables, err := variablesOf(root)
	if err != nil {
		return err
	}
	settable, err := settableOf(filepath.Join(root, "infra/cdk/functions.go"))
	if err != nil {
		return err
	}
	fmt.Fprint(out, aboutVariables)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		v, may := variables[name], ""
		if slices.Contains(settable, name) {
			may = "yes"
		}
		otherwise := page.Code(v.otherwise)
		if v.required {
			otherwise = "required"
		}
		page.Row(out, page.Code(name), strings.Join(slices.Sorted(maps.Keys(v.programs)), ", "), otherwise, may, words.of("variable/"+name))
	}
	for _, name := range settable {
		if variables[name] == nil {
			return fmt.Errorf("infra/cdk lets people set %s, and no program reads it", name)
		}
	}
	return words.check()
}

// option is a key of the CDK app's context.
type option struct {
	key, otherwise string
	cluster        bool // of one cluster
}

// optionsOf finds the calls by which options.go reads its context: the reader's text, flag, number, list, object and value with a literal key.
func optionsOf(file string) ([]option, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []option
	for _, declaration := range parsed.Decls {
		function, is := declaration.(*ast.FuncDecl)
		if !is {
			continue
		}
		ast.Inspect(function, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !slices.Contains([]string{"text", "flag", "number", "list", "object", "value"}, method.Sel.Name) {
				return true
			}
			if reader, is := method.X.(*ast.Ident); !is || reader.Name != "r" {
				return true
			}
			key, found := literal(call.Args[0])
			if !found || slices.ContainsFunc(out, func(o option) bool { return o.key == key }) {
				return true
			}
			o := option{key: key, cluster: function.Name.Name == "clusters" && key != "cluster" && key != "clusters"}
			if len(call.Args) == 2 {
				switch value := call.Args[1].(type) {
				case *ast.BasicLit:
					o.otherwise = strings.Trim(value.Value, `"`)
				case *ast.Ident:
					o.otherwise = value.Name
				}
			}
			if o.otherwise == "0" {
				o.otherwise = ""
			}
			out = append(out, o)
			return true
		})
	}
	slices.SortFunc(out, func(a, b option) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

func literal(expression ast.Expr) (string, bool) {
	value, is := expression.(*ast.BasicLit)
	if !is || value.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(value.Value)
	return text, err == nil
}

// variable is an environment variable that a program reads.
type variable struct {
	otherwise string
	required  bool
	programs  map[string]bool
}

var ofJoiner = regexp.MustCompile(`^JOINER_[A-Z_]+$`)

// variablesOf finds the variables of all programs: fields with a tag env, those of structs of shared/boot that a program embeds, and what is asked
// for by name.
func variablesOf(root string) (map[string]*variable, error) {
	out := map[string]*variable{}
	add := func(program string, v variable, name string) {
		if out[name] == nil {
			v.programs = map[string]bool{}
			out[name] = &v
		}
		out[name].programs[program] = true
		out[name].required = out[name].required && v.required
	}
	type field struct {
		name string
		variable
	}
	shared := map[string][]field{} // fields of structs of shared/boot, by the struct's name
	read := func(folder string, each func(name string, node *ast.StructType), call func(name string)) error {
		return inspect(root, folder, func(_ string, node ast.Node) {
			switch node := node.(type) {
			case *ast.TypeSpec:
				if is, ok := node.Type.(*ast.StructType); ok {
					each(node.Name.Name, is)
				}
			case *ast.CallExpr:
				if method, ok := node.Fun.(*ast.SelectorExpr); ok && len(node.Args) == 1 && (method.Sel.Name == "Getenv" || method.Sel.Name == "LookupEnv") {
					if name, found := literal(node.Args[0]); found && ofJoiner.MatchString(name) {
						call(name)
					}
				}
			}
		})
	}
	fields := func(of *ast.StructType) (all []field, embedded []string) {
		for _, f := range of.Fields.List {
			if selector, ok := f.Type.(*ast.SelectorExpr); ok && len(f.Names) == 0 {
				if from, ok := selector.X.(*ast.Ident); ok && from.Name == "boot" {
					embedded = append(embedded, selector.Sel.Name)
				}
			}
			if f.Tag == nil {
				continue
			}
			tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
			if env, found := tag.Lookup("env"); found {
				name, rest, _ := strings.Cut(env, ",")
				all = append(all, field{name, variable{otherwise: tag.Get("envDefault"), required: strings.Contains(rest, "required")}})
			}
		}
		return all, embedded
	}
	var everywhere []string // asked for by name in shared/boot: by every program
	err := read("shared/boot", func(name string, node *ast.StructType) { shared[name], _ = fields(node) }, func(name string) { everywhere = append(everywhere, name) })
	if err != nil {
		return nil, err
	}
	programs, err := filepath.Glob(filepath.Join(root, "functions/*"))
	if err != nil {
		return nil, err
	}
	for _, folder := range append(programs, filepath.Join(root, "cmd/watcher"), filepath.Join(root, "cmd/joiner")) {
		short, err := filepath.Rel(root, folder)
		if err != nil {
			return nil, err
		}
		program := filepath.Base(short)
		err = read(short, func(_ string, node *ast.StructType) {
			own, embedded := fields(node)
			for _, name := range embedded {
				own = append(own, shared[name]...)
			}
			for _, f := range own {
				add(program, f.variable, f.name)
			}
		}, func(name string) { add(program, variable{}, name) })
		if err != nil {
			return nil, err
		}
		if program != "joiner" {
			for _, name := range everywhere {
				add(program, variable{}, name)
			}
		}
	}
	return out, nil
}

// settableOf finds the variables that infra/cdk lets people set: the lists of names in the declaration of ofMachines and its like.
func settableOf(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, declaration := range parsed.Decls {
		variables, is := declaration.(*ast.GenDecl)
		if !is || variables.Tok != token.VAR {
			continue
		}
		ast.Inspect(variables, func(node ast.Node) bool {
			if expression, is := node.(ast.Expr); is {
				if name, found := literal(expression); found && ofJoiner.MatchString(name) {
					out = append(out, name)
				}
			}
			return true
		})
	}
	slices.Sort(out)
	if len(out) < 5 {
		return nil, fmt.Errorf("%s: only %v were found", file, out)
	}
	return slices.Compact(out), nil
}
