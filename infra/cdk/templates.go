package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// variant is a stack as some choice of options makes it, whose template is committed.
type variant struct {
	File string
	Make func(app awscdk.App, o Options) awscdk.Stack
}

// variants are the templates under version control: those of the default options, and one for each option that changes much.
func variants() []variant { return variantsOf(Cluster{Name: "joiner-demo"}) }

// variantsOf are the variants with a cluster in the place of that of the committed templates.
func variantsOf(demo Cluster) []variant {
	region := func(file string, change func(*Options)) variant {
		return variant{file, func(app awscdk.App, o Options) awscdk.Stack {
			change(&o)
			return newRegion(app, file, o.withDefaults())
		}}
	}
	cluster := func(file string, make func(awscdk.App, string, Cluster, Options) awscdk.Stack, change func(*Cluster, *Options)) variant {
		return variant{file, func(app awscdk.App, o Options) awscdk.Stack {
			c := demo
			change(&c, &o)
			o.Clusters = append([]Cluster{c}, o.Clusters...)
			o = o.withDefaults()
			return make(app, file, o.Clusters[0], o)
		}}
	}
	inCluster := func(app awscdk.App, id string, c Cluster, o Options) awscdk.Stack { return newCluster(app, id, c, o) }
	inHub := func(app awscdk.App, id string, c Cluster, o Options) awscdk.Stack { return newHub(app, id, c, o) }
	foreign := func(c *Cluster, o *Options) {
		c.Account, o.HubAccount, c.ExternalID = "222222222222", "111111111111", "11111111-2222-3333-4444-555555555555"
	}
	return []variant{
		region("region", func(*Options) {}),
		region("region-small", func(o *Options) { o.Batches = 2 }),
		region("region-hardened", func(o *Options) {
			o.VPCSubnets, o.VPCGroups, o.IsolatedVPC, o.Webhook = []string{"subnet-0123456789abcdef0", "subnet-0123456789abcdef1"}, []string{"sg-0123456789abcdef0"}, true, true
			o.KMSKeyARN = "arn:aws:kms:us-west-2:111111111111:key/11111111-2222-3333-4444-555555555555"
			o.PermissionsBoundary = "arn:aws:iam::111111111111:policy/boundary"
			o.Metrics = true
			o.AlarmTopicARN, o.Architecture, o.MaxClusters, o.DryRun = "arn:aws:sns:us-west-2:111111111111:alarms", "x86_64", 50, false
			o.Reserve, o.Protect = true, true
			o.Settings = map[string]string{"JOINER_SPOT_TO_SPOT": "true", "JOINER_MIN_VALUES_POLICY": "BestEffort"}
		}),
		cluster("cluster", inCluster, func(*Cluster, *Options) {}),
		cluster("cluster-of-two", inCluster, func(_ *Cluster, o *Options) { o.Clusters = []Cluster{{Name: "other"}} }),
		cluster("cluster-adopters", inCluster, func(c *Cluster, o *Options) {
			o.Adopters, c.StopAlarms = []string{"arn:aws:iam::123456789012:user/person"}, true
		}),
		cluster("cluster-hardened", inCluster, func(c *Cluster, o *Options) {
			c.StopAlarms = true
			c.Relay, c.Windows, c.IPv6, c.VPC, c.IRSAProvider = true, true, true, "vpc-0123456789abcdef0", "oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE"
			o.KMSKeyARN, o.DenyTypes = "arn:aws:kms:us-west-2:111111111111:key/11111111-2222-3333-4444-555555555555", []string{"*.metal"}
			o.PermissionsBoundary = "arn:aws:iam::111111111111:policy/boundary"
		}),
		cluster("cluster-relay", inCluster, func(c *Cluster, _ *Options) { c.Relay = true }),
		cluster("cluster-self-managed", inCluster, func(c *Cluster, _ *Options) {
			c.SelfManaged, c.Endpoint, c.CA = true, "https://api.example.com:6443", exampleCA
			c.Kubernetes, c.ServiceCIDR, c.IRSAProvider, c.Relay = "1.36", "10.96.0.0/12", "issuer.example.com", true
		}),
		cluster("cluster-own-node-role", inCluster, func(c *Cluster, o *Options) { c.NodeRole, o.DryRun = "own-nodes", false }),
		cluster("cluster-foreign", inCluster, foreign),
		cluster("cluster-foreign-hub", inHub, foreign),
	}
}

// templates synthesizes all variants in one app, with the zips that o names, and returns each template as it is committed, by file. It puts
// the stacks into stacks.
func templates(app awscdk.App, all []variant, o Options, stacks map[string]awscdk.Stack) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, v := range all {
		stacks[v.File] = v.Make(app, o)
	}
	for _, v := range all {
		text, err := normal(*assertions.Template_FromStack(stacks[v.File], nil).ToJSON())
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", v.File, err)
		}
		out[v.File] = text
	}
	return out, nil
}

// normal is a template without what changes with the code of functions or with CDK's way of deploying: the digest in the name of each
// zip, the version of the bootstrap stack.
func normal(template map[string]any) ([]byte, error) {
	delete(template, "Rules")
	if parameters, ok := template["Parameters"].(map[string]any); ok {
		if delete(parameters, "BootstrapVersion"); len(parameters) == 0 {
			delete(template, "Parameters")
		}
	}
	resources, _ := template["Resources"].(map[string]any)
	for id, value := range resources {
		resource := value.(map[string]any)
		delete(resource, "Metadata")
		if resource["Type"] != "AWS::Lambda::Function" {
			continue
		}
		properties := resource["Properties"].(map[string]any)
		code, architectures := properties["Code"].(map[string]any), properties["Architectures"].([]any)
		if _, ok := code["S3Key"].(string); !ok {
			return nil, fmt.Errorf("function %s has no key of its code: %v", id, code)
		}
		code["S3Key"] = fmt.Sprintf("ASSET-%v-%v", properties["FunctionName"], architectures[0])
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(template)
	return out.Bytes(), err
}

// writeTemplates writes all variants' templates into a folder.
func writeTemplates(app awscdk.App, all []variant, o Options, folder string) error {
	made, err := templates(app, all, o, map[string]awscdk.Stack{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	names := make([]string, 0, len(made))
	for name := range made {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name+".json"), made[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// emptyZips fills a folder with zips of functions that hold nothing: templates do not say what is in them.
func emptyZips(folder string, o Options) error {
	for _, f := range functions(o) {
		empty := []byte{'P', 'K', 5, 6, 18 + 3: 0}
		if err := os.WriteFile(filepath.Join(folder, f.Program+".zip"), append(empty, f.Program...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commit writes the templates under version control anew.
func commit(folder string) error {
	return withEmptyZips(variants(), Options{DryRun: true}, folder)
}

// keepOld writes the same templates as an installation has them that keeps what it has, by the options that docs/tasks/upgrade.md names for an upgrade
// from a version in which they were no options.
func keepOld(folder string) error {
	o := Options{DryRun: true, Reserve: true, Protect: true, Adopters: []string{"arn:aws:iam::111111111111:root"}}
	return withEmptyZips(variantsOf(Cluster{Name: "joiner-demo", NodeRoleName: "KarpenterNodeRole-joiner-demo"}), o, folder)
}

func withEmptyZips(all []variant, o Options, folder string) error {
	zips, err := os.MkdirTemp("", "joiner-cdk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(zips)
	if err := emptyZips(zips, Options{Webhook: true}); err != nil {
		return err
	}
	o.Zips = zips
	return writeTemplates(awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)}), all, o.withDefaults(), folder)
}

// exampleCA is a block of PEM in base64, for templates that are committed.
const exampleCA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClpYaGhiWEJzWlE9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
