package stack

import (
	"context"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/stacks"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// kubernetesMinor is the version as EKS writes it: "1.36".
func kubernetesMinor() string {
	parts := strings.SplitN(strings.TrimPrefix(kube.KubernetesVersion(), "v"), ".", 3)
	return parts[0] + "." + parts[1]
}

// startRuntime makes what functions run in and what calls them, and the account the templates are deployed to.
func (s *Stack) startRuntime() error {
	s.schedule = schedule.New(schedule.Config{Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	s.Bus = events.NewBus(events.Config{Account: s.Cloud.Account(), Region: s.Cloud.Region(), OnDropped: func(rule string, err error) { s.say("rule %s: %v", rule, err) }})
	s.Cloud.Register("events", schedule.NewHandler(s.schedule, s.Bus, nil))
	s.deployments = deploy.NewAccount(deploy.Models{
		Cloud: s.Cloud, EC2: s.EC2, EKS: s.account.eks, Parameters: s.account.parameters, ECR: s.ECR, Keys: s.account.keys, Bus: s.Bus, Schedules: s.schedule,
		Code: s.code, Changes: s.changes(), OnDropped: func(err error) { s.say("%v", err) },
	})
	s.closeLater(s.deployments.Close)
	s.Stacks = stacks.New(stacks.Options{Account: s.deployments, Object: s.Cloud.S3.Get})
	s.Cloud.Register("cloudformation", stacks.NewHandler(s.Stacks))
	s.closeLater(s.Stacks.Close)
	var err error
	s.Runtime, err = lambdaruntime.New(lambdaruntime.Config{
		Region: s.Cloud.Region(), AccountID: s.Cloud.Account(), EndpointURL: s.Cloud.Endpoint(),
		AccountConcurrency: s.Options.Concurrency, Credentials: s.deployments.Credentials, OnLog: s.Options.OnLog, OnExit: s.Options.OnExit,
	})
	if err != nil {
		return err
	}
	s.deployments.Runtime = s.Runtime
	s.Cloud.Register("lambda", lambdaruntime.NewHandler(s.Runtime))
	s.closeLater(s.Runtime.Stop) // before the mappings, which would wait for what is in flight
	s.closeLater(s.schedule.Stop)
	return nil
}

// SetTicksDisabled has the rule that invokes functions each minute fire no more, or again.
func (s *Stack) SetTicksDisabled(disabled bool) {
	s.schedule.SetDisabled("joiner-tick", disabled)
}

// tick sends a function the tick of a minute now, without waiting for the schedule.
func (s *Stack) tick(ctx context.Context, id string) (lambdaruntime.Result, error) {
	name, err := s.Region.Ref(id)
	if err != nil {
		return lambdaruntime.Result{}, err
	}
	return s.Runtime.Invoke(ctx, name, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
}

// Resync sends the tick of a minute now, without waiting for the schedule.
func (s *Stack) Resync(ctx context.Context) (lambdaruntime.Result, error) {
	return s.tick(ctx, "Provision")
}

// Collect sends the collector's tick of a minute now, without waiting for the schedule.
func (s *Stack) Collect(ctx context.Context) (lambdaruntime.Result, error) {
	return s.tick(ctx, "Interruption")
}

// Resolve sends the catalog's tick of a minute now, without waiting for the schedule.
func (s *Stack) Resolve(ctx context.Context) (lambdaruntime.Result, error) {
	return s.tick(ctx, "Catalog")
}

// Disrupt sends the disruption function's tick of a minute now, without waiting for the schedule.
func (s *Stack) Disrupt(ctx context.Context) (lambdaruntime.Result, error) {
	return s.tick(ctx, "Disrupt")
}

// FunctionName is what a function is deployed as, by its logical id: Provision, Interruption, Catalog or Disrupt.
func (s *Stack) FunctionName(id string) string {
	name, err := s.Region.Ref(id)
	if err != nil {
		return "" // nothing of that id
	}
	return name
}

// Mapping returns the event source that feeds the function that launches instances.
func (s *Stack) Mapping() *eventsource.Mapping { return s.deployments.Mapping("ProvisionFromPlan") }
