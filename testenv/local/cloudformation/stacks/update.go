package stacks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
)

// runUpdate makes a stack what a plan says.
func (o *operation) runUpdate(ctx context.Context) {
	err := o.do(func() error { return o.m.account.Grant(o.after) })
	if err == nil {
		err = o.apply(ctx)
	}
	if err == nil {
		err = o.publish()
	}
	switch {
	case err == nil:
		o.cleanUp(ctx)
	case o.s.keepsFailed:
		o.set(updateFailed, err.Error())
	default:
		o.set(updateBack, err.Error())
		o.undo(ctx)
	}
}

// apply makes, changes and replaces resources, in the order of the stack after.
func (o *operation) apply(ctx context.Context) error {
	order, err := o.after.Order()
	if err != nil {
		return err
	}
	for _, id := range order {
		verb, apply := "update", o.modify
		if !o.before.Made(id) {
			verb, apply = "create", o.create
		}
		if !apply(ctx, id) {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("The following resource(s) failed to %s: [%s]. ", verb, id)
		}
	}
	return nil
}

// modify makes one resource what the stack after says, or has another one take its place. It reports whether that worked.
func (o *operation) modify(ctx context.Context, id string) bool {
	what, _, err := o.m.account.Differs(o.before, o.after, id)
	if err == nil && what == deploy.Same {
		return true
	}
	o.note(id, updateInProgress, "")
	if err == nil && what == deploy.Replace {
		err = o.replace(ctx, id)
	} else if err == nil {
		err = o.do(func() error {
			replaced, err := o.m.account.Modify(ctx, o.before, o.after, id)
			if replaced != "" {
				o.custom[id] = replaced
			}
			return err
		})
		if err == nil {
			o.modified = append(o.modified, id)
		}
	}
	if err != nil {
		o.note(id, updateFailed, handlerError(err))
		o.failed = append(o.failed, id)
		return false
	}
	o.named(o.after, id)
	o.note(id, updateComplete, "")
	return true
}

// replace makes another resource beside the one there is. A name that the template gives both cannot be had twice.
func (o *operation) replace(ctx context.Context, id string) error {
	old, err := o.before.CustomName(id)
	if err != nil {
		return err
	}
	now, err := o.after.CustomName(id)
	if err != nil {
		return err
	}
	if old == now && now != "" {
		//nolint:staticcheck // AWS's words
		return fmt.Errorf("CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename %s and update the stack again.", now)
	}
	if err := o.do(func() error { return o.m.account.Make(ctx, o.after, id) }); err != nil {
		return err
	}
	o.replaced = append(o.replaced, id)
	return nil
}

// cleanUp takes away what the stack after does not have any more. What cannot be taken away is left behind: the update is over.
func (o *operation) cleanUp(ctx context.Context) {
	o.set(updateCleanup, "")
	for id, physical := range o.custom {
		if err := o.do(func() error { return o.m.account.RemoveReplaced(ctx, o.before, id, physical) }); err != nil {
			o.note(id, deleteFailed, handlerError(err))
		}
	}
	for _, id := range slices.Backward(o.replaced) {
		if !keeps(o.before.Resources[id].UpdateReplacePolicy, false) {
			if err := o.do(func() error { return o.m.account.Remove(ctx, o.before, id) }); err != nil {
				o.note(id, deleteFailed, handlerError(err))
			}
		}
	}
	order, err := o.before.Order()
	if err == nil {
		gone := slices.DeleteFunc(order, func(id string) bool { return o.after.Made(id) })
		o.removeAll(ctx, o.before, gone, false)
		o.revoke(o.before, o.after)
	}
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	for id := range o.s.resources {
		if !o.after.Made(id) {
			delete(o.s.resources, id)
		}
	}
	o.m.set(o.s, updateComplete, "")
}

// undo makes the stack what it was before the update.
func (o *operation) undo(ctx context.Context) {
	var left []string
	for _, id := range slices.Backward(o.modified) {
		o.note(id, updateInProgress, "")
		err := o.do(func() error {
			_, err := o.m.account.Modify(ctx, o.after, o.before, id)
			return err
		})
		if err != nil {
			o.note(id, updateFailed, handlerError(err))
			left = append(left, id)
			continue
		}
		o.named(o.before, id)
		o.note(id, updateComplete, "")
	}
	if len(left) > 0 {
		o.set(updateBackFailed, fmt.Sprintf("The following resource(s) failed to update: [%s].", strings.Join(left, ", ")))
		return
	}
	o.m.mu.Lock()
	o.s.now = o.before
	o.m.set(o.s, updateBackCleanup, "")
	o.m.mu.Unlock()
	for _, id := range slices.Backward(o.replaced) {
		if err := o.do(func() error { return o.m.account.Remove(ctx, o.after, id) }); err != nil {
			o.note(id, deleteFailed, handlerError(err))
		}
		o.named(o.before, id)
	}
	o.removeAll(ctx, o.after, o.made, true)
	o.revoke(o.after, o.before)
	err := o.do(func() error { return o.m.account.Grant(o.before) })
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	for id := range o.s.resources {
		if !o.before.Made(id) {
			delete(o.s.resources, id)
		}
	}
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	o.m.set(o.s, updateBackComplete, reason)
}
