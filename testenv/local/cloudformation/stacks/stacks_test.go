package stacks

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	clouddynamodb "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	cloudssm "github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// begin returns the CloudFormation of an account whose functions are this test's binary, and the account.
func begin(t *testing.T, concurrency int) (*Model, *deploy.Account) {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Register("dynamodb", clouddynamodb.NewHandler(clouddynamodb.NewModel(clouddynamodb.Options{Account: c.Account(), Region: c.Region()})))
	clusters := eks.New(eks.Options{})
	clusters.AddCluster(eks.Cluster{Name: "shop"})
	a := deploy.NewAccount(deploy.Models{
		Cloud: c, EC2: ec2.New(ec2.Options{Clock: clock.System(), Account: c.Account()}), EKS: clusters, Parameters: cloudssm.New(cloudssm.Options{}),
		ECR: ecr.New(ecr.Options{}), Bus: events.NewBus(events.Config{Account: c.Account(), Region: c.Region()}), Schedules: schedule.New(schedule.Config{}),
		Code: func(string, string) (string, error) { return os.Args[0], nil },
	})
	a.Runtime, err = lambdaruntime.New(lambdaruntime.Config{Region: c.Region(), AccountID: c.Account(), EndpointURL: c.Endpoint(), AccountConcurrency: concurrency})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Account: a, Object: c.S3.Get})
	t.Cleanup(func() { m.Close(); a.Runtime.Stop(); a.Close(); a.Schedules.Stop() })
	return m, a
}

// deployed makes a stack what a template says by way of a change set, as `cdk deploy` does, and returns its status when nothing is under way any more.
func deployed(t *testing.T, m *Model, name, template string) (status, reason string) {
	t.Helper()
	return deployedAs(t, m, name, template, true)
}

// deployedAs is deployed, which takes a change set that failed away or not.
func deployedAs(t *testing.T, m *Model, name, template string, tidy bool) (status, reason string) {
	t.Helper()
	kind := "UPDATE"
	if was, _ := m.Status(name); was == "" || was == reviewInProgress {
		kind = "CREATE"
	}
	_, err := m.createChangeSet(t.Context(), &changeSetInput{
		ChangeSetName: "c", ChangeSetType: kind, request: request{StackName: name, TemplateBody: template, Capabilities: []string{"CAPABILITY_NAMED_IAM"}},
	})
	if err != nil {
		t.Fatalf("create a change set of %s: %v", name, err)
	}
	described, err := m.describeChangeSet(t.Context(), &changeSetRef{ChangeSetName: "c", StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	if described.Status == "FAILED" {
		if !tidy {
			return "FAILED", described.StatusReason
		}
		if _, err := m.deleteChangeSet(t.Context(), &changeSetRef{ChangeSetName: "c", StackName: name}); err != nil {
			t.Fatal(err)
		}
		return "FAILED", described.StatusReason
	}
	if _, err := m.executeChangeSet(t.Context(), &executeInput{ChangeSetName: "c", StackName: name}); err != nil {
		t.Fatalf("execute the change set of %s: %v", name, err)
	}
	return settled(t, m, name)
}

// settled waits until nothing is under way.
func settled(t *testing.T, m *Model, name string) (status, reason string) {
	t.Helper()
	for {
		status, reason = m.Status(name)
		if !strings.HasSuffix(status, "IN_PROGRESS") {
			return status, reason
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("stack %s is %s", name, status)
		}
	}
}

// deleted deletes a stack and returns its status then, "" where it is gone.
func deleted(t *testing.T, m *Model, name string) (status, reason string) {
	t.Helper()
	if _, err := m.deleteStack(t.Context(), &deleteInput{StackName: name}); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
	return settled(t, m, name)
}

func want(t *testing.T, what, got, wanted string) {
	t.Helper()
	if !strings.Contains(got, wanted) || wanted == "" && got != "" {
		t.Errorf("%s is %q, not %q", what, got, wanted)
	}
}

// refused fails unless an error of CloudFormation has a code and says something.
func refused(t *testing.T, err error, code, says string) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("the error is %v, not %s: …%s…", err, code, says)
	}
}

const region = `{
	"Resources": {
		"Table": {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "POLICY", "Properties": {
			"TableName": "ledger", "BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": true,
			"AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}]}},
		"Switch": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Table"], "Properties": {"Name": "/stop", "Type": "String", "Value": "go"}}
	},
	"Outputs": {"ID": {"Value": "VALUE", "Export": {"Name": "region-id"}}}
}`

func regionOf(pairs ...string) string {
	all := append(pairs, "POLICY", "Delete", "VALUE", "one", `, "DeletionProtectionEnabled": true`, "")
	return strings.NewReplacer(all...).Replace(region)
}

const cluster = `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop", "Type": "String", "Value": {"Fn::ImportValue": "region-id"}}}}}`

// A stack that imports what no stack exports is refused before anything of it is made; once the other is there it is deployed (A1).
func TestA1WhatIsImportedHasToBeExportedBefore(t *testing.T) {
	m, _ := begin(t, 0)
	status, reason := deployed(t, m, "cluster", cluster)
	want(t, "status", status, "FAILED")
	want(t, "reason", reason, "No export named region-id found")
	want(t, "the stack's status", first(m.Status("cluster")), reviewInProgress)

	want(t, "status", first(deployed(t, m, "region", regionOf())), createComplete)
	want(t, "status", first(deployed(t, m, "cluster", cluster)), createComplete)

	// What is in use neither goes nor changes.
	status, reason = deleted(t, m, "region")
	want(t, "status", status, deleteFailed)
	want(t, "reason", reason, "Export region-id cannot be deleted as it is in use by cluster")
	want(t, "status", first(deleted(t, m, "cluster")), "")
	want(t, "status", first(deleted(t, m, "region")), "")
}

func TestAnExportInUseDoesNotChange(t *testing.T) {
	m, a := begin(t, 0)
	deployed(t, m, "region", regionOf())
	deployed(t, m, "cluster", cluster)
	status, _ := deployed(t, m, "region", regionOf("VALUE", "two"))
	want(t, "status", status, updateBackComplete)
	if said := reasons(t, m, "region"); !slices.ContainsFunc(said, func(r string) bool {
		return strings.Contains(r, "Cannot update export region-id as it is in use by cluster")
	}) {
		t.Errorf("nothing says that the export is in use: %q", said)
	}
	if value, _ := a.Parameters.Value("/shop"); value != "one" {
		t.Errorf("the parameter is %q", value)
	}
}

func first(status, _ string) string { return status }

// reasons are what events of a stack say.
func reasons(t *testing.T, m *Model, name string) []string {
	t.Helper()
	out, err := m.describeStackEvents(t.Context(), &eventsInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range out.StackEvents.Items {
		said = append(said, e.LogicalResourceID+" "+e.ResourceStatus+" "+e.ResourceStatusReason)
	}
	return said
}

// A creation that fails is rolled back. What is to be retained stays, unless that is said to be for updates and deletions alone: only then can the stack be
// deployed again (A7).
func TestA7WhatARollbackLeavesBehind(t *testing.T) {
	for policy, again := range map[string]string{"Retain": rollbackComplete, "RetainExceptOnCreate": createComplete, "Delete": createComplete} {
		t.Run(policy, func(t *testing.T) {
			m, a := begin(t, 0)
			a.Parameters.Put("/taken", "by somebody")
			fails := strings.Replace(regionOf("POLICY", policy), `"Resources": {`, `"Resources": {"Z": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Switch"],
				"Properties": {"Name": "/taken", "Type": "String", "Value": "x"}},`, 1)
			status, _ := deployed(t, m, "region", fails)
			want(t, "status", status, rollbackComplete)
			said := strings.Join(reasons(t, m, "region"), "\n")
			want(t, "events", said, "/taken already exists")
			want(t, "events", said, "The following resource(s) failed to create: [Z]. Rollback requested by user.")
			if skipped := strings.Contains(said, "Table DELETE_SKIPPED"); skipped != (policy == "Retain") {
				t.Errorf("the table was kept: %v", skipped)
			}
			// Nothing else can be done with it but to delete it.
			_, err := m.createChangeSet(t.Context(), &changeSetInput{ChangeSetName: "c", ChangeSetType: "UPDATE", request: request{StackName: "region", TemplateBody: regionOf()}})
			refused(t, err, "ValidationError", "is in ROLLBACK_COMPLETE state and can not be updated")
			want(t, "status", first(deleted(t, m, "region")), "")
			a.Parameters.Delete("/taken")
			want(t, "status of the next one", first(deployed(t, m, "region", fails)), again)
		})
	}
}

// A stack that is protected is deleted only after that has been taken from it.
func TestA7AProtectedStackIsNotDeleted(t *testing.T) {
	m, _ := begin(t, 0)
	deployed(t, m, "region", regionOf())
	if _, err := m.updateTerminationProtection(t.Context(), &protectionInput{StackName: "region", EnableTerminationProtection: true}); err != nil {
		t.Fatal(err)
	}
	_, err := m.deleteStack(t.Context(), &deleteInput{StackName: "region"})
	refused(t, err, "ValidationError", "Stack [region] cannot be deleted while TerminationProtection is enabled")
	if _, err := m.updateTerminationProtection(t.Context(), &protectionInput{StackName: "region"}); err != nil {
		t.Fatal(err)
	}
	want(t, "status", first(deleted(t, m, "region")), "")
}

// A table that is protected itself, and a bucket with something in it, fail the deletion; what they need stays with them, and a second one may leave them out.
func TestADeletionThatFails(t *testing.T) {
	m, a := begin(t, 0)
	text := strings.NewReplacer("POLICY", "Delete", "VALUE", "one").Replace(region)
	deployed(t, m, "region", text)
	status, reason := deleted(t, m, "region")
	want(t, "status", status, deleteFailed)
	want(t, "reason", reason, "The following resource(s) failed to delete: [Table].")
	want(t, "events", strings.Join(reasons(t, m, "region"), "\n"), "protected against deletion")
	if _, err := m.deleteStack(t.Context(), &deleteInput{StackName: "region", RetainResources: []string{"Table"}}); err != nil {
		t.Fatal(err)
	}
	want(t, "status", first(settled(t, m, "region")), "")
	want(t, "status of another", first(deployed(t, m, "region", text)), rollbackComplete)
	_ = a
}

// Whatever exists by the name a template gives fails the creation, whoever made it: a role of Karpenter's getting started (A5).
func TestA5ARoleThatExistsFailsTheStack(t *testing.T) {
	m, a := begin(t, 0)
	role := `{"Resources": {"NodeRole": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "KarpenterNodeRole-shop", "AssumeRolePolicyDocument": {
		"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}}}}`
	a.EC2.AddRole(ec2.Role{Name: "KarpenterNodeRole-shop"})
	want(t, "status", first(deployed(t, m, "cluster", role)), rollbackComplete)
	want(t, "events", strings.Join(reasons(t, m, "cluster"), "\n"), `KarpenterNodeRole-shop already exists`)
	if _, there := a.EC2.LookupRole("KarpenterNodeRole-shop"); !there {
		t.Error("the rollback took away what is not the stack's")
	}
}

// Where CloudFormation looks for names beforehand, the change set fails and says which, and nothing has been made (A5, A7).
func TestA5NamesAreLookedAtBeforehand(t *testing.T) {
	m, a := begin(t, 0)
	m.early = true
	a.Parameters.Put("/stop", "by somebody")
	status, reason := deployedAs(t, m, "region", regionOf(), false)
	want(t, "status", status, "FAILED")
	want(t, "reason", reason, "AWS::EarlyValidation::ResourceExistenceCheck")
	said, err := m.describeEvents(t.Context(), &operationInput{StackName: "region", ChangeSetName: "c"})
	if err != nil || len(said.OperationEvents.Items) != 1 || said.OperationEvents.Items[0].LogicalResourceID != "Switch" {
		t.Errorf("events %v, %v", said, err)
	}
	if _, err := m.deleteChangeSet(t.Context(), &changeSetRef{ChangeSetName: "c", StackName: "region"}); err != nil {
		t.Fatal(err)
	}
	a.Parameters.Delete("/stop")
	want(t, "status of the next one", first(deployed(t, m, "region", regionOf())), createComplete)
}

const function = `{"Resources": {
	"Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "f", "AssumeRolePolicyDocument": {"Version": "2012-10-17",
		"Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}},
	"F": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "f", "Runtime": "provided.al2023", "Handler": "bootstrap", "MemorySize": MEMORY,
		"Role": {"Fn::GetAtt": ["Role", "Arn"]}, "Code": {"S3Bucket": "b", "S3Key": "k"}, "ReservedConcurrentExecutions": 5}}}}`

// An account that may run ten functions at once has none to reserve; one of a thousand has (A2).
func TestA2ReservationsOfASmallAccount(t *testing.T) {
	for quota, status := range map[int]string{10: rollbackComplete, 50: rollbackComplete, 1000: createComplete} {
		t.Run(fmt.Sprint(quota), func(t *testing.T) {
			m, _ := begin(t, quota)
			want(t, "status", first(deployed(t, m, "f", strings.Replace(function, "MEMORY", "128", 1))), status)
			if status == rollbackComplete {
				want(t, "events", strings.Join(reasons(t, m, "f"), "\n"), "unreserved, less than")
			}
		})
	}
}

// What a template changes is changed, what it leaves out goes, and all of it is undone where something fails.
func TestAnUpdateIsDoneOrUndone(t *testing.T) {
	m, a := begin(t, 0)
	deployed(t, m, "f", strings.Replace(function, "MEMORY", "128", 1))
	memory := func() int { f, _ := a.Runtime.Function("f"); return f.MemoryMB }
	want(t, "status", first(deployed(t, m, "f", strings.Replace(function, "MEMORY", "256", 1))), updateComplete)
	if memory() != 256 {
		t.Errorf("the function has %d MB", memory())
	}
	status, reason := deployed(t, m, "f", strings.Replace(function, "MEMORY", "256", 1))
	want(t, "status", status, "FAILED")
	want(t, "reason", reason, "The submitted information didn't contain changes.")

	a.Parameters.Put("/taken", "by somebody")
	fails := strings.NewReplacer("MEMORY", "512", `{"Resources": {`, `{"Resources": {"Z": {"Type": "AWS::SSM::Parameter", "DependsOn": ["F"], "Properties": {"Name": "/taken", "Type": "String", "Value": "x"}},
		"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q"}},`).Replace(function)
	want(t, "status", first(deployed(t, m, "f", fails)), updateBackComplete)
	if memory() != 256 {
		t.Errorf("after the rollback the function has %d MB", memory())
	}
	said := strings.Join(reasons(t, m, "f"), "\n")
	want(t, "events", said, "Q DELETE_COMPLETE")

	want(t, "status", first(deployed(t, m, "f", `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "other"}}}}`)), updateComplete)
	if _, there := a.Runtime.Function("f"); there {
		t.Error("the function is still there")
	}
}

// A resource with a name that a change would make anew cannot be: the name is taken until it is gone.
func TestANamedResourceIsNotReplaced(t *testing.T) {
	m, _ := begin(t, 0)
	deployed(t, m, "region", regionOf())
	other := strings.Replace(strings.Replace(regionOf(), `"PK", "AttributeType"`, `"ID", "AttributeType"`, 1), `"PK", "KeyType"`, `"ID", "KeyType"`, 1)
	want(t, "status", first(deployed(t, m, "region", other)), updateBackComplete)
	want(t, "events", strings.Join(reasons(t, m, "region"), "\n"), "CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename ledger")
}

// A change set may take over what exists by name, where its policy of deletion lets it: how what a deleted stack left behind is had again.
func TestExistingResourcesAreTakenOver(t *testing.T) {
	m, _ := begin(t, 0)
	text := regionOf("POLICY", "RetainExceptOnCreate")
	deployed(t, m, "region", text)
	want(t, "status", first(deleted(t, m, "region")), "")
	want(t, "events", strings.Join(reasons(t, m, m.stacks[0].id), "\n"), "Table DELETE_SKIPPED")
	want(t, "status of a new one", first(deployed(t, m, "region", text)), rollbackComplete)
	want(t, "status", first(deleted(t, m, "region")), "")

	in := &changeSetInput{ChangeSetName: "c", ChangeSetType: "CREATE", request: request{StackName: "region", TemplateBody: text}, ImportExistingResources: true}
	if _, err := m.createChangeSet(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := m.executeChangeSet(t.Context(), &executeInput{ChangeSetName: "c", StackName: "region"}); err != nil {
		t.Fatal(err)
	}
	want(t, "status", first(settled(t, m, "region")), createComplete)
	want(t, "events", strings.Join(reasons(t, m, "region"), "\n"), "Table IMPORT_COMPLETE")
}

// Templates and requests that CloudFormation does not take are refused with what is wrong.
func TestWhatIsRefused(t *testing.T) {
	m, _ := begin(t, 0)
	many := `{"Resources": {`
	for i := range maxResources + 1 {
		many += fmt.Sprintf(`"P%d": {"Type": "AWS::CDK::Metadata"},`, i)
	}
	many = strings.TrimSuffix(many, ",") + "}}"
	role := `{"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "r", "AssumeRolePolicyDocument": {}}}}}`
	version := `{"Parameters": {"V": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version"}}, "Resources": {"M": {"Type": "AWS::CDK::Metadata"}}}`
	for name, c := range map[string]struct{ stack, template, code, says string }{
		"a name with an underscore":   {"my_stack", regionOf(), "ValidationError", "must satisfy regular expression pattern"},
		"too many resources":          {"s", many, "ValidationError", "Number of resources, 501, is greater than maximum allowed, 500"},
		"a body that is too long":     {"s", regionOf() + strings.Repeat(" ", maxBody), "ValidationError", "less than or equal to 51200"},
		"no template":                 {"s", "", "ValidationError", "Either Template URL or Template Body must be specified"},
		"roles without leave":         {"s", role, "InsufficientCapabilitiesException", "CAPABILITY_NAMED_IAM"},
		"a parameter that is missing": {"s", version, "ValidationError", "Unable to fetch parameters [/cdk-bootstrap/hnb659fds/version] from parameter store"},
		"an unknown type":             {"s", `{"Resources": {"R": {"Type": "AWS::No::Such"}}}`, "ValidationError", "AWS::No::Such"},
		"no JSON and no YAML":         {"s", "{", "ValidationError", "Template format error"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.createChangeSet(t.Context(), &changeSetInput{ChangeSetName: "c", ChangeSetType: "CREATE", request: request{StackName: c.stack, TemplateBody: c.template}})
			refused(t, err, c.code, c.says)
		})
	}
	_, err := m.createChangeSet(t.Context(), &changeSetInput{ChangeSetName: "c", ChangeSetType: "UPDATE", request: request{StackName: "s", TemplateBody: regionOf()}})
	refused(t, err, "ValidationError", "Stack [s] does not exist")
	_, err = m.describeStacks(t.Context(), &stacksInput{StackName: "s"})
	refused(t, err, "ValidationError", "Stack with id s does not exist")
	_, err = m.describeChangeSet(t.Context(), &changeSetRef{ChangeSetName: "c", StackName: "s"})
	refused(t, err, "ValidationError", "does not exist")
}
