package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
)

type functionProperties struct {
	FunctionName, Role, Runtime, Handler string
	Code                                 struct{ S3Bucket, S3Key string }
	Environment                          struct{ Variables map[string]string }
	MemorySize, Timeout                  int // MB, seconds
	ReservedConcurrentExecutions         *int
	RecursiveLoop                        string // Allow or Terminate
	VpcConfig                            network
	KmsKeyArn                            string // of the settings
}

// network is where a function runs; without subnets that is outside of any VPC.
type network struct{ SubnetIDs, SecurityGroupIDs []string }

func functionExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	_, there := r.account.Runtime.Function(name)
	return there, err
}

// makeFunction deploys a function.
func makeFunction(ctx context.Context, r resource) error { return changeFunction(ctx, r, nil) }

// removeFunction takes a function away, with what is still to be invoked of it.
func removeFunction(_ context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	arn, err := r.arn()
	if err != nil {
		return err
	}
	r.account.Runtime.Remove(name)
	r.account.Cloud.Policies.RemoveResource(arn)
	return nil
}

// changeFunction deploys a function in place of the one there is.
func changeFunction(_ context.Context, r resource, _ properties) error {
	var p functionProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	if p.Runtime != "provided.al2023" || p.Handler != "bootstrap" {
		return fmt.Errorf("property Runtime is %q and Handler %q; provided.al2023 and bootstrap are modelled", p.Runtime, p.Handler)
	}
	if err := r.account.takeOn("lambda.amazonaws.com", p.Role, ""); err != nil {
		return err
	}
	if err := r.account.attach(p.Role, p.VpcConfig); err != nil {
		return err
	}
	if err := r.account.usable(p.KmsKeyArn); err != nil {
		return err
	}
	path, err := r.account.Code(p.Code.S3Bucket, p.Code.S3Key)
	if err != nil {
		return err
	}
	f := lambdaruntime.Function{
		Name: name, Path: path, Env: p.Environment.Variables, MemoryMB: p.MemorySize, Timeout: time.Duration(p.Timeout) * time.Second,
		Role: p.Role, ReservedConcurrency: p.ReservedConcurrentExecutions,
	}
	switch p.RecursiveLoop {
	case "Allow":
		f.AllowRecursion = true
	case "", "Terminate":
	default:
		return fmt.Errorf("RecursiveLoop is %q; there are Allow and Terminate", p.RecursiveLoop)
	}
	if change := r.account.Changes.Function; change != nil {
		change(r.id, &f)
	}
	return r.account.Runtime.Deploy(f)
}

// attach checks that a function can be put into subnets, which Lambda does with the rights of its role. Source: Lambda developer guide, "Giving Lambda functions
// access to resources in an Amazon VPC".
func (a *Account) attach(role string, n network) error {
	if len(n.SubnetIDs) == 0 {
		return nil
	}
	for _, id := range n.SubnetIDs {
		if !slices.ContainsFunc(a.EC2.Subnets(), func(s ec2.Subnet) bool { return s.ID == id }) {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("Error occurred while DescribeSubnets. EC2 Error Code: InvalidSubnetID.NotFound. EC2 Error Message: The subnet ID '%s' does not exist", id)
		}
	}
	for _, id := range n.SecurityGroupIDs {
		if !slices.ContainsFunc(a.EC2.SecurityGroups(), func(g ec2.SecurityGroup) bool { return g.ID == id }) {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("Error occurred while DescribeSecurityGroups. EC2 Error Code: InvalidGroup.NotFound. EC2 Error Message: The security group '%s' does not exist", id)
		}
	}
	asked := wire.Access{Action: "ec2:CreateNetworkInterface", Resource: "*", Context: map[string][]string{}}
	if !a.Cloud.Policies.Decide(policy.Role(role), asked).Allowed() {
		//nolint:staticcheck // AWS's words
		return errors.New("The provided execution role does not have permissions to call CreateNetworkInterface on EC2")
	}
	return nil
}

// Credentials are the keys of a function's role, for lambdaruntime.Config.
func (a *Account) Credentials(_ context.Context, f lambdaruntime.Function) (awssdk.Credentials, error) {
	c, err := a.keys(f.Role, f.Name)
	return awssdk.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, err
}

type invokeProperties struct {
	FunctionName, Qualifier  string
	MaximumEventAgeInSeconds *int
	MaximumRetryAttempts     *int
}

// makeInvokeConfig says how a function takes asynchronous invocations.
func makeInvokeConfig(ctx context.Context, r resource) error {
	return changeInvokeConfig(ctx, r, nil)
}

// removeInvokeConfig has a function take asynchronous invocations as those do of which nothing is said.
func removeInvokeConfig(_ context.Context, r resource) error {
	var p invokeProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	r.account.mutex.Lock()
	defer r.account.mutex.Unlock()
	delete(r.account.async, p.FunctionName)
	return nil
}

// changeInvokeConfig says it anew.
func changeInvokeConfig(_ context.Context, r resource, _ properties) error {
	var p invokeProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.Qualifier != "$LATEST" {
		return fmt.Errorf("property Qualifier is %q; functions have no versions here but $LATEST", p.Qualifier)
	}
	config := delivery.DefaultAsync
	if p.MaximumEventAgeInSeconds != nil {
		config.MaxAge = time.Duration(*p.MaximumEventAgeInSeconds) * time.Second
	}
	if p.MaximumRetryAttempts != nil {
		config.MaxRetries = *p.MaximumRetryAttempts
	}
	r.account.mutex.Lock()
	defer r.account.mutex.Unlock()
	r.account.async[p.FunctionName] = config
	return nil
}

// asyncOf is how a function takes asynchronous invocations now.
func (a *Account) asyncOf(function string) delivery.Async {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if config, ok := a.async[function]; ok {
		return config
	}
	return delivery.DefaultAsync
}

type mappingProperties struct {
	FunctionName, EventSourceArn string
	BatchSize                    int
	Enabled                      *bool
	FunctionResponseTypes        []string
	ScalingConfig                struct{ MaximumConcurrency int }
}

// makeMapping feeds a function from a queue, with the rights of the function's role.
func makeMapping(ctx context.Context, r resource) error {
	var p mappingProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	function, ok := r.account.Runtime.Function(lastPart(p.FunctionName))
	if !ok {
		return fmt.Errorf("FunctionName: there is no function %s", p.FunctionName)
	}
	if p.Enabled != nil && !*p.Enabled {
		return fmt.Errorf("property Enabled is false; mappings that poll nothing are not modelled")
	}
	url, err := r.account.queueURL(ctx, p.EventSourceArn)
	if err != nil {
		return err
	}
	config := eventsource.Config{Function: function.Name, QueueURL: url, BatchSize: p.BatchSize, MaximumConcurrency: p.ScalingConfig.MaximumConcurrency}
	for _, kind := range p.FunctionResponseTypes {
		if kind != "ReportBatchItemFailures" {
			return fmt.Errorf("FunctionResponseTypes: %q is not known", kind)
		}
		config.ReportBatchItemFailures = true
	}
	if change := r.account.Changes.Mapping; change != nil {
		change(r.id, &config)
	}
	keys, err := r.account.keys(function.Role, function.Name)
	if err != nil {
		return err
	}
	mapping, err := eventsource.Start(ctx, r.account.Runtime, sqs.NewFromConfig(r.account.Cloud.ConfigFor(keys)), config)
	if err != nil {
		return err
	}
	r.account.mappings[r.id] = append(r.account.mappings[r.id], mapping)
	r.account.fed[r.key()] = mapping
	return nil
}

// removeMapping ends the polling, and waits for the batches in flight.
func removeMapping(_ context.Context, r resource) error {
	mapping := r.account.fed[r.key()]
	if mapping == nil {
		return nil
	}
	mapping.Stop()
	delete(r.account.fed, r.key())
	r.account.mappings[r.id] = slices.DeleteFunc(r.account.mappings[r.id], func(m *eventsource.Mapping) bool { return m == mapping })
	return nil
}

// changeMapping starts the mapping anew.
func changeMapping(ctx context.Context, r resource, old properties) error {
	before := resource{r.account, r.stack, r.id, old}
	if err := removeMapping(ctx, before); err != nil {
		return err
	}
	if err := makeMapping(ctx, r); err != nil {
		return errors.Join(err, makeMapping(ctx, before))
	}
	return nil
}
