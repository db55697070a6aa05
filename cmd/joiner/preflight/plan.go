package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Plan is what is to be deployed: those options of infra/cdk's context that decide what the account and the cluster
// must have.
type Plan struct {
	Cluster      string   // name of the EKS cluster
	Namespace    string   // of the watcher; joiner
	NodeRole     string   // name of a role of nodes that is there; "" = the cluster's stack makes one
	NodeRoleName string   // of the role that it makes; "" = joiner-CLUSTER-REGION-node
	Windows      bool     // it makes one for nodes with Windows, too
	Adopters     bool     // and one for people who take the cluster over
	KMSKeyARN    string   // key that encrypts what is stored; "" = keys of AWS
	Relay        bool     // functions reach the API server through the watcher
	Subnets      []string // in which functions run; none = outside of any VPC
	IPv6         bool     // the stack's node role may assign IPv6 addresses
	IRSA         bool     // the watcher has its role by the cluster's OIDC provider, not by Pod Identity
	Reserve      bool     // functions reserve concurrency
	Batches      bool     // so few batches of each queue are handled at once that a small account has room for them
	MaxClusters  int      // clusters that are handled side by side; 10
	Foreign      bool     // the cluster is in another account than the installation
	SelfManaged  bool     // EKS does not run the cluster
}

// Parse reads the options of a deployment: the context of a cdk.json at path, "" = none, and over it options written
// KEY=VALUE as `cdk deploy -c` takes them. Of a list clusters those of the cluster's own object count. Keys that
// nothing is looked up by are left to cdk deploy. All that makes no sense is one error.
func Parse(cluster, path string, options []string) (Plan, error) {
	values, err := contextOf(cluster, path)
	if err != nil {
		return Plan{}, err
	}
	var problems []error
	for _, option := range options {
		key, value, is := strings.Cut(option, "=")
		switch {
		case !is || key == "":
			problems = append(problems, fmt.Errorf("-c %s: give KEY=VALUE, as cdk deploy takes it", option))
		case key == "cluster" && value != cluster:
			problems = append(problems, fmt.Errorf("-c cluster: it names %q, and the command line %q; leave one out",
				value, cluster))
		default:
			values[key] = value
		}
	}
	p := Plan{
		Cluster: cluster, Namespace: cmp.Or(values["namespace"], "joiner"), NodeRole: values["nodeRole"],
		NodeRoleName: values["nodeRoleName"], KMSKeyARN: values["kmsKeyArn"],
		IRSA: values["irsaProvider"] != "", Foreign: values["clusterAccount"] != "", Batches: values["batches"] != "",
		Adopters: values["adopters"] != "", MaxClusters: 10,
	}
	for _, id := range strings.Split(values["subnetIds"], ",") {
		if id = strings.TrimSpace(id); id != "" {
			p.Subnets = append(p.Subnets, id)
		}
	}
	for _, flag := range []struct {
		key string
		to  *bool
	}{{"relay", &p.Relay}, {"ipv6", &p.IPv6}, {"windows", &p.Windows}, {"reserve", &p.Reserve},
		{"selfManaged", &p.SelfManaged}} {
		text := cmp.Or(values[flag.key], "false")
		if *flag.to, err = strconv.ParseBool(text); err != nil {
			problems = append(problems, fmt.Errorf("option %s: %q is neither true nor false", flag.key, text))
		}
	}
	if text := values["maxClusters"]; text != "" {
		if p.MaxClusters, err = strconv.Atoi(text); err != nil || p.MaxClusters < 1 {
			problems = append(problems, fmt.Errorf("option maxClusters: %q is no number of clusters", text))
		}
	}
	return p, errors.Join(problems...)
}

// contextOf is the context of a cdk.json as text by key, as it is for a cluster; of lists the elements with commas
// between.
func contextOf(cluster, path string) (map[string]string, error) {
	out := map[string]string{}
	if path == "" {
		return out, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the options of the deployment: %w", err)
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the options of the deployment: %s: %w", path, err)
	}
	for key, value := range file.Context {
		out[key] = textOf(value)
	}
	clusters, _ := file.Context["clusters"].([]any)
	for _, one := range clusters {
		object, is := one.(map[string]any)
		if !is || object["name"] != cluster {
			continue
		}
		for key, value := range object {
			out[map[bool]string{true: "clusterAccount", false: key}[key == "account"]] = textOf(value)
		}
	}
	return out, nil
}

// textOf is a value as the command line would give it.
func textOf(value any) string {
	list, is := value.([]any)
	if !is {
		return fmt.Sprint(value)
	}
	var texts []string
	for _, element := range list {
		texts = append(texts, fmt.Sprint(element))
	}
	return strings.Join(texts, ",")
}

// ReservedConcurrency is how many concurrent executions the region's functions reserve where they do, and may use at
// once where they do not.
func (p Plan) ReservedConcurrency() int {
	each := max(2, p.MaxClusters)
	const provision, interruption = 2, 2 // batches of each cluster at once
	return provision*each + 1 + interruption*each + 11 + each + 2 + each + 1
}
