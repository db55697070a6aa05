package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// What the templates are of, and the cluster whose name stands in the committed one.
const (
	regionStack      = "joiner"
	templatesCluster = "joiner-demo"
)

// template reads a committed template of infra/cdk.
func template(name string) (string, error) {
	root, err := sources.Repository()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, "infra", "cdk", "templates", name+".json"))
	return string(text), err
}

// small says that the account has so few executions of functions at once that queues are read two batches at a time.
func (o Options) small() bool { return o.Concurrency > 0 && o.Concurrency < 100 }

// regionTemplate is the template of what every cluster of a region shares.
func regionTemplate(o Options) (*cloudformation.Template, error) {
	file := "region"
	if o.small() {
		file = "region-small"
	}
	text, err := template(file)
	if err != nil {
		return nil, err
	}
	return cloudformation.Parse([]byte(text))
}

// clusterTemplate is the template of a cluster: the committed one, with its name for that cluster's. Synthesis writes nothing else
// otherwise for names that need no shortening.
func clusterTemplate(file, name string) (*cloudformation.Template, error) {
	const unshortened = 29
	if len(name) > unshortened {
		return nil, fmt.Errorf("cluster %s: its name has %d characters; only up to %d the committed template fits", name, len(name), unshortened)
	}
	text, err := template(file)
	if err != nil {
		return nil, err
	}
	return cloudformation.Parse([]byte(strings.ReplaceAll(text, templatesCluster, name)))
}

// deployRegion makes table, bucket, queues, functions, rules and schedules. The schedules wait for the first cluster.
func (s *Stack) deployRegion(ctx context.Context) error {
	t, err := regionTemplate(s.Options)
	if err != nil {
		return err
	}
	if s.Region, err = s.deployments.Deploy(ctx, t, cloudformation.Environment{StackName: regionStack}); err != nil {
		return err
	}
	for field, id := range map[*string]string{
		&s.PassesURL: "InterruptionQueue", &s.CatalogURL: "CatalogQueue", &s.DisruptURL: "DisruptionQueue",
		&s.NoticesURL: "NoticesQueue", &s.Table: "Table", &s.Bucket: "Bucket",
	} {
		if *field, err = s.Region.Ref(id); err != nil {
			return err
		}
	}
	config := s.Cloud.Config()
	s.Ledger = dynamoledger.New(dynamodb.NewFromConfig(config), s.Table)
	s.Store = s3snapshot.New(s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }), s.Bucket)
	return nil
}

// attach makes a cluster's roles, lets them into it and has the catalog's function register it, as deploying its stack does.
func (s *Stack) attach(ctx context.Context, c *Cluster) error {
	t, err := templateOf(s, c)
	if err != nil {
		return err
	}
	if c.stack, err = s.deployments.Deploy(ctx, t, cloudformation.Environment{StackName: regionStack + "-cluster-" + c.Name}); err != nil {
		return err
	}
	if c.PlanURL, err = c.stack.Ref("PlanQueue"); s.QueueURL == "" {
		s.QueueURL = c.PlanURL
	}
	return err
}

// templateOf is the template that a cluster of the stack's account is attached by.
func templateOf(s *Stack, c *Cluster) (*cloudformation.Template, error) {
	file := "cluster"
	switch {
	case c.own != nil:
		text, err := template("cluster-self-managed")
		if err != nil {
			return nil, err
		}
		return c.own.template(strings.ReplaceAll(text, templatesCluster, c.Name), c.Kube)
	case s.Options.Relay:
		file = "cluster-relay"
	case s.QueueURL != "", s.Options.small(): // there is a cluster already, or no room for more than two batches of its queue
		file = "cluster-of-two"
	case s.Options.Adopters:
		file = "cluster-adopters"
	}
	return clusterTemplate(file, c.Name)
}

// changes are what the options say otherwise than the templates.
func (s *Stack) changes() deploy.Changes {
	o := s.Options
	return deploy.Changes{
		Function: func(id string, f *lambdaruntime.Function) {
			if o.Timeout != 0 && id != "Catalog" { // which registers clusters, and keeps time for its answer
				f.Timeout = o.Timeout
			}
			maps.Copy(f.Env, o.FunctionEnv)
			maps.Copy(f.Env, map[string]map[string]string{"Provision": o.PlannerEnv, "Interruption": o.EndsEnv, "Disrupt": o.DisruptEnv}[id])
		},
		Queue: func(id string, attributes map[string]string) {
			if attributes["RedrivePolicy"] == "" {
				return // for what nobody could handle
			}
			if o.Visibility != 0 && id != "CatalogQueue" {
				attributes["VisibilityTimeout"] = strconv.Itoa(int(o.Visibility.Seconds()))
			}
			if o.MaxReceives != 0 {
				attributes["RedrivePolicy"] = withReceives(attributes["RedrivePolicy"], o.MaxReceives)
			}
		},
		Mapping: func(id string, c *eventsource.Config) {
			switch id {
			case "ProvisionFromPlan":
				c.Faults, c.OnDelivery = o.Faults, o.OnDelivery
			case "InterruptionFromNotices":
				c.OnDelivery = o.OnNotices
			}
		},
		Schedule: func(_ string, one *schedule.Schedule) {
			if o.ResyncEvery != 0 {
				one.Expression = rate(o.ResyncEvery)
			}
		},
	}
}

// withReceives is a redrive policy with another number of receives.
func withReceives(policy string, receives int) string {
	var p map[string]any
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return policy // SQS refuses it
	}
	p["maxReceiveCount"] = receives
	text, err := json.Marshal(p)
	if err != nil {
		return policy
	}
	return string(text)
}

func rate(every time.Duration) string {
	minutes := max(1, int(every/time.Minute))
	if minutes == 1 {
		return "rate(1 minute)"
	}
	return fmt.Sprintf("rate(%d minutes)", minutes)
}

// Functions are the names of the functions that are built here.
func (s *Stack) Functions() []string { return slices.Clone(functions) }

// Function is the path of a function's executable.
func (s *Stack) Function(name string) string { return s.binaries.function(name) }

// code finds a function's executable by the name of its zip, e.g. "ASSET-joiner-provision-arm64", or by what program the zip in the bucket holds.
func (s *Stack) code(bucket, key string) (string, error) {
	if zip, ok := s.Cloud.S3.Get(bucket, key); ok {
		name, err := programOf(zip)
		if err != nil {
			return "", fmt.Errorf("code s3://%s/%s: %w", bucket, key, err)
		}
		if !slices.Contains(functions, name) {
			return "", fmt.Errorf("code s3://%s/%s: it is of function %s, and built here are %v", bucket, key, name, functions)
		}
		return s.binaries.function(name), nil
	}
	if !strings.HasPrefix(key, "ASSET-") {
		//nolint:staticcheck // AWS's words
		return "", fmt.Errorf("Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not exist: s3://%s/%s", bucket, key)
	}
	for _, name := range functions {
		if strings.HasPrefix(key, "ASSET-joiner-"+name+"-") {
			return s.binaries.function(name), nil
		}
	}
	return "", fmt.Errorf("code %s: it is of no function that is built here: %v", key, functions)
}

// WatcherKeys are what EKS gives to pods with the watcher's service account in a cluster: keys of the watcher's role.
func (s *Stack) WatcherKeys(c *Cluster, session string) (sts.Credentials, error) {
	deployments := s.deployments
	if c.foreign != nil {
		deployments = c.foreign.deployments
	}
	role := deployments.PodRole(c.Name, "joiner", "joiner-watcher")
	if role == "" {
		return sts.Credentials{}, fmt.Errorf("cluster %s: the service account joiner/joiner-watcher has no role", c.Name)
	}
	return s.Cloud.STS.Assume(role, session, sessionLife)
}
