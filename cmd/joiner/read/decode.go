package read

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/cmd/joiner/workload"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
)

// maxNesting bounds lists inside of lists.
const maxNesting = 4

// lenient reads what an API server reads: the last of repeated names counts, text that is no UTF-8 is mended.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// object is one object of the text.
type object struct {
	at    place
	kind  kind
	typed metav1.Object  // nil where the kind is not one that planning looks at
	makes *workload.Made // the pods of a workload's manifest; nil = it is none
	raw   []byte         // of what the webhook looks at; nil = it does not
	note  string         // what of it is left out, a sentence; "" = nothing
}

// decoder reads values into objects. It is for one goroutine at a time.
type decoder struct {
	objects  []object
	problems []*Problem
}

// value reads one JSON value: an object, or a list of objects, each of kind assumed where it does not say. The place
// counts the items of a list.
func (d *decoder) value(raw []byte, assumed kind, at place, nesting int) {
	if start := bytes.TrimLeft(raw, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		d.problem(at, kind{}, raw, "", fmt.Sprintf("%s: not an object; write one with apiVersion and kind", excerpt(raw)))
		return
	}
	is, err := kindOf(raw)
	if err != nil {
		d.syntax(at, err)
		return
	}
	if is.name == "" && is.apiVersion == "" {
		is = assumed
	}
	switch {
	case is.name == "":
		d.problem(at, is, raw, "kind", "not set; name the kind of the object, such as kind: Pod")
	case is.apiVersion == "":
		d.problem(at, is, raw, "apiVersion", "not set; name the version of the kind, such as apiVersion: v1")
	case is.isList() && d.list(raw, is, at, nesting):
	default:
		d.object(raw, is, at)
	}
}

// list reads the items of a list; false where the object has none, and so is no list.
func (d *decoder) list(raw []byte, is kind, at place, nesting int) bool {
	var list struct {
		Items *[]jsontext.Value `json:"items"`
	}
	if err := json.Unmarshal(raw, &list, lenient); err != nil || list.Items == nil {
		return is.name == "List" && err == nil
	}
	if nesting >= maxNesting {
		d.problem(at, is, raw, "items", fmt.Sprintf("lists are nested more than %d deep; flatten them", maxNesting))
		return true
	}
	for i, item := range *list.Items {
		d.value(item, is.ofItems(), at.item(i+1), nesting+1)
	}
	return true
}

// object reads one object into the type of its kind.
func (d *decoder) object(raw []byte, is kind, at place) {
	known, ok := kinds[is]
	if !ok {
		d.objects = append(d.objects, object{at: at, kind: is})
		return
	}
	into := known.empty()
	if err := json.Unmarshal(raw, into, lenient); err != nil {
		var semantic *json.SemanticError
		if !errors.As(err, &semantic) {
			d.syntax(at, err)
			return
		}
		field, what := complaint(semantic, raw)
		d.problem(at, is, raw, field, what)
		return
	}
	if into.GetName() == "" {
		d.problem(at, is, raw, "metadata.name", "not set; name the object, so that the plan can refer to it")
		return
	}
	if known.namespaced && into.GetNamespace() == "" {
		into.SetNamespace(metav1.NamespaceDefault)
	}
	if known.written && into.GetUID() != "" {
		d.objects = append(d.objects, object{at: at, kind: is})
		return
	}
	makes, mistake := workload.Of(into)
	if mistake != nil {
		d.problem(at, is, raw, mistake.Field, mistake.What)
		return
	}
	if mistakes := unknownFields(raw, is, known, makes != nil); len(mistakes) > 0 {
		for _, m := range mistakes {
			d.problem(at, is, raw, m.field, m.what)
		}
		return
	}
	note := noteOf(raw, is, into, makes)
	o := object{at: at, kind: is, typed: into, makes: makes, note: note}
	if admitted(is, into) {
		o.raw = bytes.Clone(raw)
	}
	d.objects = append(d.objects, o)
}

// admitted reports whether the admission webhook says something of an object: those that controllers make it lets pass.
func admitted(is kind, object metav1.Object) bool {
	switch is.name {
	case apiv1.KindNodePool, awsv1.KindEC2NodeClass:
		return true
	case apiv1.KindNodeClaim:
		return len(object.GetOwnerReferences()) == 0
	}
	return false
}

// noteOf returns what of an object has no effect, "" where everything has.
func noteOf(raw []byte, is kind, into metav1.Object, makes *workload.Made) string {
	var notes []string
	annotations := map[string]string{}
	switch {
	case is.name == "Pod":
		if beyond := beyondTypes(raw); beyond != "" {
			notes = append(notes, beyond)
		}
		annotations = into.GetAnnotations()
	case makes != nil:
		if makes.Note != "" {
			notes = append(notes, makes.Note)
		}
		if len(makes.Pods) > 0 {
			annotations = makes.Pods[0].Annotations
		}
	}
	notes = append(notes, workload.Annotations(annotations)...)
	if len(notes) == 0 {
		return ""
	}
	return is.name + " " + nameOf(raw) + ": " + strings.Join(notes, "; ")
}

// kindOf reads what an object says it is, and stops as soon as it has. kubectl writes both at the beginning.
func kindOf(raw []byte) (kind, error) {
	var is kind
	decoder := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
	if _, err := decoder.ReadToken(); err != nil {
		return is, err
	}
	for decoder.PeekKind() == '"' && (is.name == "" || is.apiVersion == "") {
		name, err := decoder.ReadToken()
		if err != nil {
			return is, err
		}
		var field *string
		switch name.String() {
		case "kind":
			field = &is.name
		case "apiVersion":
			field = &is.apiVersion
		}
		if field == nil || decoder.PeekKind() != '"' {
			if err := decoder.SkipValue(); err != nil {
				return is, err
			}
			continue
		}
		value, err := decoder.ReadToken()
		if err != nil {
			return is, err
		}
		*field = value.String()
	}
	return is, nil
}

// nameOf returns namespace/name as far as the object says them, "" where it does not.
func nameOf(raw []byte) string {
	var named struct {
		Metadata struct{ Namespace, Name jsontext.Value } `json:"metadata"`
	}
	if json.Unmarshal(raw, &named, lenient, json.MatchCaseInsensitiveNames(true)) != nil {
		return ""
	}
	var namespace, name string
	if json.Unmarshal(named.Metadata.Name, &name) != nil || name == "" {
		return ""
	}
	if json.Unmarshal(named.Metadata.Namespace, &namespace) != nil || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (d *decoder) problem(at place, is kind, raw []byte, field, what string) {
	d.problems = append(d.problems, &Problem{At: at, Kind: is.name, Name: nameOf(raw), Field: field, What: what})
}

func (d *decoder) syntax(at place, err error) {
	d.problems = append(d.problems, &Problem{At: at, What: err.Error()})
}
