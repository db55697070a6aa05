package shape

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Evaluate returns everything in an exchange that its service's model does not know, by path; of requests also what is longer, shorter or
// written otherwise than the model has it. Answers that are errors are not looked into.
func (m *Model) Evaluate(e wire.Exchange) []string {
	op, ok := m.Operations[e.Action]
	if !ok {
		return []string{"no such operation: " + e.Action}
	}
	j := &evaluate{model: m}
	if m.Metadata.Protocol == "json" {
		j.document("request", op.Input, e.Request)
		if e.Status < 300 {
			j.document("answer", op.Output, e.Response)
		}
		return j.faults
	}
	j.form(op.Input, e.Request)
	if e.Status < 300 {
		j.answer(op.Output, e)
	}
	return j.faults
}

// evaluate collects faults while it walks.
type evaluate struct {
	model  *Model
	faults []string
}

func (j *evaluate) fault(path, format string, args ...any) {
	j.faults = append(j.faults, path+": "+fmt.Sprintf(format, args...))
}

func (j *evaluate) shape(r *ref) *shape { return j.model.Shapes[r.Shape] }

// document evaluates a JSON body.
func (j *evaluate) document(path string, r *ref, body string) {
	if r == nil {
		return
	}
	if body == "" {
		body = "{}"
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		j.fault(path, "is not JSON: %v", err)
		return
	}
	j.value(path, r, value)
}

func (j *evaluate) value(path string, r *ref, value any) {
	s := j.shape(r)
	if value == nil {
		return // absent, as JSON protocols take it
	}
	switch value := value.(type) {
	case []any:
		j.bounds(path, s, len(value), "entries")
	case map[string]any:
		j.bounds(path, s, len(value), "entries")
	}
	switch s.Type {
	case "structure":
		object, ok := value.(map[string]any)
		if !ok {
			j.fault(path, "is %T, not an object", value)
			return
		}
		j.members(path, s, object)
	case "list":
		list, ok := value.([]any)
		if !ok {
			j.fault(path, "is %T, not a list", value)
			return
		}
		for i, item := range list {
			j.value(fmt.Sprintf("%s[%d]", path, i), s.Member, item)
		}
	case "map":
		object, ok := value.(map[string]any)
		if !ok {
			j.fault(path, "is %T, not a map", value)
			return
		}
		for key, item := range object {
			j.value(path+"."+key, s.Value, item)
		}
	default:
		j.jsonScalar(path, s, value)
	}
}

func (j *evaluate) members(path string, s *shape, object map[string]any) {
	known := map[string]ref{}
	for name, member := range s.Members {
		if member.LocationName != "" {
			name = member.LocationName
		}
		known[name] = member
	}
	for key, value := range object {
		member, ok := known[key]
		if !ok {
			j.fault(path+"."+key, "is no member")
			continue
		}
		j.value(path+"."+key, &member, value)
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			j.fault(path+"."+name, "is missing")
		}
	}
}

func (j *evaluate) jsonScalar(path string, s *shape, value any) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	_, isBool := value.(bool)
	switch s.Type {
	case "string", "blob":
		if !isText {
			j.fault(path, "is %T, not a string", value)
			return
		}
		j.scalar(path, s, text)
	case "boolean":
		if !isBool {
			j.fault(path, "is %T, not a boolean", value)
		}
	case "integer", "long":
		if !isNumber {
			j.fault(path, "is %T, not a number", value)
			return
		}
		j.scalar(path, s, number.String())
	default: // timestamp, float, double
		if !isNumber {
			j.fault(path, "is %T, not a number", value)
		}
	}
}

// scalar evaluates a value as text.
func (j *evaluate) scalar(path string, s *shape, text string) {
	var err error
	switch s.Type {
	case "string":
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
			err = fmt.Errorf("%q is none of %s", text, strings.Join(s.Enum, ", "))
		}
	case "boolean":
		if text != "true" && text != "false" {
			err = fmt.Errorf("%q is no boolean", text)
		}
	case "integer", "long":
		_, err = strconv.ParseInt(text, 10, 64)
	case "float", "double":
		_, err = strconv.ParseFloat(text, 64)
	case "timestamp":
		_, err = time.Parse(time.RFC3339Nano, text)
	case "blob":
		_, err = base64.StdEncoding.DecodeString(text)
	default:
		err = fmt.Errorf("%q stands where a %s should", text, s.Type)
	}
	if err != nil {
		j.fault(path, "%v", err)
		return
	}
	j.constraints(path, s, text)
}

// form evaluates the parameters of a Query request.
func (j *evaluate) form(r *ref, body string) {
	values, err := url.ParseQuery(body)
	if err != nil {
		j.fault("request", "is no form: %v", err)
		return
	}
	delete(values, "Action")
	delete(values, "Version")
	if r != nil {
		j.node("request", r, wire.ParseForm(values), false)
	} else if len(values) > 0 {
		j.fault("request", "has parameters, and the operation takes none")
	}
}

func (j *evaluate) node(path string, r *ref, node *wire.Form, flattened bool) {
	s := j.shape(r)
	switch s.Type {
	case "structure":
		j.nodeMembers(path, s, node)
	case "list":
		j.nodeList(path, s, node, flattened || s.Flattened)
	case "map":
		j.fault(path, "maps of forms are not judged")
	default:
		if len(node.Children) > 0 {
			j.fault(path, "has members, and is a %s", s.Type)
			return
		}
		j.scalar(path, s, node.Value)
	}
}

func (j *evaluate) nodeMembers(path string, s *shape, node *wire.Form) {
	known := map[string]string{} // member by the name it goes by
	for name, member := range s.Members {
		known[j.formName(name, member)] = name
	}
	for key, child := range node.Children {
		name, ok := known[key]
		if !ok {
			j.fault(path+"."+key, "is no member")
			continue
		}
		member := s.Members[name]
		j.node(path+"."+key, &member, child, member.Flattened)
	}
	for _, name := range s.Required {
		if node.Children[j.formName(name, s.Members[name])] == nil {
			j.fault(path+"."+name, "is missing")
		}
	}
}

// formName is the name of a member in a form: EC2's begin with a capital.
func (j *evaluate) formName(name string, member ref) string {
	if j.model.Metadata.Protocol == "ec2" {
		if member.QueryName != "" {
			return member.QueryName
		}
		if l := member.LocationName; l != "" {
			return strings.ToUpper(l[:1]) + l[1:]
		}
		return name
	}
	if member.LocationName != "" {
		return member.LocationName
	}
	return name
}

func (j *evaluate) nodeList(path string, s *shape, node *wire.Form, flattened bool) {
	if j.model.Metadata.Protocol == "query" && !flattened {
		name := "member"
		if s.Member.LocationName != "" {
			name = s.Member.LocationName
		}
		inner := node.Children[name]
		if inner == nil {
			if node.Value != "" || len(node.Children) > 0 {
				j.fault(path, "is no list of %s", name)
			}
			return
		}
		node = inner
	}
	j.bounds(path, s, len(node.Children), "entries")
	for number, child := range node.Children {
		if _, err := strconv.Atoi(number); err != nil {
			j.fault(path+"."+number, "is no place in a list")
			continue
		}
		j.node(path+"."+number, s.Member, child, false)
	}
}
