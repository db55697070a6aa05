package cost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	sdksqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// function is one of the functions: what it does with a tick, and with a batch of a queue. Each returns an error where the batch is
// to come again.
type function struct {
	name   string // as in the template
	queues []string
	tick   func(ctx context.Context, log *slog.Logger, tick string) error
	batch  func(ctx context.Context, log *slog.Logger, request batch) error
}

// batch is what an invocation was given.
type batch struct {
	hints    []wire.Hint
	groups   []string // of the hints
	notices  []interruption.Received
	owner    string
	deadline time.Time
}

func (a *Account) plan() *sqsqueue.Queue {
	return sqsqueue.New(a.clients.sqs, a.queues[planQueue])
}

func (a *Account) delayed(name string) *sqsqueue.DelayQueue {
	return sqsqueue.NewDelayQueue(a.clients.sqs, a.queues[name])
}

// deploy returns the functions, wired as their programs are.
func (a *Account) deploy() map[string]*function {
	ledger := dynamoledger.New(a.clients.dynamodb, table, dynamoledger.Clock(a.now))
	store, cache := s3snapshot.New(a.clients.s3, bucket), s3catalog.New(a.clients.s3, bucket, s3catalog.Settings{})
	ports, hints := a.world.Ports(gate{&a.meter}, "function"), asks{a}

	registrations := ports.Provision(a.now, provision.Settings{Build: "0123456789ab"})
	registrations.Registry, registrations.Leases, registrations.Claims, registrations.ClaimStates, registrations.Unavailable = ledger, ledger, ledger, ledger, ledger
	registrations.Allowances, registrations.Memory, registrations.Memories, registrations.UsageRecounts = ledger, ledger, ledger, ledger
	registrations.Decisions, registrations.Snapshots, registrations.Losses, registrations.Catalogs = store, store, ledger, cache
	registrations.RequestResync, registrations.RequestDisruption = hints.Resync, news{a}.RequestDisruption
	registrations.Peeks, registrations.Parallel = ledger, work.Sequential

	deaths := ports.Interruption(a.now, interruption.Settings{})
	deaths.Registry, deaths.Leases, deaths.Collector, deaths.Claims, deaths.Finder = ledger, ledger, ledger, ledger, ledger
	deaths.Steps, deaths.Unavailable, deaths.Removals, deaths.Peeks = ledger, ledger, store, ledger
	deaths.RequestPass, deaths.RequestPlan, deaths.RequestDrain = hints.RequestPass, hints.Plan, hints.Drain
	deaths.RequestDisruption, deaths.Parallel = news{a}.RequestDisruption, work.Sequential

	choices := ports.Disrupt(a.now, disrupt.Settings{Build: "0123456789ab"})
	choices.Registry, choices.Leases, choices.Ledger, choices.Commands = ledger, ledger, ledger, ledger
	choices.Snapshots, choices.Losses, choices.Decisions, choices.Catalogs = store, ledger, store, cache
	choices.RequestDisruption, choices.RequestReplacement = disruptions{a}.RequestDisruption, hints.Replace
	choices.RequestDrain, choices.Parallel = hints.Drain, work.Sequential

	classes := ports.Catalog(a.now, catalog.Settings{})
	classes.Registry, classes.Leases, classes.Records, classes.Allowances, classes.Catalogs = ledger, ledger, ledger, ledger, cache
	classes.RequestPass, classes.ReportReady = classHints{a}.RequestPass, classHints{a}.Ready
	classes.RequestDisruption, classes.Peeks = news{a}.RequestDisruption, ledger
	region := a.world.Region(&world.Market{Catalog: a.world.Catalog}, a.now)
	region.Registry, region.Ledgers, region.Snapshots, region.Losses, region.Catalogs, region.Learnings, region.Allowances = ledger, ledger, store, ledger, cache, ledger, ledger

	all := map[string]*function{}
	reported := provision.Forwarder{Dues: ledger, Now: a.now, Queues: map[wire.HintReason]provision.DelayedHints{
		wire.ReasonConfig: a.delayed(catalogQueue), wire.ReasonEnd: a.delayed(interruptionQueue), wire.ReasonDisrupt: a.delayed(disruptionQueue),
	}}
	for _, f := range []*function{provisioning(registrations, reported), ending(deaths), evaluating(choices), resolving(classes, region)} {
		all[f.name] = f
	}
	return all
}

// resync is what a function does at its tick: it hints every cluster that is to be looked at.
func resync(fanOut func(ctx context.Context, tick string) (int, error)) func(context.Context, *slog.Logger, string) error {
	return func(ctx context.Context, log *slog.Logger, tick string) error {
		sent, err := fanOut(ctx, tick)
		log.Info("sweep", "tick", tick, "clusters", sent, "error", err)
		return err
	}
}

func provisioning(flow *provision.Flow, reported provision.Forwarder) *function {
	return &function{
		name: "Provision", queues: []string{planQueue},
		tick: resync(flow.FanOut),
		batch: func(ctx context.Context, log *slog.Logger, b batch) error {
			request := provision.Request{Cluster: world.Name, Owner: b.owner, Deadline: b.deadline}
			plans := false
			for i, hint := range b.hints {
				if b.groups[i] != hint.Cluster {
					if err := reported.Forward(ctx, hint); err != nil {
						return err
					}
					continue
				}
				request.Take(hint)
				plans = true
			}
			if !plans {
				return nil
			}
			outcome, err := flow.Run(ctx, request)
			log.Info("provision", "outcome", outcome, "error", err)
			return err
		},
	}
}

func ending(flow *interruption.Flow) *function {
	return &function{
		name: "Interruption", queues: []string{interruptionQueue, noticesQueue},
		tick: resync(flow.FanOut),
		batch: func(ctx context.Context, log *slog.Logger, b batch) error {
			if len(b.notices) > 0 {
				failed, outcome := flow.Notices(ctx, b.notices, b.deadline)
				log.Info("notices", "outcome", outcome)
				if len(failed) > 0 {
					return fmt.Errorf("%d notices are to come again", len(failed))
				}
			}
			var drain, check *interruption.Request
			for _, hint := range b.hints {
				to := &check
				if hint.Reason == wire.ReasonDrain {
					to = &drain
				}
				if *to == nil {
					*to = &interruption.Request{Cluster: world.Name, Owner: b.owner, Deadline: b.deadline}
				}
				(*to).Take(hint)
			}
			var failed error
			if drain != nil {
				outcome, err := flow.Drain(ctx, *drain)
				log.Info("drain", "outcome", outcome, "error", err)
				failed = err
			}
			if check != nil {
				outcome, err := flow.Run(ctx, *check)
				log.Info("interruption", "outcome", outcome, "error", err)
				failed = errors.Join(failed, err)
			}
			return failed
		},
	}
}

func evaluating(flow *disrupt.Flow) *function {
	return &function{
		name: "Disrupt", queues: []string{disruptionQueue},
		tick: resync(flow.FanOut),
		batch: func(ctx context.Context, log *slog.Logger, b batch) error {
			request := disrupt.Request{Cluster: world.Name, Owner: b.owner, Deadline: b.deadline}
			for _, hint := range b.hints {
				request.Take(hint)
			}
			outcome, err := flow.Run(ctx, request)
			log.Info("disrupt", "outcome", outcome, "error", err)
			return err
		},
	}
}

func resolving(flow *catalog.Flow, region *catalog.Region) *function {
	return &function{
		name: "Catalog", queues: []string{catalogQueue},
		tick: func(ctx context.Context, log *slog.Logger, tick string) error {
			err := resync(flow.FanOut)(ctx, log, tick)
			outcomes, regionErr := region.Run(ctx)
			for _, outcome := range outcomes {
				if len(outcome.Refreshed)+len(outcome.Problems) > 0 {
					log.Info("region", "outcome", outcome)
				}
			}
			return errors.Join(err, regionErr)
		},
		batch: func(ctx context.Context, log *slog.Logger, b batch) error {
			changed := slices.ContainsFunc(b.hints, func(h wire.Hint) bool { return h.Reason == wire.ReasonConfig })
			outcome, err := flow.Run(ctx, catalog.Request{Cluster: world.Name, Config: changed, Owner: b.owner, Deadline: b.deadline})
			log.Info("catalog", "outcome", outcome, "error", err)
			return err
		},
	}
}

// invocationTimeout is what is left of an invocation when it begins.
const invocationTimeout = 30 * time.Second

// invoke runs one invocation and meters it.
func (a *Account) invoke(f *function, do func(log *slog.Logger) error) error {
	out := &counter{}
	log := slog.New(slog.NewJSONHandler(out, nil)).With("program", f.name, "request", "00000000-0000-0000-0000-000000000000")
	end := a.meter.invocation(f.name)
	err := do(log)
	end(out.bytes)
	return err
}

// tickAll gives a tick to every function.
func (a *Account) tickAll(ctx context.Context, tick time.Time) error {
	a.meter.add(Usage{Ticks: 1})
	for _, name := range []string{"Provision", "Interruption", "Catalog", "Disrupt"} {
		f := a.functions[name]
		err := a.invoke(f, func(log *slog.Logger) error { return f.tick(ctx, log, tick.UTC().Format(time.RFC3339)) })
		if err != nil {
			return fmt.Errorf("tick of %s: %w", name, err)
		}
	}
	return nil
}

// poll hands a batch of every queue that shows messages to its function, and reports whether there was any. What a poller asks for and
// deletes is metered as one request each; what it asks without effect is not, see Deployment.
func (a *Account) poll(ctx context.Context) (bool, error) {
	any := false
	for _, name := range []string{"Provision", "Interruption", "Catalog", "Disrupt"} {
		for _, queue := range a.functions[name].queues {
			if depth, _ := a.cloud.SQS.Depth(queue); depth.Visible == 0 {
				continue
			}
			took, err := a.take(ctx, a.functions[name], queue)
			if err != nil {
				return true, err
			}
			any = any || took
		}
	}
	return any, nil
}

// take receives a batch and invokes the function with it. A batch that failed stays in the queue and comes again.
func (a *Account) take(ctx context.Context, f *function, queue string) (bool, error) {
	url := a.queues[queue]
	out, err := a.clients.sqs.ReceiveMessage(ctx, &sdksqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameMessageGroupId}})
	if err != nil || len(out.Messages) == 0 {
		return false, err
	}
	b := batch{owner: *out.Messages[0].MessageId, deadline: a.now().Add(invocationTimeout)}
	var done []sqstypes.DeleteMessageBatchRequestEntry
	for _, m := range out.Messages {
		if hint, err := wire.DecodeHint([]byte(*m.Body)); err == nil {
			b.hints, b.groups = append(b.hints, hint), append(b.groups, m.Attributes[string(sqstypes.MessageSystemAttributeNameMessageGroupId)])
		} else {
			b.notices = append(b.notices, interruption.Received{Message: *m.MessageId, Body: []byte(*m.Body)})
		}
		done = append(done, sqstypes.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
	}
	if err := a.invoke(f, func(log *slog.Logger) error { return f.batch(ctx, log, b) }); err != nil {
		a.meter.failed(f.name, err)
		return true, nil
	}
	_, err = a.clients.sqs.DeleteMessageBatch(ctx, &sdksqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: done})
	return true, err
}

// counter counts what is written.
type counter struct{ bytes int64 }

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)

// asks are the hints functions send each other, as their programs do.
type asks struct{ *Account }

func (s asks) Resync(ctx context.Context, cluster, tick string) error {
	return s.plan().Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: tick})
}

func (s asks) Plan(ctx context.Context, cluster, key string) error {
	return s.plan().Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonLeaving, Tick: key})
}

func (s asks) Replace(ctx context.Context, cluster, key string) error {
	return s.plan().Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonReplace, Tick: key})
}

func (s asks) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return s.delayed(interruptionQueue).Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, after)
}

func (s asks) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return s.delayed(interruptionQueue).Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

// disruptions are looks the disruption function asks for itself.
type disruptions struct{ *Account }

func (j disruptions) RequestDisruption(ctx context.Context, cluster, key string, after time.Duration) error {
	return j.delayed(disruptionQueue).Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, after)
}

// news are looks of the disruption function that others ask for.
type news struct{ *Account }

func (n news) RequestDisruption(ctx context.Context, cluster, key string) error {
	return disruptions(n).RequestDisruption(ctx, cluster, key, 0)
}

// classHints are what the function of the catalog sends.
type classHints struct{ *Account }

func (h classHints) RequestPass(ctx context.Context, cluster, key string) error {
	return h.delayed(catalogQueue).Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, 0)
}

func (h classHints) Ready(ctx context.Context, cluster, key string) error {
	return h.plan().Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonConfig, Tick: key})
}
