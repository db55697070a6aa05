package cloudformation

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// noValue is what a property resolves to that is to be left out.
type noValue struct{}

// Resolve returns a node with every intrinsic function in it resolved: strings, numbers (json.Number), booleans, lists and maps.
// Members that come to AWS::NoValue are left out. The node itself stays as it is.
func (s *Stack) Resolve(node any) (any, error) {
	if name, argument, is := function(node); is {
		return s.call(name, argument)
	}
	switch n := node.(type) {
	case map[string]any:
		return s.resolveMap(n)
	case []any:
		out := make([]any, 0, len(n))
		for i, item := range n {
			v, err := s.Resolve(item)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			if _, left := v.(noValue); !left {
				out = append(out, v)
			}
		}
		return out, nil
	}
	return node, nil
}

func (s *Stack) resolveMap(n map[string]any) (any, error) {
	out := make(map[string]any, len(n))
	for _, key := range slices.Sorted(maps.Keys(n)) {
		v, err := s.Resolve(n[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if _, left := v.(noValue); !left {
			out[key] = v
		}
	}
	return out, nil
}

// function returns the name and argument of an intrinsic function; is is false for anything else. A map with one key that begins
// with "Fn::" is one, whether this package knows it or not.
func function(node any) (name string, argument any, is bool) {
	m, ok := node.(map[string]any)
	if !ok || len(m) != 1 {
		return "", nil, false
	}
	for key, value := range m {
		if key == "Ref" || strings.HasPrefix(key, "Fn::") {
			return key, value, true
		}
		if _, named := value.(string); key == "Condition" && named { // in a policy Condition is a map
			return key, value, true
		}
	}
	return "", nil, false
}

// call resolves one function.
func (s *Stack) call(name string, argument any) (any, error) {
	functions := map[string]func(any) (any, error){
		"Ref":             s.callRef,
		"Condition":       func(a any) (any, error) { return s.condition(fmt.Sprint(a), nil) },
		"Fn::Base64":      s.callBase64,
		"Fn::FindInMap":   s.callFindInMap,
		"Fn::GetAZs":      s.callGetAZs,
		"Fn::GetAtt":      s.callGetAtt,
		"Fn::If":          s.callIf,
		"Fn::ImportValue": s.callImportValue,
		"Fn::Join":        s.callJoin,
		"Fn::Select":      s.callSelect,
		"Fn::Split":       s.callSplit,
		"Fn::Sub":         s.callSub,
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("%s: this function is not known here", name)
	}
	v, err := f(argument)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

func (s *Stack) callRef(argument any) (any, error) {
	name, ok := argument.(string)
	if !ok {
		return nil, fmt.Errorf("%v is no name", argument)
	}
	return s.ref(name)
}

// ref returns what a name stands for: a pseudo parameter, a parameter or a resource.
func (s *Stack) ref(name string) (any, error) {
	switch name {
	case "AWS::AccountId":
		return s.Environment.Account, nil
	case "AWS::Region":
		return s.Environment.Region, nil
	case "AWS::Partition":
		return s.Environment.Partition, nil
	case "AWS::URLSuffix":
		return s.Environment.URLSuffix, nil
	case "AWS::StackName":
		return s.Environment.StackName, nil
	case "AWS::StackId":
		return s.Environment.StackID, nil
	case "AWS::NoValue":
		return noValue{}, nil
	case "AWS::NotificationARNs":
		return []any{}, nil
	}
	if p, ok := s.Parameters[name]; ok {
		return s.parameter(name, p)
	}
	if _, ok := s.Resources[name]; !ok {
		return nil, fmt.Errorf("%s is neither a resource, a parameter nor a pseudo parameter", name)
	}
	if !s.Made(name) {
		return nil, fmt.Errorf("%s is not made: its condition %s does not hold", name, s.Resources[name].Condition)
	}
	return s.values.Ref(name)
}

// parameter returns the value of a parameter, a list for those of a type of list.
func (s *Stack) parameter(name string, p Parameter) (any, error) {
	value, err := text(p.Default)
	if given, ok := s.Environment.Parameters[name]; ok {
		value, err = given, nil
	}
	if err != nil {
		return nil, fmt.Errorf("parameter %s has neither a value nor a default", name)
	}
	if len(p.AllowedValues) > 0 && !slices.ContainsFunc(p.AllowedValues, func(a any) bool { t, _ := text(a); return t == value }) {
		return nil, fmt.Errorf("parameter %s is %q and must be one of %v", name, value, p.AllowedValues)
	}
	if p.Type == "CommaDelimitedList" || strings.HasPrefix(p.Type, "List<") {
		out := []any{}
		for part := range strings.SplitSeq(value, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out, nil
	}
	return value, nil
}

func (s *Stack) callGetAtt(argument any) (any, error) {
	id, attribute, err := getAtt(argument)
	if err != nil {
		return nil, err
	}
	name, err := s.resolvedText(attribute) // the attribute may be a Ref
	if err != nil {
		return nil, err
	}
	if !s.Made(id) {
		return nil, fmt.Errorf("%s is not made", id)
	}
	return s.values.Attribute(id, name)
}

// getAtt splits the argument of Fn::GetAtt: "Id.Attribute" or [Id, Attribute].
func getAtt(argument any) (id string, attribute any, err error) {
	switch a := argument.(type) {
	case string:
		if id, name, ok := strings.Cut(a, "."); ok {
			return id, name, nil
		}
	case []any:
		if len(a) == 2 {
			if id, ok := a[0].(string); ok {
				return id, a[1], nil
			}
		}
	}
	return "", nil, fmt.Errorf("%v is no resource and attribute", argument)
}

var placeholder = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

// placeholders returns the names a pattern of Fn::Sub asks for, in order.
func placeholders(pattern string) []string {
	var out []string
	for _, m := range placeholder.FindAllStringSubmatch(pattern, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	return out
}

// subParts splits the argument of Fn::Sub: a pattern, or [pattern, names of its own].
func subParts(argument any) (pattern string, locals map[string]any, err error) {
	switch a := argument.(type) {
	case string:
		return a, nil, nil
	case []any:
		if len(a) == 2 {
			pattern, isText := a[0].(string)
			locals, isMap := a[1].(map[string]any)
			if isText && isMap {
				return pattern, locals, nil
			}
		}
	}
	return "", nil, fmt.Errorf("%v is neither a string nor a string and a map", argument)
}

func (s *Stack) callSub(argument any) (any, error) {
	pattern, locals, err := subParts(argument)
	if err != nil {
		return nil, err
	}
	out := placeholder.ReplaceAllStringFunc(pattern, func(found string) string {
		value, e := s.substitute(strings.TrimSpace(found[2:len(found)-1]), locals)
		if e != nil && err == nil {
			err = e
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	return strings.ReplaceAll(out, "${!", "${"), nil // ${!x} stands for ${x} itself
}

// substitute returns what a placeholder of Fn::Sub stands for.
func (s *Stack) substitute(name string, locals map[string]any) (string, error) {
	if node, ok := locals[name]; ok {
		return s.resolvedText(node)
	}
	if strings.Contains(name, ".") {
		v, err := s.callGetAtt(name)
		if err != nil {
			return "", err
		}
		return text(v)
	}
	return s.Ref(name)
}

func (s *Stack) callJoin(argument any) (any, error) {
	separator, list, err := s.textAndList(argument)
	if err != nil {
		return nil, err
	}
	parts := make([]string, 0, len(list))
	for _, item := range list {
		part, err := text(item)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, separator), nil
}

// textAndList resolves the arguments of Fn::Join: a separator and a list.
func (s *Stack) textAndList(argument any) (string, []any, error) {
	pair, ok := argument.([]any)
	if !ok || len(pair) != 2 {
		return "", nil, fmt.Errorf("%v is no separator and list", argument)
	}
	separator, ok := pair[0].(string)
	if !ok {
		return "", nil, fmt.Errorf("%v is no separator", pair[0])
	}
	v, err := s.Resolve(pair[1])
	if err != nil {
		return "", nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return "", nil, fmt.Errorf("%v is no list", v)
	}
	return separator, list, nil
}

func (s *Stack) callSplit(argument any) (any, error) {
	pair, ok := argument.([]any)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("%v is no separator and string", argument)
	}
	separator, ok := pair[0].(string)
	if !ok || separator == "" {
		return nil, fmt.Errorf("%v is no separator", pair[0])
	}
	whole, err := s.resolvedText(pair[1])
	if err != nil {
		return nil, err
	}
	out := []any{}
	for part := range strings.SplitSeq(whole, separator) {
		out = append(out, part)
	}
	return out, nil
}

func (s *Stack) callSelect(argument any) (any, error) {
	v, err := s.Resolve(argument)
	if err != nil {
		return nil, err
	}
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("%v is no index and list", argument)
	}
	number, err := text(pair[0])
	if err != nil {
		return nil, err
	}
	list, ok := pair[1].([]any)
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(list) {
		return nil, fmt.Errorf("there is no item %s of %v", number, pair[1])
	}
	return list[i], nil
}

func (s *Stack) callIf(argument any) (any, error) {
	branch, err := s.branch(argument)
	if err != nil {
		return nil, err
	}
	return s.Resolve(branch)
}

// branch returns the branch of Fn::If that counts, unresolved.
func (s *Stack) branch(argument any) (any, error) {
	parts, ok := argument.([]any)
	if !ok || len(parts) != 3 {
		return nil, fmt.Errorf("%v is no condition with two values", argument)
	}
	name, ok := parts[0].(string)
	if !ok {
		return nil, fmt.Errorf("%v is no name of a condition", parts[0])
	}
	holds, err := s.condition(name, nil)
	if err != nil {
		return nil, err
	}
	if holds {
		return parts[1], nil
	}
	return parts[2], nil
}

func (s *Stack) callFindInMap(argument any) (any, error) {
	v, err := s.Resolve(argument)
	if err != nil {
		return nil, err
	}
	keys, err := stringsOf(v)
	if err != nil || len(keys) != 3 {
		return nil, fmt.Errorf("%v is no map with two keys", argument)
	}
	value, ok := s.Mappings[keys[0]][keys[1]][keys[2]]
	if !ok {
		return nil, fmt.Errorf("there is no %s", strings.Join(keys, "."))
	}
	return value, nil
}

func (s *Stack) callImportValue(argument any) (any, error) {
	name, err := s.resolvedText(argument)
	if err != nil {
		return nil, err
	}
	value, ok := s.Environment.Exports[name]
	if !ok {
		return nil, fmt.Errorf("no stack exports %s", name)
	}
	return value, nil
}

func (s *Stack) callBase64(argument any) (any, error) {
	v, err := s.resolvedText(argument)
	return base64.StdEncoding.EncodeToString([]byte(v)), err
}

func (s *Stack) callGetAZs(argument any) (any, error) {
	region, err := s.resolvedText(argument)
	if err != nil {
		return nil, err
	}
	if region != "" && region != s.Environment.Region {
		return nil, fmt.Errorf("the zones of %s are not known in %s", region, s.Environment.Region)
	}
	out := []any{}
	for _, zone := range s.Environment.Zones {
		out = append(out, zone)
	}
	return out, nil
}
