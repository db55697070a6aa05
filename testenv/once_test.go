package testenv

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestH5FlowsShareWhatAllOfThemDo: what an invocation does is in shared/work, and what several flows ask for in
// shared/port. A helper of one of these names in a third flow, or a port in a fifth, belongs there.
func TestH5FlowsShareWhatAllOfThemDo(t *testing.T) {
	helpers, ports := map[string][]string{}, map[string][]string{}
	all := 0
	for file, parsed := range parseShipped(t) {
		flow := path.Dir(file)
		if !strings.HasPrefix(file, "shared/flow/") && flow != "shared/port" {
			continue
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && !slices.Contains(helpers[f.Name.Name], flow) {
				helpers[f.Name.Name] = append(helpers[f.Name.Name], flow)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, is := spec.Type.(*ast.InterfaceType); is {
					all++
					ports[spec.Name.Name] = append(ports[spec.Name.Name], flow)
				}
			}
			return true
		})
	}
	for _, name := range []string{"problem", "withDefaults", "tell", "release", "effect", "reached", "now", "count"} {
		if len(helpers[name]) > 3 {
			t.Errorf("method %s is in %q: what all flows do belongs into shared/work", name, helpers[name])
		}
	}
	for name, flows := range ports {
		if len(flows) > 4 {
			t.Errorf("port %s is in %q: what many flows ask for belongs into shared/port", name, flows)
		}
	}
	if all < 50 || all > 90 {
		t.Errorf("%d ports, want 50 to 90", all)
	}
}

// TestH6OneParserOfDoNotDisrupt: who asks whether a pod may be disturbed asks model.ReadDoNotDisrupt, and reads no
// duration out of the annotation.
func TestH6OneParserOfDoNotDisrupt(t *testing.T) {
	var readers []string
	for file, parsed := range parseShipped(t) {
		parses := selects(parsed, "time", "ParseDuration") && names(parsed, "DoNotDisrupt")
		if parses && strings.HasPrefix(file, "shared/") {
			readers = append(readers, file)
		}
	}
	if want := []string{"shared/model/donotdisrupt.go"}; !slices.Equal(readers, want) {
		t.Errorf("karpenter.sh/do-not-disrupt is read in %q, want %q", readers, want)
	}
}

// TestH13ErrorsOfTheSDKAreReadInOnePlace: adapters ask sdkerr for code, message and status, and say what a code means
// in one function.
func TestH13ErrorsOfTheSDKAreReadInOnePlace(t *testing.T) {
	var readers []string
	for file, parsed := range parseShipped(t) {
		reads := selects(parsed, "smithy", "APIError") || selects(parsed, "awshttp", "ResponseError")
		if reads && strings.HasPrefix(file, "shared/") {
			readers = append(readers, file)
		}
	}
	if want := []string{"shared/adapter/sdkerr/sdkerr.go"}; !slices.Equal(readers, want) {
		t.Errorf("errors of the SDK are read in %q, want %q", readers, want)
	}
}

// TestH14MethodsOfAClaimAreInItsFile: all that a claim says of itself is in claim.go.
func TestH14MethodsOfAClaimAreInItsFile(t *testing.T) {
	found := 0
	for file, parsed := range parseShipped(t) {
		if path.Dir(file) != "shared/model" {
			continue
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && names(f.Recv, "Claim") {
				if found++; file != "shared/model/claim.go" {
					t.Errorf("method %s of Claim is in %s", f.Name.Name, file)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d methods of Claim were found", found)
	}
}

// statesDefault is the end of a comment that states a field's default, as in "how long it is kept: 5 min".
var statesDefault = regexp.MustCompile(`: \d+( (ms|s|min|h))?(;|$)`)

// TestH16SettingsStateTheirDefaultsOnce: a flow's setting has its default in its tag, which work.WithDefaults reads,
// and not in its comment.
func TestH16SettingsStateTheirDefaultsOnce(t *testing.T) {
	tagged := 0
	for file, parsed := range parseShipped(t) {
		if !strings.HasPrefix(file, "shared/flow/") {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Settings" {
				return true
			}
			of, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range of.Fields.List {
				if field.Tag != nil {
					tagged++
				}
				if comment := strings.TrimSpace(field.Comment.Text()); statesDefault.MatchString(comment) {
					t.Errorf("%s: the default of a setting is in its comment: %s", file, comment)
				}
			}
			return true
		})
	}
	found := statesDefault.MatchString("how long it is kept: 5 min") &&
		statesDefault.MatchString("claims: 25; above, more")
	if tagged < 40 || !found {
		t.Errorf("%d settings have tags: they are not read", tagged)
	}
}

// TestH22PackagesOfTheCommandLineAreSmall: a command is read in a package of at most ten files. The probes of joiner
// proof, one file for each service, are left out.
func TestH22PackagesOfTheCommandLineAreSmall(t *testing.T) {
	files := map[string]int{}
	for file := range parseShipped(t) {
		if strings.HasPrefix(file, "cmd/joiner/") && !strings.HasPrefix(file, "cmd/joiner/proof/") {
			files[path.Dir(file)]++
		}
	}
	for folder, n := range files {
		if n > 10 {
			t.Errorf("%s has %d files, and ten are enough", folder, n)
		}
	}
	if len(files) < 15 {
		t.Errorf("only %d packages of the command line were found", len(files))
	}
}

// selects reports whether code has a package's name, as in time.ParseDuration.
func selects(code ast.Node, pack, name string) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			of, is := s.X.(*ast.Ident)
			found = found || is && of.Name == pack
		}
		return !found
	})
	return found
}

// names reports whether code has an identifier.
func names(code ast.Node, name string) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
