package conform

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// CLIVariable names the environment variable with the path of the AWS CLI. `make conform` installs one and sets it.
const CLIVariable = "JOINER_AWS_CLI"

// TestTheAWSCommandLineReadsItsAnswers runs the unmodified AWS CLI against the model, and moto where it runs.
func TestTheAWSCommandLineReadsItsAnswers(t *testing.T) {
	cli := os.Getenv(CLIVariable)
	if cli == "" {
		t.Logf("no AWS CLI named by %s: `make conform` brings one", CLIVariable)
		return
	}
	model := ec2.New(ec2.Options{Clock: clock.System(), Timing: &ec2.Timing{}})
	services := Services{"ec2": ec2.NewHandler(model), "dynamodb": dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{}))}
	Each(t, services, func(t *testing.T, target Target) {
		aws := func(args ...string) map[string]any {
			t.Helper()
			command := exec.Command(cli, append([]string{"--endpoint-url", *target.Config.BaseEndpoint, "--region", Region, "--output", "json"}, args...)...)
			keys, err := target.Config.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			command.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey, "AWS_PAGER=")
			text, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, text)
			}
			if len(strings.TrimSpace(string(text))) == 0 {
				return nil
			}
			var out map[string]any
			if err := json.Unmarshal(text, &out); err != nil {
				t.Fatalf("aws %s answered %s", strings.Join(args, " "), text)
			}
			return out
		}
		list := func(out map[string]any, key string) []any {
			values, _ := out[key].([]any)
			return values
		}

		if out := aws("ec2", "describe-instances"); out["Reservations"] == nil {
			t.Errorf("describe-instances answered %v", out)
		}
		if out := aws("ec2", "describe-subnets"); len(list(out, "Subnets")) < 3 {
			t.Errorf("describe-subnets answered %v", out)
		}
		types := aws("ec2", "describe-instance-types", "--instance-types", "m5.large")
		if len(list(types, "InstanceTypes")) != 1 {
			t.Errorf("describe-instance-types answered %v", types)
		}
		name := Unique("cli")
		aws("sqs", "create-queue", "--queue-name", name+".fifo", "--attributes", "FifoQueue=true")
		if out := aws("sqs", "list-queues", "--queue-name-prefix", name); len(list(out, "QueueUrls")) != 1 {
			t.Errorf("list-queues answered %v", out)
		}
		aws("dynamodb", "create-table", "--table-name", name, "--billing-mode", "PAY_PER_REQUEST",
			"--attribute-definitions", "AttributeName=PK,AttributeType=S", "--key-schema", "AttributeName=PK,KeyType=HASH")
		aws("dynamodb", "put-item", "--table-name", name, "--item", `{"PK":{"S":"one"},"n":{"N":"1"}}`)
		if out := aws("dynamodb", "scan", "--table-name", name); out["Count"] != 1.0 {
			t.Errorf("scan answered %v", out)
		}
		if out := aws("sts", "get-caller-identity"); out["Account"] == nil {
			t.Errorf("get-caller-identity answered %v", out)
		}
	})
}
