package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
	"sigs.k8s.io/yaml"
)

const aboutAPI = `# API fields

Generated from the CRDs in ` + "`infra/chart/files/crds`" + ` by ` + "`make generated`" + `.

[Compatibility](../compatibility.md) says how each field is honored, and where it differs from Karpenter. The pages on concepts explain the fields together.
Fields of Kubernetes' own types (Condition, Taint) mean what they mean there.
`

// schema is what a CRD says of one value.
type schema struct {
	Type                 string
	Description          string
	Enum                 []any
	Default              any
	Pattern              string
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int64
	Required             []string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
}

// api writes api.md.
func api(out io.Writer, root string) error {
	words, err := open("api.csv")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "infra/chart/files/crds/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRDs: %w", err)
	}
	fmt.Fprint(out, aboutAPI)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, version := range crd.Spec.Versions {
			kind := crd.Spec.Names.Kind
			fmt.Fprintf(out, "\n## %s\n\n`%s/%s`\n\n| Field | Type | Values | Meaning |\n|---|---|---|---|\n", kind, crd.Spec.Group, version.Name)
			whole := version.Schema.OpenAPIV3Schema
			for _, name := range slices.Sorted(maps.Keys(whole.Properties)) {
				if name != "apiVersion" && name != "kind" && name != "metadata" {
					field(out, words, kind, name, whole.Properties[name], slices.Contains(whole.Required, name))
				}
			}
		}
	}
	return words.check()
}

// field writes the row of a field, and of those in it.
func field(out io.Writer, words *glossary, kind, path string, s schema, required bool) {
	meaning, own := words.has(kind + "/" + path)
	if !own {
		// Fields that several kinds have.
		meaning, own = words.has("*/" + path[strings.LastIndexByte(path, '.')+1:])
	}
	switch {
	case own:
	case strings.Contains(path, "onditions[]"):
		meaning = "Kubernetes' Condition."
	case strings.Contains(path, "aints[]"):
		meaning = "Kubernetes' Taint."
	case s.Description == "":
		meaning = words.of(kind + "/" + path)
	case strings.Contains(path, "amis[].requirements[]"):
		meaning = "Kubernetes' NodeSelectorRequirement."
	default:
		meaning = reported(path, sentence(s.Description))
	}
	page.Row(out, page.Code(path), kindOf(s), values(s, required), meaning)
	inner := func(s *schema, prefix string) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			field(out, words, kind, prefix+"."+name, s.Properties[name], slices.Contains(s.Required, name))
		}
	}
	inner(&s, path)
	if s.Items != nil {
		inner(s.Items, path+"[]")
	}
}

// sentence is the first sentence of a description.
func sentence(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	for i := range text {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i+1]
		}
	}
	return text
}

// reported is the sentence of a comment without the field's name in front: "Alias is an image" is "An image".
func reported(path, sentence string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	first, rest, found := strings.Cut(sentence, " ")
	if !found || !strings.EqualFold(first, name) && !strings.HasSuffix(first, "Status") {
		return sentence
	}
	for _, verb := range []string{"is ", "are ", "says ", "say "} {
		if after, is := strings.CutPrefix(rest, verb); is {
			rest = after
			break
		}
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

func kindOf(s schema) string {
	switch {
	case s.Items != nil:
		return "list of " + kindOf(*s.Items)
	case s.AdditionalProperties != nil:
		return "map of " + kindOf(*s.AdditionalProperties)
	case s.Type == "":
		return "integer or string"
	}
	return s.Type
}

// values are what a field may be, as far as it is not its type.
func values(s schema, required bool) string {
	var out []string
	if required {
		out = append(out, "required")
	}
	for i, value := range s.Enum {
		s.Enum[i] = page.Code(fmt.Sprint(value))
	}
	if len(s.Enum) > 0 {
		out = append(out, strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	if s.Default != nil {
		encoded, err := json.Marshal(s.Default)
		if err != nil {
			panic(err) // it was read from YAML
		}
		out = append(out, "default "+page.Code(strings.Trim(string(encoded), `"`)))
	}
	between := func(what string, least, most any, has, to bool) {
		switch {
		case has && to:
			out = append(out, fmt.Sprintf("%s%v to %v", what, least, most))
		case has:
			out = append(out, fmt.Sprintf("%sat least %v", what, least))
		case to:
			out = append(out, fmt.Sprintf("%sat most %v", what, most))
		}
	}
	if s.Minimum != nil || s.Maximum != nil {
		between("", whole(s.Minimum), whole(s.Maximum), s.Minimum != nil, s.Maximum != nil)
	}
	if s.MinItems != nil || s.MaxItems != nil {
		between("items: ", items(s.MinItems), items(s.MaxItems), s.MinItems != nil, s.MaxItems != nil)
	}
	return strings.Join(out, "; ")
}

func whole(n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%.0f", *n)
}

func items(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
