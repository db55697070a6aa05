package deploy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

// Models are what an account and region consist of.
type Models struct {
	Cloud      *cloud.Cloud
	Account    string // twelve digits; "" = the cloud's
	EC2        *ec2.Model
	EKS        *eks.Model
	Parameters *ssm.Model
	ECR        *ecr.Model // nil: there are no repositories
	Keys       *kms.Model // nil: there are no keys but AWS's own
	Runtime    *lambdaruntime.Runner
	Bus        *events.Bus
	Schedules  *schedule.Scheduler
	// Code returns the executable of a function by where its zip is, e.g. the key "ASSET-joiner-provision-arm64" of any bucket.
	Code  func(bucket, key string) (path string, err error)
	Buses map[string]*events.Bus // of other accounts, by ARN, for rules that send there
	// OnDropped hears of a delivery that was given up; nil = nobody does.
	OnDropped  func(error)
	Changes    Changes
	Boundaries rights.Boundaries // permissions boundaries that templates name, by ARN
}

// Changes are made to what a template says, by logical id. Any may be nil.
type Changes struct {
	Function func(id string, f *lambdaruntime.Function)
	Queue    func(id string, attributes map[string]string)
	Mapping  func(id string, c *eventsource.Config)
	Schedule func(id string, s *schedule.Schedule)
}

// Account is where stacks are deployed. Its methods are called one at a time.
type Account struct {
	Models
	running context.Context // until Close: rules, schedules and mappings send meanwhile
	stop    context.CancelFunc

	mappings   map[string][]*eventsource.Mapping // by logical id: each cluster's stack has one
	fed        map[string]*eventsource.Mapping   // by stack and logical id
	waiting    []schedule.Schedule               // until Begin
	begun      bool
	rules      []events.Rule // by pattern
	clocks     []string      // names of rules by the clock
	identities map[identity]podRole
	exports    map[string]string
	roles      map[string]string // ARN by name
	named      map[string]string // stack that made it, by type and name, of what no model keeps
	answers    answers

	mutex sync.Mutex // guards async, which schedules read when they fire
	async map[string]delivery.Async
}

// identity is a service account that is given a role.
type identity struct{ cluster, namespace, serviceAccount string }

// NewAccount returns an account without stacks.
func NewAccount(m Models) *Account {
	a := &Account{
		Models: m, mappings: map[string][]*eventsource.Mapping{}, fed: map[string]*eventsource.Mapping{}, identities: map[identity]podRole{}, exports: map[string]string{},
		roles: map[string]string{}, named: map[string]string{}, async: map[string]delivery.Async{},
	}
	a.running, a.stop = context.WithCancel(context.Background())
	if a.OnDropped == nil {
		a.OnDropped = func(error) {}
	}
	return a
}

// account is the twelve digits of the account.
func (a *Account) account() string { return cmp.Or(a.Models.Account, a.Cloud.Account()) }

// ID is the twelve digits of the account.
func (a *Account) ID() string { return a.account() }

// Close ends the mappings and all that sends. The runtime should be stopped before, else batches in flight are waited for.
func (a *Account) Close() {
	a.stop()
	for _, made := range a.mappings {
		for _, m := range made {
			m.Stop()
		}
	}
	a.answers.close()
}

// Begin lets schedules fire, those that were deployed and those that will be: a rate is due at once, and who is still putting
// clusters and their functions together does not want to wait a minute for the second time.
func (a *Account) Begin() error {
	a.begun = true
	for _, s := range a.waiting {
		if err := a.Schedules.Create(s); err != nil {
			return err
		}
	}
	a.waiting = nil
	return nil
}

// Mapping returns the first event source mapping of a logical id, nil when there is none.
func (a *Account) Mapping(id string) *eventsource.Mapping {
	if made := a.mappings[id]; len(made) > 0 {
		return made[0]
	}
	return nil
}

// Rules are the rules of all stacks, with targets that send.
func (a *Account) Rules() []events.Rule { return slices.Clone(a.rules) }

// podRole is what EKS gives pods: keys of a role, or of the target that this role takes on.
type podRole struct{ role, target string }

// PodRole returns the role that EKS gives to pods of a service account, "" for none: the target, where one is named that lets the
// account's own take it on.
func (a *Account) PodRole(cluster, namespace, serviceAccount string) string {
	given := a.identities[identity{cluster, namespace, serviceAccount}]
	if given.target == "" {
		return given.role
	}
	asked := wire.Access{Action: "sts:AssumeRole", Resource: given.target, Context: map[string][]string{}}
	if !a.Cloud.Policies.Decide(policy.Role(given.role), asked).Allowed() {
		return ""
	}
	return given.target
}

// Stack is a deployed stack: Ref and Attribute tell what its resources came to be.
type Stack struct {
	*cloudformation.Stack
	values *values
}

// values are what resources are called by their templates, and what custom ones answered.
type values struct {
	named  *cloudformation.Named
	custom map[string]made // by logical id
	roleID func(arn string) string
}

// made is what a custom resource came to be.
type made struct {
	id   string // physical
	data map[string]any
}

// Ref implements cloudformation.Values.
func (v *values) Ref(logicalID string) (any, error) {
	if m, ok := v.custom[logicalID]; ok {
		return m.id, nil
	}
	return v.named.Ref(logicalID)
}

// Attribute implements cloudformation.Values.
func (v *values) Attribute(logicalID, attribute string) (any, error) {
	m, ok := v.custom[logicalID]
	if attribute == "RoleId" {
		arn, err := v.named.Attribute(logicalID, "Arn")
		if id := v.roleID(fmt.Sprint(arn)); err == nil && id != "" {
			return id, nil
		}
	}
	if !ok {
		return v.named.Attribute(logicalID, attribute)
	}
	value, ok := m.data[attribute]
	if !ok {
		return nil, fmt.Errorf("resource %s: it answered without the attribute %s", logicalID, attribute)
	}
	return value, nil
}

// Open puts a template in its environment, of which account and region are the account's own. Nothing is made. before is the stack as it was deployed until
// now, nil for a new one: what its custom resources came to be stays known.
func (a *Account) Open(t *cloudformation.Template, env cloudformation.Environment, before *Stack) (*Stack, error) {
	env.Account, env.Region = a.account(), a.Cloud.Region()
	v := &values{custom: map[string]made{}, roleID: a.Cloud.STS.RoleID}
	if before != nil {
		v.custom = maps.Clone(before.values.custom)
	}
	resolved, err := t.With(env, v)
	if err != nil {
		return nil, err
	}
	v.named = &cloudformation.Named{Stack: resolved}
	return &Stack{Stack: resolved, values: v}, nil
}

// Grant has the policies of a stack count, in place of those it had before. Names are known beforehand, so that policies hold before anybody can do anything.
func (a *Account) Grant(s *Stack) error {
	_, err := rights.Add(a.Cloud.Policies, s.Stack, a.Boundaries)
	return err
}

// Deploy makes every resource of a template, in order. Account, region and exports of the environment are the account's own.
// On an error what was made until then stays.
func (a *Account) Deploy(ctx context.Context, t *cloudformation.Template, env cloudformation.Environment) (*Stack, error) {
	env.Exports = maps.Clone(a.exports)
	s, err := a.Open(t, env, nil)
	if err != nil {
		return nil, fmt.Errorf("deploy %s: %w", env.StackName, err)
	}
	order, err := s.Order()
	if err != nil {
		return nil, fmt.Errorf("deploy %s: %w", env.StackName, err)
	}
	if err := a.Grant(s); err != nil {
		return nil, fmt.Errorf("deploy %s: %w", env.StackName, err)
	}
	for _, id := range order {
		if err := a.Make(ctx, s, id); err != nil {
			return nil, fmt.Errorf("deploy %s: resource %s (%s): %w", env.StackName, id, t.Resources[id].Type, err)
		}
	}
	exports, err := s.ExportValues()
	if err != nil {
		return nil, fmt.Errorf("deploy %s: %w", env.StackName, err)
	}
	for name, value := range exports {
		if _, taken := a.exports[name]; taken {
			return nil, fmt.Errorf("deploy %s: another stack exports %s", env.StackName, name)
		}
		a.exports[name] = value
	}
	return s, nil
}
