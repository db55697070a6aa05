package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// plansAtOnce is how many batches of one cluster's plan queue are under way at once where there are several clusters. Source:
// infra/cdk, makePlanQueue.
const plansAtOnce = 2

// deploy returns the functions as they are deployed: what each does with a batch of its queue, and with a tick. Of two
// versions that are deployed side by side an invocation gets either.
func (e *engine) deploy() []*function {
	versions := []provision.Settings{{Build: "new"}, {Build: "old", ClaimsPerCall: 3, MaxRounds: 3}}
	versions = versions[:max(1, e.config.Scenario.Versions)]
	registrations := func(p *process, cluster string) *provision.Flow {
		flow := e.world.Ports(p, e.actor(p, cluster)).Provision(p.now, versions[p.draws.IntN(len(versions))])
		flow.Parallel = p.parallel
		return flow
	}
	deaths := func(p *process, cluster string) *interruption.Flow {
		flow := e.world.Ports(p, e.actor(p, cluster)).Interruption(p.now, interruption.Settings{})
		flow.Parallel = func(n int, do func(i int)) { p.spread(n, 50, do) } // as Settings.Parallel says, of claims
		return flow
	}
	classes := func(p *process, cluster string) *catalog.Flow {
		return e.world.Ports(p, e.actor(p, cluster)).Catalog(p.now, catalog.Settings{})
	}
	choices := func(p *process, cluster string) *disrupt.Flow {
		build := versions[p.draws.IntN(len(versions))].Build
		flow := e.world.Ports(p, e.actor(p, cluster)).Disrupt(p.now, disrupt.Settings{Build: build})
		flow.Parallel = func(n int, do func(i int)) { p.spread(n, 20, do) } // as Settings.Parallel says
		return flow
	}
	most := e.config.Scenario.sideBySide()
	var functions []*function
	for i, w := range e.worlds {
		of := world.Name
		if i > 0 {
			of = Neighbor(i)
		}
		f := &function{
			engine: e, name: "provision", queue: w.Plan.Queue,
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				own := slices.DeleteFunc(slices.Clone(batch), func(m world.Message) bool { return m.Group != of })
				return eachCluster(p, own, func(cluster string, hints []wire.Hint) error {
					if cluster != of {
						return nil // the queue is another cluster's, and proves whose hints it has
					}
					request := provision.Request{Cluster: cluster, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
					fresh := false
					for _, hint := range hints {
						if !provision.Spent(hint, p.now()) {
							request.Take(hint)
							fresh = true
						}
					}
					if !fresh {
						return nil
					}
					_, err := registrations(p, cluster).Run(ctx, request)
					return err
				})
			},
		}
		if most > 0 {
			f.most = plansAtOnce
		}
		if i == 0 {
			f.onTick = func(ctx context.Context, p *process, tick string) error {
				_, err := registrations(p, "").FanOut(ctx, tick)
				return err
			}
		}
		functions = append(functions, f)
	}
	functions = append(functions, []*function{
		{
			engine: e, name: "interruption", queue: e.world.Passes.Queue, most: 2 * most,
			onTick: func(ctx context.Context, p *process, tick string) error {
				_, err := deaths(p, "").FanOut(ctx, tick)
				return err
			},
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				return eachCluster(p, batch, func(cluster string, hints []wire.Hint) error {
					return carryOutHints(ctx, p, deaths(p, cluster), cluster, hints)
				})
			},
		},
		{
			engine: e, name: "notices", queue: e.world.Notices, most: 10,
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				var received []interruption.Received
				for _, message := range batch {
					received = append(received, interruption.Received{Message: message.ID, Body: []byte(message.Body)})
				}
				failed, _ := deaths(p, "").Notices(ctx, received, p.now().Add(world.InvocationTimeout))
				if len(failed) > 0 {
					return &unfinished{failed}
				}
				return nil
			},
		},
		{
			engine: e, name: "catalog", queue: e.world.Configs.Queue, most: most,
			onTick: func(ctx context.Context, p *process, tick string) error {
				_, err := classes(p, "").FanOut(ctx, tick)
				return err
			},
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				return eachCluster(p, batch, func(cluster string, hints []wire.Hint) error {
					changed := slices.ContainsFunc(hints, func(h wire.Hint) bool { return h.Reason == wire.ReasonConfig })
					shift := !slices.ContainsFunc(hints, func(h wire.Hint) bool { return h.Reason != wire.ReasonShift })
					request := catalog.Request{Cluster: cluster, Config: changed, Shift: shift, Owner: p.name,
						Deadline: p.now().Add(world.InvocationTimeout)}
					_, err := classes(p, cluster).Run(ctx, request)
					return err
				})
			},
		},
	}...)
	if !e.config.Scenario.Choices {
		return functions
	}
	return append(functions, &function{
		engine: e, name: "disrupt", queue: e.world.DisruptHints.Queue, most: most, atOnce: e.config.Scenario.DisruptRuns,
		onTick: func(ctx context.Context, p *process, tick string) error {
			_, err := choices(p, "").FanOut(ctx, tick)
			return err
		},
		onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
			return eachCluster(p, batch, func(cluster string, hints []wire.Hint) error {
				return e.disrupt(ctx, p, choices(p, cluster), cluster, hints)
			})
		},
	})
}

// disrupt looks once at what may be disrupted.
func (e *engine) disrupt(ctx context.Context, p *process, flow *disrupt.Flow, cluster string, hints []wire.Hint) error {
	request := disrupt.Request{Cluster: cluster, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
	for _, hint := range hints {
		request.Take(hint)
	}
	outcome, err := flow.Run(ctx, request)
	e.trace.evaluated(e.now(), p.name, outcome)
	return err
}

// unfinished is a batch of which some messages must come again.
type unfinished struct{ messages []string }

func (u *unfinished) Error() string { return fmt.Sprintf("messages %v are to come again", u.messages) }

// carryOutHints carries out what hints to the function that ends instances ask for about a cluster: drains first, then a look. What
// could not be carried through is asked for again, with the cluster's other hints of the batch.
func carryOutHints(ctx context.Context, p *process, flow *interruption.Flow, cluster string, hints []wire.Hint) error {
	var failed error
	for _, drains := range []bool{true, false} {
		var request *interruption.Request
		for _, hint := range hints {
			if (hint.Reason == wire.ReasonDrain) != drains {
				continue
			}
			if request == nil {
				request = &interruption.Request{Cluster: cluster, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
			}
			request.Take(hint)
		}
		var err error
		switch {
		case request == nil:
		case drains:
			_, err = flow.Drain(ctx, *request)
		default:
			_, err = flow.Run(ctx, *request)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// eachCluster does something about every cluster that hints of a batch name, side by side as the functions' handlers do, so
// that the batch ends with the slowest. The messages of those it could not be done for come again. What nobody can read is
// dropped.
func eachCluster(p *process, batch []world.Message, do func(cluster string, hints []wire.Hint) error) error {
	hints, messages, order := map[string][]wire.Hint{}, map[string][]string{}, []string{}
	for _, message := range batch {
		hint, err := wire.DecodeHint([]byte(message.Body))
		if err != nil {
			continue
		}
		if hints[hint.Cluster] == nil {
			order = append(order, hint.Cluster)
		}
		hints[hint.Cluster], messages[hint.Cluster] = append(hints[hint.Cluster], hint), append(messages[hint.Cluster], message.ID)
	}
	if len(order) == 1 {
		return do(order[0], hints[order[0]])
	}
	errs := make([]error, len(order))
	p.spread(len(order), len(order), func(i int) { errs[i] = do(order[i], hints[order[i]]) })
	var failed []string
	for i, err := range errs {
		if err != nil {
			failed = append(failed, messages[order[i]]...)
		}
	}
	if failed == nil {
		return nil
	}
	return &unfinished{failed}
}

// actor names a process at work on one cluster, where there are several: what the log knows it by.
func (e *engine) actor(p *process, cluster string) string {
	if len(e.worlds) == 1 || cluster == "" {
		return p.name
	}
	return p.name + "@" + cluster
}

// ticks gives the ticks of the schedule to every function.
func (e *engine) ticks() {
	for _, tick := range e.world.Ticks.Take(e.now()) {
		for _, f := range e.functions {
			if f.onTick == nil {
				continue
			}
			f.tick(tick.For.UTC().Format(time.RFC3339), 1)
		}
	}
}
