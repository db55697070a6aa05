package stacks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
)

// operation is one that is under way on a stack.
type operation struct {
	m      *Model
	s      *stack
	before *deploy.Stack // nil: the stack is new
	after  *deploy.Stack // nil: it is deleted

	made     []string          // what this operation made, in order
	modified []string          // what it changed, in order
	replaced []string          // whose old resource is to go
	custom   map[string]string // physical id of a custom resource that became another one, by logical id
	failed   []string

	imported map[string]bool // logical ids of what is taken over
}

// begin runs an operation in the background. The lock is held; the status says already that it is under way.
func (m *Model) begin(run func(context.Context)) {
	m.work.Go(func() { run(m.running) })
}

// do runs one step on one resource under the engine's lock.
func (o *operation) do(step func() error) error {
	o.m.engine.Lock()
	defer o.m.engine.Unlock()
	return step()
}

// note and set tell of a resource and of the stack.
func (o *operation) note(id, status, reason string) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.m.note(o.s, id, status, reason)
}

func (o *operation) set(status, reason string) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.m.set(o.s, status, reason)
}

// create makes one resource of the stack after. It reports whether that worked.
func (o *operation) create(ctx context.Context, id string) bool {
	o.m.mu.Lock()
	o.s.resources[id] = &resource{logical: id, kind: o.after.Resources[id].Type}
	o.m.mu.Unlock()
	if o.imported[id] {
		o.named(o.after, id)
		o.note(id, "IMPORT_COMPLETE", "")
		return true
	}
	o.note(id, createInProgress, "")
	err := o.do(func() error { return o.m.account.Make(ctx, o.after, id) })
	if err != nil {
		o.note(id, createFailed, handlerError(err))
		o.failed = append(o.failed, id)
		return false
	}
	o.made = append(o.made, id)
	o.named(o.after, id)
	o.note(id, createComplete, "")
	return true
}

// named keeps the physical id of a resource.
func (o *operation) named(in *deploy.Stack, id string) {
	physical, err := in.Ref(id)
	if err != nil {
		physical = id // a type whose Ref means nothing
	}
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.s.resources[id].physical = physical
}

// handlerError words an error as the handlers of resources do.
func handlerError(err error) string {
	code := "GeneralServiceException"
	if errors.Is(err, deploy.ErrExists) {
		code = "AlreadyExists"
	}
	return fmt.Sprintf("Resource handler returned message: %q (HandlerErrorCode: %s)", strings.TrimSpace(err.Error()), code)
}

// runCreate makes a new stack.
func (o *operation) runCreate(ctx context.Context) {
	if err := o.do(func() error { return o.m.account.Grant(o.after) }); err != nil {
		o.set(rollbackInProgress, err.Error())
		o.set(rollbackComplete, "")
		return
	}
	order, err := o.after.Order()
	if err == nil {
		for _, id := range order {
			if !o.create(ctx, id) {
				//nolint:staticcheck // AWS's words
				err = fmt.Errorf("The following resource(s) failed to create: [%s]. Rollback requested by user.", id)
				break
			}
		}
	}
	if err == nil {
		err = o.publish()
	}
	switch {
	case err == nil:
		o.set(createComplete, "")
	case o.s.keepsFailed:
		o.set(createFailed, strings.TrimSuffix(err.Error(), " Rollback requested by user."))
	default:
		o.set(rollbackInProgress, err.Error())
		o.finishRollback(ctx)
	}
}

// finishRollback takes away what a creation made.
func (o *operation) finishRollback(ctx context.Context) {
	left := o.removeAll(ctx, o.after, o.made, true)
	o.revoke(o.after, nil)
	if len(left) > 0 {
		o.set(rollbackFailed, fmt.Sprintf("The following resource(s) failed to delete: [%s].", strings.Join(left, ", ")))
		return
	}
	o.set(rollbackComplete, "")
}

// revoke takes the rights of roles that are in one stack and not in another, nil for none: those that were never made.
func (o *operation) revoke(in, but *deploy.Stack) {
	_ = o.do(func() error {
		for _, id := range in.OfType("AWS::IAM::Role") {
			if r := o.s.resources[id]; in.Made(id) && (but == nil || !but.Made(id)) && (r == nil || r.status != deleteSkipped) {
				if arn, err := in.Attribute(id, "Arn"); err == nil {
					o.m.account.Cloud.Policies.RemoveRole(arn)
				}
			}
		}
		return nil
	})
}

// removeAll takes resources of a stack away, the last first, and returns those that could not be, sorted. What one of those refers to stays too.
func (o *operation) removeAll(ctx context.Context, in *deploy.Stack, ids []string, creating bool) (left []string) {
	held := map[string]bool{}
	for _, id := range slices.Backward(ids) {
		if held[id] {
			hold(in, id, held)
			continue
		}
		if !o.remove(ctx, in, id, keeps(in.Resources[id].DeletionPolicy, creating)) {
			left = append(left, id)
			hold(in, id, held)
		}
	}
	slices.Sort(left)
	return left
}

// hold marks what a resource refers to.
func hold(in *deploy.Stack, id string, held map[string]bool) {
	for _, need := range in.Needs(id) {
		held[need] = true
	}
}

// remove takes one resource away, unless it is kept, and reports whether that worked.
func (o *operation) remove(ctx context.Context, in *deploy.Stack, id string, kept bool) bool {
	if kept {
		o.note(id, deleteSkipped, "")
		return true
	}
	o.note(id, deleteInProgress, "")
	if err := o.do(func() error { return o.m.account.Remove(ctx, in, id) }); err != nil {
		o.note(id, deleteFailed, handlerError(err))
		return false
	}
	o.note(id, deleteComplete, "")
	return true
}

// publish takes over what the stack after tells, which nobody else may export, and what it imports.
func (o *operation) publish() error {
	outputs, err := o.after.OutputValues()
	if err != nil {
		return err
	}
	exports, err := o.after.ExportValues()
	if err != nil {
		return err
	}
	imports, err := o.after.Imports()
	if err != nil {
		return err
	}
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	taken := o.m.exports(o.s)
	for name, value := range exports {
		if _, is := taken[name]; is {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("Export with name %s is already exported by another stack. Rollback requested by user.", name)
		}
		if before, had := o.s.exported(name); had && before != value && len(o.m.importers(name)) > 0 {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("Cannot update export %s as it is in use by %s", name, strings.Join(o.m.importers(name), ", "))
		}
	}
	for _, before := range o.s.outputs {
		if _, still := exports[before.export]; before.export != "" && !still && len(o.m.importers(before.export)) > 0 {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("Cannot delete export %s as it is in use by %s", before.export, strings.Join(o.m.importers(before.export), ", "))
		}
	}
	o.s.outputs, o.s.imports = map[string]output{}, imports
	for name, value := range outputs {
		one := output{value: value, description: o.after.Outputs[name].Description}
		if o.after.Outputs[name].Export != nil {
			if one.export, err = o.after.ExportName(name); err != nil {
				return err
			}
		}
		o.s.outputs[name] = one
	}
	return nil
}

// exported returns the value of an export of a stack.
func (s *stack) exported(name string) (string, bool) {
	for _, o := range s.outputs {
		if o.export == name {
			return o.value, true
		}
	}
	return "", false
}

// runDelete takes a stack away. retained are logical ids of what stays, of a stack whose deletion failed before.
func (o *operation) runDelete(ctx context.Context, retained []string) {
	o.m.mu.Lock()
	for _, one := range o.s.outputs {
		if users := o.m.importers(one.export); one.export != "" && len(users) > 0 {
			o.m.set(o.s, deleteFailed, fmt.Sprintf("Export %s cannot be deleted as it is in use by %s", one.export, strings.Join(users, ", ")))
			o.m.mu.Unlock()
			return
		}
	}
	o.m.mu.Unlock()
	if o.before != nil {
		order, err := o.before.Order()
		if err != nil {
			o.set(deleteFailed, err.Error())
			return
		}
		order = slices.DeleteFunc(order, func(id string) bool {
			r := o.s.resources[id]
			return r == nil || r.status == deleteComplete || r.status == deleteSkipped || r.physical == "" || slices.Contains(retained, id)
		})
		if left := o.removeAll(ctx, o.before, order, false); len(left) > 0 {
			o.set(deleteFailed, fmt.Sprintf("The following resource(s) failed to delete: [%s]. ", strings.Join(left, ", ")))
			return
		}
		o.revoke(o.before, nil)
	}
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.s.deleted, o.s.outputs, o.s.imports = o.m.clock.Now(), map[string]output{}, nil
	o.m.set(o.s, deleteComplete, "")
}
