package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// A snapshot says which pods wait and what is there. What may be bought for them, how much of it, under which role and with which user data
// is what NodePools and EC2NodeClasses say, and that is believed of the API server alone: whoever holds the watcher's identity publishes
// snapshots, and is not to launch instances of a kind that nobody applied. So a run that is about to launch reads both live, once. Where the
// snapshot says something else it plans again by what was read, and goes by that until its end. Without an answer nothing is launched.

// applying is what a run finds out of what people have applied.
type applying struct {
	wasRead  bool           // the API server was asked
	compared bool           // the answer was compared with the snapshot
	is       *model.Applied // the answer; once compared nil where the snapshot says the same
	unread   error          // why there is none
}

// read reads NodePools and EC2NodeClasses from the API server, once in a run. What was listed is live as it is.
func (a *applying) read(ctx context.Context, r *pass) {
	if a.wasRead || r.out.Source == sourceList {
		return
	}
	a.wasRead = true
	config, err := r.clients.Configurations.Configuration(ctx)
	if err == nil && len(config.Undefined) > 0 {
		err = fault.New(fault.NotFound, model.CodeUndefined, "the CustomResourceDefinition of %s is missing in the cluster, though snapshot %d/%d has some", strings.Join(config.Undefined, ", "), r.shown.Epoch, r.shown.Seq)
	}
	if err != nil {
		a.unread = fmt.Errorf("NodePools and EC2NodeClasses cannot be read from the API server of cluster %s, so nothing is launched: %w", r.reg.Cluster, err)
		return
	}
	a.is = appliedOf(config)
}

// appliedOf returns the NodePools and EC2NodeClasses that are ours to look at, by name.
func appliedOf(config model.Configuration) *model.Applied {
	applied := &model.Applied{}
	for i := range config.Pools {
		if config.Pools[i].Template.UsesEC2NodeClass() {
			applied.Pools = append(applied.Pools, config.Pools[i])
		}
	}
	for i := range config.Classes {
		applied.Classes = append(applied.Classes, config.Classes[i].Class)
	}
	slices.SortFunc(applied.Pools, func(a, b model.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(applied.Classes, func(a, b model.Class) int { return cmp.Compare(a.Name, b.Name) })
	return applied
}

// Of what kind and source things are.
const (
	kindClass      = "EC2NodeClass"
	sourceList     = "list"
	sourceSnapshot = "snapshot"
)

// correct puts what was read in the place of what the snapshot says, and reports whether that is something else. It is done once.
func (a *applying) correct(ctx context.Context, r *pass) bool {
	if a.is == nil || a.compared {
		return false
	}
	a.compared = true
	differs := a.differing(r)
	if len(differs) == 0 {
		a.is = nil
		return false
	}
	r.out.Corrected = differs
	r.shown, r.snapshot = a.is.In(r.shown), a.is.In(r.snapshot)
	r.resolveClasses(ctx)
	return true
}

// differing names the NodePools and EC2NodeClasses of which the snapshot does not say what the API server does, with what is the matter, and
// forgets what was found out about such classes.
func (a *applying) differing(r *pass) []string {
	var out []string
	note := func(kind, name, what string) { out = append(out, fmt.Sprintf("%s %s %s", kind, name, what)) }
	pools, classes := byName(r.shown.Pools, poolName), byName(r.shown.Classes, className)
	for i := range a.is.Pools {
		pool := &a.is.Pools[i]
		said := pools[pool.Name]
		delete(pools, pool.Name)
		if what := difference(said, pool); what != "" {
			note("NodePool", pool.Name, what)
		}
	}
	for i := range a.is.Classes {
		class := &a.is.Classes[i]
		said := classes[class.Name]
		delete(classes, class.Name)
		what := difference(plain(said), plain(class))
		if what == "" && !same(r.latest(*said), r.latest(*class)) {
			what = "has another status"
		}
		if what != "" {
			note(kindClass, class.Name, what)
			delete(r.classes, class.Name)
		}
	}
	for i := range r.shown.Pools {
		if name := r.shown.Pools[i].Name; pools[name] != nil {
			note("NodePool", name, "does not exist")
		}
	}
	for i := range r.shown.Classes {
		if name := r.shown.Classes[i].Name; classes[name] != nil {
			note(kindClass, name, "does not exist")
			delete(r.classes, name)
		}
	}
	return out
}

// withhold returns why nothing of a plan may be launched; nil where it may, or there is nothing.
func (a *applying) withhold(r *pass, plan model.Plan) error {
	if a.unread == nil || len(plan.Claims) == 0 {
		return nil
	}
	r.out.Withheld = len(plan.Claims)
	for i := range plan.Claims {
		r.putOff[plan.Claims[i].Pool] = "the API server does not return NodePools and EC2NodeClasses"
	}
	return a.unread
}

func poolName(p *model.Pool) string   { return p.Name }
func className(c *model.Class) string { return c.Name }

func byName[T any](list []T, name func(*T) string) map[string]*T {
	out := make(map[string]*T, len(list))
	for i := range list {
		out[name(&list[i])] = &list[i]
	}
	return out
}

// plain is a class without its status, of which the newest that is known counts.
func plain(class *model.Class) *model.Class {
	if class == nil {
		return nil
	}
	out := *class
	out.Status = model.ClassStatus{}
	return &out
}

// difference says how an object of the API server is other than the snapshot's, which may be nil; empty = it is not.
func difference[T any](said, is *T) string {
	if said == nil {
		return "is not in the snapshot"
	}
	one, other := fields(said), fields(is)
	var names []string
	for name, value := range other {
		if one[name] != value {
			names = append(names, name)
		}
	}
	for name := range one {
		if _, known := other[name]; !known {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "has other " + strings.Join(names, ", ")
}

// fields are the fields of an object as a snapshot holds them, which tells nothing from empty no more than that does.
func fields(object any) map[string]string {
	text, err := json.Marshal(object)
	raw := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &raw)
	}
	if err != nil {
		panic(fmt.Sprintf("%T cannot be encoded: %v", object, err)) // plain data always can
	}
	out := make(map[string]string, len(raw))
	for name, value := range raw {
		out[name] = string(value)
	}
	return out
}

func same[T any](a, b T) bool { return difference(&a, &b) == "" }
