package sim

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/testenv/world"
)

// schedule is the tick of each minute, and the ones after it.
func (e *engine) schedule(minute int) {
	e.agenda.add(world.Start.Add(time.Duration(minute)*time.Minute+e.steady.between(0, 2*time.Second)), func() {
		e.provision(provision.TriggerSweep)
		e.schedule(minute + 1)
	})
}

// provision invokes the function of that name.
func (e *engine) provision(trigger string) {
	e.spawn("provision", world.InvocationTimeout, func(ctx context.Context, p *process) error {
		flow := e.world.Ports(p, p.name).Provision(p.now, provision.Settings{Build: "sim", Parallel: 1})
		_, err := flow.Run(ctx, provision.Request{
			Cluster: world.Name, Trigger: trigger, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout),
		})
		return err
	}, nil)
}
