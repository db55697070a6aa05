package referee

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Flat is a document without nesting: values by path, parts of which are separated by " / ". What has no order in EC2's API is named by
// what it is and not by its place: tags by key, interfaces by card and device, disks by device name, lists of ids by id.
type Flat map[string]string

// tree is a value, a list or a structure of a form: one of text, list and members is set.
type tree struct {
	text    string
	members map[string]*tree
}

// parseForm reads the dotted names of a form.
func parseForm(form url.Values) *tree {
	root := &tree{members: map[string]*tree{}}
	for name, values := range form {
		at := root
		for _, part := range strings.Split(name, ".") {
			if at.members == nil {
				at.members = map[string]*tree{}
			}
			if at.members[part] == nil {
				at.members[part] = &tree{}
			}
			at = at.members[part]
		}
		at.text = values[0]
	}
	return root
}

// items returns the elements of a list in their order; none where it is no list.
func (t *tree) items() []*tree {
	var out []*tree
	for _, name := range slices.SortedFunc(maps.Keys(t.members), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	}) {
		if _, err := strconv.Atoi(name); err != nil {
			return nil
		}
		out = append(out, t.members[name])
	}
	return out
}

func (t *tree) get(name string) string {
	if m := t.members[name]; m != nil {
		return m.text
	}
	return ""
}

// nameOf is what an element of a list is known by, "" where by its place alone.
func (t *tree) nameOf() string {
	switch {
	case len(t.members) == 0:
		return t.text
	case t.members["ResourceType"] != nil:
		return t.get("ResourceType")
	case t.members["DeviceName"] != nil:
		return t.get("DeviceName")
	case t.members["DeviceIndex"] != nil:
		card := t.get("NetworkCardIndex")
		if card == "" {
			card = "0"
		}
		return "card " + card + " device " + t.get("DeviceIndex")
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + " / " + name
}

// into writes the tree below a path.
func (t *tree) into(out Flat, path string) {
	if inner := t.members["member"]; inner != nil && len(t.members) == 1 { // IAM's lists stand below it
		t = inner
	}
	items := t.items()
	switch {
	case len(t.members) == 0 && strings.HasSuffix(path, "UserData"):
		maps.Copy(out, under(path, ReadUserData(t.text)))
	case len(t.members) == 0:
		out[path] = t.text
	case items != nil:
		for i, item := range items {
			if item.members["Key"] != nil && item.members["Value"] != nil {
				out[join(path, item.get("Key"))] = item.get("Value")
				continue
			}
			name := item.nameOf()
			if name == "" {
				name = fmt.Sprint(i + 1)
			}
			if len(item.members) == 0 {
				out[join(path, name)] = "listed"
				continue
			}
			item.into(out, join(path, name))
		}
	default:
		for name, member := range t.members {
			if (name == "DeviceIndex" || name == "NetworkCardIndex" || name == "ResourceType" || name == "DeviceName") && t.nameOf() != "" && strings.HasSuffix(path, t.nameOf()) {
				continue // it is in the path
			}
			member.into(out, join(path, name))
		}
	}
}

func under(path string, f Flat) Flat {
	out := Flat{}
	for name, value := range f {
		out[join(path, name)] = value
	}
	return out
}

// Flatten returns a form without its action and version.
func Flatten(form url.Values) Flat {
	out := Flat{}
	parseForm(form).into(out, "")
	delete(out, "Action")
	delete(out, "Version")
	return out
}

// Compare returns what is in one of two documents only, or different in both, below a path.
func Compare(path string, theirs, ours Flat) []Difference {
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if value, there := ours[name]; !there {
			out = append(out, Difference{join(path, name), fmt.Sprintf("theirs %q, ours has none", theirs[name])})
		} else if value != theirs[name] {
			out = append(out, Difference{join(path, name), fmt.Sprintf("theirs %q, ours %q", theirs[name], value)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if _, there := theirs[name]; !there {
			out = append(out, Difference{join(path, name), fmt.Sprintf("theirs has none, ours %q", ours[name])})
		}
	}
	return out
}

func unbase64(text string) string {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(decoded)
}
