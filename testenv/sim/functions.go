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
	"github.com/joiner-sh/joiner/testenv/world"
)

// deploy returns the functions as they are deployed: what each does with a batch of its queue, and with a tick. Of two
// versions that are deployed side by side an invocation gets either.
func (e *engine) deploy() []*function {
	versions := []provision.Settings{{Build: "new"}, {Build: "old", ClaimsPerCall: 3, MaxRounds: 3}}
	versions = versions[:max(1, e.config.Scenario.Versions)]
	births := func(p *process) *provision.Flow {
		flow := e.world.Ports(p, p.name).Provision(p.now, versions[p.draws.IntN(len(versions))])
		flow.Abreast = p.abreast
		return flow
	}
	deaths := func(p *process) *interruption.Flow {
		flow := e.world.Ports(p, p.name).Interruption(p.now, interruption.Settings{})
		flow.Abreast = func(n int, do func(i int)) { p.spread(n, 50, do) } // as Settings.Parallel says, of claims
		return flow
	}
	classes := func(p *process) *catalog.Flow {
		return e.world.Ports(p, p.name).Catalog(p.now, catalog.Settings{})
	}
	choices := func(p *process) *disrupt.Flow {
		build := versions[p.draws.IntN(len(versions))].Build
		flow := e.world.Ports(p, p.name).Disrupt(p.now, disrupt.Settings{Build: build})
		flow.Abreast = func(n int, do func(i int)) { p.spread(n, 20, do) } // as Settings.Parallel says
		return flow
	}
	functions := []*function{
		{
			engine: e, name: "provision", queue: e.world.Plan.Queue,
			onTick: func(ctx context.Context, p *process, tick string) error {
				_, err := births(p).FanOut(ctx, tick)
				return err
			},
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				request := provision.Request{Cluster: world.Name, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
				fresh := false
				for _, hint := range readable(batch) {
					if !provision.Spent(hint, p.now()) {
						request.Take(hint)
						fresh = true
					}
				}
				if !fresh {
					return nil
				}
				_, err := births(p).Run(ctx, request)
				return err
			},
		},
		{
			engine: e, name: "interruption", queue: e.world.Looks.Queue,
			onTick: func(ctx context.Context, p *process, tick string) error {
				_, err := deaths(p).FanOut(ctx, tick)
				return err
			},
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				return errands(ctx, p, deaths(p), readable(batch))
			},
		},
		{
			engine: e, name: "notices", queue: e.world.Notices,
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				var received []interruption.Received
				for _, message := range batch {
					received = append(received, interruption.Received{Message: message.ID, Body: []byte(message.Body)})
				}
				failed, _ := deaths(p).Notices(ctx, received, p.now().Add(world.InvocationTimeout))
				if len(failed) > 0 {
					return &unfinished{failed}
				}
				return nil
			},
		},
		{
			engine: e, name: "catalog", queue: e.world.Configs.Queue,
			onTick: func(ctx context.Context, p *process, tick string) error {
				_, err := classes(p).FanOut(ctx, tick)
				return err
			},
			onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
				hints := readable(batch)
				if len(hints) == 0 {
					return nil
				}
				changed := slices.ContainsFunc(hints, func(h wire.Hint) bool { return h.Reason == wire.ReasonConfig })
				_, err := classes(p).Run(ctx, catalog.Request{Cluster: world.Name, Config: changed, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)})
				return err
			},
		},
	}
	if !e.config.Scenario.Choices {
		return functions
	}
	return append(functions, &function{
		engine: e, name: "disrupt", queue: e.world.Judges.Queue, atOnce: e.config.Scenario.Judges,
		onTick: func(ctx context.Context, p *process, tick string) error {
			_, err := choices(p).FanOut(ctx, tick)
			return err
		},
		onBatch: func(ctx context.Context, p *process, batch []world.Message) error {
			return e.judge(ctx, p, choices(p), readable(batch))
		},
	})
}

// judge looks once at what may be given back.
func (e *engine) judge(ctx context.Context, p *process, flow *disrupt.Flow, hints []wire.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	request := disrupt.Request{Cluster: world.Name, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
	for _, hint := range hints {
		request.Take(hint)
	}
	outcome, err := flow.Run(ctx, request)
	e.trace.judged(e.now(), p.name, outcome)
	return err
}

// unfinished is a batch of which some messages must come again.
type unfinished struct{ messages []string }

func (u *unfinished) Error() string { return fmt.Sprintf("messages %v are to come again", u.messages) }

// errands carries out what hints to the function that ends machines ask for: drains first, then looks, each cluster's once.
// What could not be carried through is asked for again, with the rest of the batch.
func errands(ctx context.Context, p *process, flow *interruption.Flow, hints []wire.Hint) error {
	var failed error
	for _, drains := range []bool{true, false} {
		requests, order := map[string]*interruption.Request{}, []string{}
		for _, hint := range hints {
			if (hint.Reason == wire.ReasonDrain) != drains {
				continue
			}
			if requests[hint.Cluster] == nil {
				requests[hint.Cluster] = &interruption.Request{Cluster: hint.Cluster, Owner: p.name, Deadline: p.now().Add(world.InvocationTimeout)}
				order = append(order, hint.Cluster)
			}
			requests[hint.Cluster].Take(hint)
		}
		for _, cluster := range order {
			var err error
			if drains {
				_, err = flow.Drain(ctx, *requests[cluster])
			} else {
				_, err = flow.Run(ctx, *requests[cluster])
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// readable returns the hints of a batch; what nobody can read is dropped.
func readable(batch []world.Message) []wire.Hint {
	var hints []wire.Hint
	for _, message := range batch {
		if hint, err := wire.DecodeHint([]byte(message.Body)); err == nil {
			hints = append(hints, hint)
		}
	}
	return hints
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
