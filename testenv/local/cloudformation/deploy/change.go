package deploy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ErrExists says that something of a resource's name exists already, and is not the stack's.
var ErrExists = errors.New("already exists")

// Change is what becomes of a resource that both of two templates have.
type Change int

// What a change takes.
const (
	Same    Change = iota // nothing
	InPlace               // the resource becomes what its properties say
	Replace               // another resource takes its place
)

// Differs returns what becomes of a resource, and the properties that differ, sorted.
func (a *Account) Differs(before, after *Stack, id string) (Change, []string, error) {
	old, err := before.Properties(id)
	if err != nil {
		return Same, nil, err
	}
	wanted, err := after.Properties(id)
	if err != nil {
		return Same, nil, err
	}
	if before.Resources[id].Type != after.Resources[id].Type {
		return Replace, nil, fmt.Errorf("update of resource type is not permitted: %s is %s", id, before.Resources[id].Type)
	}
	names := different(old, wanted)
	if len(names) == 0 {
		return Same, nil, nil
	}
	fixed := kinds[after.Resources[id].Type].fixed
	if name := after.nameProperty(id); name != "" {
		fixed = append(slices.Clone(fixed), name)
	}
	if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(fixed, n) }) {
		return Replace, names, nil
	}
	return InPlace, names, nil
}

// different returns the names of properties that are not alike, sorted.
func different(old, wanted properties) []string {
	var out []string
	for name, value := range wanted {
		if before, ok := old[name]; !ok || !reflect.DeepEqual(before, value) {
			out = append(out, name)
		}
	}
	for name := range old {
		if _, ok := wanted[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// nameProperty is the property that holds a resource's name, "" where it has none or the template gives it none.
func (s *Stack) nameProperty(id string) string {
	name := s.values.named.NameProperty(id)
	if _, given := s.Resources[id].Properties[name]; !given {
		return ""
	}
	return name
}

// CustomName is the name that a template gives a resource, "" where it gives none.
func (s *Stack) CustomName(id string) (string, error) {
	if s.nameProperty(id) == "" {
		return "", nil
	}
	return s.values.named.Name(id)
}

// Modify makes a resource what the stack after says. A custom resource may become another one: then replaced is the physical id of that it was.
func (a *Account) Modify(ctx context.Context, before, after *Stack, id string) (replaced string, err error) {
	old, err := before.Properties(id)
	if err != nil {
		return "", err
	}
	wanted, err := after.Properties(id)
	if err != nil {
		return "", err
	}
	of := after.Resources[id].Type
	if strings.HasPrefix(of, "Custom::") {
		was := after.values.custom[id].id
		if err := a.changeCustom(ctx, after, id, wanted, old); err != nil || after.values.custom[id].id == was {
			return "", err
		}
		return was, nil
	}
	change := kinds[of].change
	if change == nil {
		return "", nil // its policies, or what nobody keeps
	}
	return "", change(ctx, a.resource(after, id, wanted), a.resource(before, id, old).properties)
}

// Remove takes a resource away.
func (a *Account) Remove(ctx context.Context, s *Stack, id string) error {
	of := s.Resources[id].Type
	if strings.HasPrefix(of, "Custom::") {
		return a.Delete(ctx, s, id)
	}
	p, err := s.Properties(id)
	if err != nil {
		return err
	}
	r := a.resource(s, id, p)
	if _, ok := ignoredTypes[of]; ok {
		return r.disclaim()
	}
	remove := kinds[of].remove
	if remove == nil {
		return nil
	}
	return remove(ctx, r)
}

// RemoveReplaced has the function of a custom resource take away what that was before an update.
func (a *Account) RemoveReplaced(ctx context.Context, before *Stack, id, physical string) error {
	p, err := before.Properties(id)
	if err != nil {
		return err
	}
	_, err = a.report(ctx, before, id, "Delete", physical, p, nil)
	return err
}

// claim takes the name of what no model keeps, so that nothing else has it.
func (r resource) claim() error {
	name, err := r.stack.CustomName(r.id)
	if err != nil || name == "" {
		return err
	}
	key := r.stack.Resources[r.id].Type + " " + name
	if r.account.named[key] != "" {
		return fmt.Errorf("%s %w", name, ErrExists)
	}
	r.account.named[key] = r.stack.Environment.StackID
	return nil
}

// claimed reports whether something has the name already.
func (r resource) claimed() (bool, error) {
	name, err := r.stack.CustomName(r.id)
	return name != "" && r.account.named[r.stack.Resources[r.id].Type+" "+name] != "", err
}

// disclaim gives the name back.
func (r resource) disclaim() error {
	name, err := r.stack.CustomName(r.id)
	delete(r.account.named, r.stack.Resources[r.id].Type+" "+name)
	return err
}
