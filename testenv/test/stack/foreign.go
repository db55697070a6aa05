package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/stacks"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// What stands in the committed templates of a cluster in another account: the account of the region's stack, the other one, and the
// external id that whoever deploys the hub's part is told by the other part.
const (
	templatesHub      = "111111111111"
	templatesForeign  = "222222222222"
	templatesExternal = "11111111-2222-3333-4444-555555555555"
)

// Foreign is another account of the modeled AWS, with EC2, ECR, EKS, IAM, SSM, stacks and an event bus of its own. Table, bucket and queues of Joiner's
// belong to the stack's account alone.
type Foreign struct {
	Account string
	EC2     *ec2.Model
	ECR     *ecr.Model
	Stacks  *stacks.Model // what is deployed over the wire
	Bus     *events.Bus   // EC2 of the account tells it what it has to say

	own         *account
	deployments *deploy.Account
	stack       *Stack
}

// AddForeign adds the account that the committed templates are of, with a network that classes find by a discovery tag, or that has no such tags yet where
// the stack is a bare one.
func AddForeign(s *Stack, discovery string) *Foreign {
	network := ec2.DefaultNetwork(discovery)
	if s.Options.Bare {
		network = untagged(network)
	}
	f := &Foreign{Account: templatesForeign, stack: s}
	f.EC2 = ec2.New(ec2.Options{Clock: s.Cloud.Clock(), Account: f.Account, Timing: &s.Options.EC2, Network: &network, Seed: 2, Readings: s.Options.Readings})
	f.Bus = events.NewBus(events.Config{Account: f.Account, Region: s.Cloud.Region(), OnDropped: func(rule string, err error) { s.say("rule %s of account %s: %v", rule, f.Account, err) }})
	f.own = &account{
		ec2: f.EC2, eks: eks.New(eks.Options{Clock: s.Cloud.Clock(), Account: f.Account, Region: s.Cloud.Region(), Readings: s.Options.Readings}), parameters: ssm.New(ssm.Options{Account: f.Account}),
	}
	f.ECR = ecr.New(ecr.Options{Account: f.Account, Region: s.Cloud.Region()})
	s.Cloud.RegisterFor(f.Account, "ec2", ec2.NewHandler(f.EC2))
	s.Cloud.RegisterFor(f.Account, "ecr", ecr.NewHandler(f.ECR))
	s.Cloud.RegisterFor(f.Account, "eks", eks.NewHandler(f.own.eks))
	s.Cloud.RegisterFor(f.Account, "iam", iam.NewHandler(f.EC2, s.Cloud.Policies))
	s.Cloud.RegisterFor(f.Account, "ssm", ssm.NewHandler(f.own.parameters))
	hub := map[string]*events.Bus{"arn:aws:events:" + s.Cloud.Region() + ":" + s.Cloud.Account() + ":event-bus/default": s.Bus}
	s.Cloud.RegisterFor(f.Account, "events", schedule.NewHandler(schedule.New(schedule.Config{Account: f.Account, Region: s.Cloud.Region()}), f.Bus, hub))
	f.deployments = deploy.NewAccount(deploy.Models{
		Cloud: s.Cloud, Account: f.Account, EC2: f.EC2, EKS: f.own.eks, Parameters: f.own.parameters, ECR: f.ECR, Bus: f.Bus, Schedules: s.schedule,
		Buses: hub, OnDropped: func(err error) { s.say("%v", err) },
	})
	s.closeLater(f.deployments.Close)
	f.Stacks = stacks.New(stacks.Options{Account: f.deployments, Object: s.Cloud.S3.Get})
	s.Cloud.RegisterFor(f.Account, "cloudformation", stacks.NewHandler(f.Stacks))
	s.closeLater(f.Stacks.Close)
	f.EC2.OnEvent(func(source, detailType string, detail any, resources []string) {
		text, err := json.Marshal(detail)
		if err != nil {
			s.say("an event of %s: %v", source, err)
			return
		}
		go func() {
			if _, err := f.Bus.PutEvents(s.running, events.Entry{Source: source, DetailType: detailType, Detail: text, Resources: resources, Time: time.Now()}); err != nil {
				s.say("an event of %s: %v", source, err)
			}
		}()
	})
	return f
}

// Administrator returns keys of somebody who may do in the account whatever that account can allow.
func (f *Foreign) Administrator() (sts.Credentials, error) {
	role := f.stack.Cloud.STS.AddRole(sts.Role{Name: "Admin", Account: f.Account})
	return f.stack.Cloud.STS.Assume(role, "redteam", sessionLife)
}

// Clusters is EKS as the account has it.
func (f *Foreign) Clusters() *eks.Model { return f.own.eks }

// StartCluster starts a cluster in the account, and deploys nothing.
func (f *Foreign) StartCluster(ctx context.Context, name string) (*Cluster, error) {
	c, err := f.stack.startCluster(ctx, f.own, name, filepath.Join(f.stack.dir, "cluster-"+name))
	if err != nil {
		return nil, fmt.Errorf("start cluster %s of account %s: %w", name, f.Account, err)
	}
	c.foreign = f
	return c, nil
}

// AddCluster starts a cluster in the account and attaches it, as people do: its own stack there, and the hub's part, with the external id
// of the other, in the stack's account.
func (f *Foreign) AddCluster(ctx context.Context, name string) (*Cluster, error) {
	s := f.stack
	c, err := f.StartCluster(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := s.install(ctx, c); err != nil {
		return nil, fmt.Errorf("add cluster %s of account %s: %w", name, f.Account, err)
	}
	own, err := foreignTemplate("cluster-foreign", name, s.Cloud.Account(), "")
	if err != nil {
		return nil, err
	}
	stackName := regionStack + "-cluster-" + name
	id := "arn:aws:cloudformation:" + s.Cloud.Region() + ":" + f.Account + ":stack/" + stackName + "/" + uuid.NewString() // of which its external id is a part
	if c.stack, err = f.deployments.Deploy(ctx, own, cloudformation.Environment{StackName: stackName, StackID: id}); err != nil {
		return nil, err
	}
	outputs, err := c.stack.OutputValues()
	if err != nil {
		return nil, err
	}
	hub, err := foreignTemplate("cluster-foreign-hub", name, s.Cloud.Account(), outputs["ExternalID"])
	if err != nil {
		return nil, err
	}
	inHub, err := s.deployments.Deploy(ctx, hub, cloudformation.Environment{StackName: stackName + "-hub"})
	if err != nil {
		return nil, err
	}
	c.PlanURL, err = inHub.Ref("PlanQueue")
	return c, err
}

// foreignTemplate is a committed template of a cluster in another account, of another cluster and hub.
func foreignTemplate(file, name, hub, externalID string) (*cloudformation.Template, error) {
	text, err := template(file)
	if err != nil {
		return nil, err
	}
	return cloudformation.Parse([]byte(strings.NewReplacer(templatesCluster, name, templatesHub, hub, templatesExternal, externalID).Replace(text)))
}
