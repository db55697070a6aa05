// Command aws starts a model of AWS on one port, deploys a template with a queue, a table, a role and a function,
// sends a message, and shows what became of it: what the function wrote, and what its role did not let it do.
//
//	go run ./example/aws          # says what happens, and ends
//	go run ./example/aws -stay    # stays until Ctrl-C, for the AWS CLI
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	models "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

//go:embed template.json
var template []byte

func main() {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(keep) // this program is the function, too
		return
	}
	stay := flag.Bool("stay", false, "stay until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	program, err := os.Executable()
	if err == nil {
		err = run(ctx, program, *stay, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// keep is the function: it writes each message into the table, and tries to delete another item.
func keep(ctx context.Context, batch events.SQSEvent) error {
	// The credentials of its role, the region and the endpoint are in its environment.
	known, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	tables, table := dynamodb.NewFromConfig(known), aws.String(os.Getenv("TABLE"))
	for _, message := range batch.Records {
		item := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: message.Body}}
		if _, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: item}); err != nil {
			return err
		}
		other := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "other"}}
		if _, err := tables.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: other}); err == nil {
			return fmt.Errorf("the role lets the function delete items")
		}
	}
	return nil
}

// run starts everything and ends it when it returns. program is what runs as the function.
func run(ctx context.Context, program string, stay bool, out io.Writer) error {
	// AWS on one port. Policies act at once here; in AWS, and by default, they take seconds.
	c, err := cloud.Start(ctx, cloud.Options{Readings: reading.Strict(reading.Delays()...)})
	if err != nil {
		return err
	}
	defer c.Close()
	tables := models.NewModel(models.Options{Account: c.Account(), Region: c.Region()})
	c.Register("dynamodb", models.NewHandler(tables))
	// The account: roles, which EC2's model keeps, a Lambda runtime, and where each function's program is.
	code := func(_, _ string) (string, error) { return program, nil }
	roles := ec2.New(ec2.Options{Clock: clock.System(), Account: c.Account()})
	account := deploy.NewAccount(deploy.Models{Cloud: c, EC2: roles, Code: code})
	defer account.Close()
	account.Runtime, err = lambdaruntime.New(lambdaruntime.Config{
		Region: c.Region(), AccountID: c.Account(), EndpointURL: c.Endpoint(), Credentials: account.Credentials,
	})
	if err != nil {
		return err
	}
	defer account.Runtime.Stop()
	// The stack.
	parsed, err := cloudformation.Parse(template)
	if err != nil {
		return err
	}
	stack, err := account.Deploy(ctx, parsed, cloudformation.Environment{StackName: "shop"})
	if err != nil {
		return err
	}
	queue, err := stack.Ref("Orders")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "AWS is at %s, account %s, region %s\n", c.Endpoint(), c.Account(), c.Region())
	if err := order(ctx, c.Config(), queue, "order-1"); err != nil {
		return err
	}
	fmt.Fprintln(out, "order-1 went through the queue and the function into the table")
	for _, use := range c.Policies.Denied() {
		fmt.Fprintf(out, "denied: %s on %s\n", use.Action, use.Resource)
	}
	if stay {
		fmt.Fprintf(out, "try: aws --endpoint-url %s dynamodb scan --table-name orders   (with the keys %s and %s)\n",
			c.Endpoint(), cloud.DefaultAccessKeyID, cloud.DefaultSecretAccessKey)
		<-ctx.Done()
	}
	return nil
}

// order sends a message by the SDK, as any client does, and waits until its item is in the table.
func order(ctx context.Context, known aws.Config, queue, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	message := &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &id}
	if _, err := sqs.NewFromConfig(known).SendMessage(ctx, message); err != nil {
		return err
	}
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}
	for tables := dynamodb.NewFromConfig(known); ; time.Sleep(50 * time.Millisecond) {
		got, err := tables.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key})
		if err != nil || len(got.Item) > 0 {
			return err
		}
	}
}
