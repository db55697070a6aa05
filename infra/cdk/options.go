package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// Options are what people choose. The key of each in the context is the name beside it.
type Options struct {
	Clusters            []Cluster         // cluster (one name), clusters (names with commas between, or a list of objects)
	Version             string            // version: of the functions' code; what file VERSION beside the zips says, or dev
	Architecture        string            // architecture: of functions, arm64 (default) or x86_64
	Zips                string            // zips: folder of the functions' zips; ../../dist/arm64 or ../../dist/amd64
	LogRetentionDays    int               // logRetentionDays: 14
	KMSKeyARN           string            // kmsKeyArn: encrypts table, bucket, queues, logs and functions' settings; "" = with keys of AWS
	PermissionsBoundary string            // permissionsBoundary: ARN of the policy that bounds every role; "" = none
	VPCSubnets          []string          // subnetIds: functions run in these subnets; none = outside of any VPC
	VPCGroups           []string          // securityGroupIds: of functions in a VPC
	IsolatedVPC         bool              // isolatedVpc: functions do not reach IAM and the price list
	Webhook             bool              // webhook: admission by a function, for clusters without a watcher to serve it
	MaxClusters         int               // maxClusters: how many clusters are handled side by side, 10 or as many as are named here
	Reserve             bool              // reserve: true = functions have concurrency of their own; false = they share what the account has unreserved
	Batches             int               // batches: most batches of each queue at once, 2 for an account with a small quota of executions; 0 = as many as there are
	Protect             bool              // protect: true = the region's stack and its table cannot be deleted before that is taken off; for when it runs
	PlannerMemoryMB     int               // plannerMemory: of the functions that plan, 1769; 3008 is for more than 2,000 nodes in a cluster
	AlarmTopicARN       string            // alarmTopicArn: SNS topic that alarms tell; "" = they only change color
	HubAccount          string            // hubAccount: where the region's stack is; "" = in the account of the cluster
	Metrics             bool              // metrics: true = functions send all of docs/reference/metrics.md, and the dashboards show it
	DryRun              bool              // dryRun: false = node classes are not tried on EC2
	IMDSv1              bool              // imdsv1: true = instances may be launched whose metadata needs no token
	DenyTypes           []string          // denyInstanceTypes: patterns such as *.metal that are never launched
	ImageOwners         []string          // imageOwners: accounts, beside this one and Amazon, whose images instances may be launched from
	Adopters            []string          // adopters: ARNs of who may take clusters over from Karpenter by a role of the cluster; none = there is no such role
	Settings            map[string]string // settings: an object of what functions read from their environment, see functions.go
}

// Cluster is what people choose for one cluster. Its fields are those of an object of clusters; each may also be given for all of
// them by a key of the context.
type Cluster struct {
	Name          string `json:"name"`
	Account       string `json:"account"`       // clusterAccount: where it is, when that is not the region's stack's account
	ExternalID    string `json:"externalId"`    // externalId: an output of its stack, where that is in another account; the stack that registers it is made once it is given
	Relay         bool   `json:"relay"`         // relay: functions reach the API server through the watcher
	NodeRole      string `json:"nodeRole"`      // nodeRole: name of the role of its nodes, which is there; "" = the stack makes one
	NodeRoleName  string `json:"nodeRoleName"`  // nodeRoleName: name of the role that the stack makes; joiner-CLUSTER-REGION-node
	Windows       bool   `json:"windows"`       // windows: true = the stack makes a role for nodes with Windows, too
	IPv6          bool   `json:"ipv6"`          // ipv6: true = nodes may give pods IPv6 addresses
	VPC           string `json:"vpcId"`         // vpcId: instances are launched into this VPC alone; "" = into any
	IRSAProvider  string `json:"irsaProvider"`  // irsaProvider: OIDC provider by which the watcher gets its role; "" = by Pod Identity
	Namespace     string `json:"namespace"`     // namespace: of the watcher; joiner
	DefaultSpread string `json:"defaultSpread"` // defaultSpread: see model.Registration
	Paused        bool   `json:"paused"`        // paused: observe only
	StopAlarms    bool   `json:"stopAlarms"`    // stopAlarms: true = alarms may stop NodePools
	SelfManaged   bool   `json:"selfManaged"`   // selfManaged: true = EKS does not run it; the keys below say the rest
	Endpoint      string `json:"endpoint"`      // endpoint: of a self-managed cluster's API server
	CA            string `json:"ca"`            // ca: a self-managed cluster's certificate authority, PEM in base64
	Kubernetes    string `json:"kubernetes"`    // kubernetes: minor version of a self-managed cluster, 1.36
	ServiceCIDR   string `json:"serviceCidr"`   // serviceCidr: a self-managed cluster's service network
	ClusterDNS    string `json:"clusterDns"`    // clusterDns: address of its DNS; "" = the tenth of serviceCidr
	SSMParameters string `json:"ssmParameters"` // ssmParameters: path of people's own parameters that node classes name images by
}

// context reads values by key; nil = not given. All of them are an object by key.
type context interface {
	TryGetContext(key *string) interface{}
	GetAllContext(defaults *map[string]interface{}) interface{}
}

// readOptions reads every option and reports all that make no sense at once.
func readOptions(from context) (Options, error) {
	r := reader{from: from}
	o := Options{
		Version: r.text("version", ""), Architecture: r.text("architecture", "arm64"), LogRetentionDays: r.number("logRetentionDays", 14),
		KMSKeyARN: r.text("kmsKeyArn", ""), PermissionsBoundary: r.text("permissionsBoundary", ""),
		VPCSubnets: r.list("subnetIds"), VPCGroups: r.list("securityGroupIds"), IsolatedVPC: r.flag("isolatedVpc", false),
		Webhook: r.flag("webhook", false), MaxClusters: r.number("maxClusters", 0), Reserve: r.flag("reserve", false), Batches: r.number("batches", 0), Protect: r.flag("protect", false),
		PlannerMemoryMB: r.number("plannerMemory", 1769), AlarmTopicARN: r.text("alarmTopicArn", ""),
		HubAccount: r.text("hubAccount", ""), Metrics: r.flag("metrics", false), DryRun: r.flag("dryRun", true), IMDSv1: r.flag("imdsv1", false),
		DenyTypes: r.list("denyInstanceTypes"), ImageOwners: r.list("imageOwners"), Adopters: r.list("adopters"),
	}
	o.Zips = r.text("zips", "../../dist/"+map[bool]string{true: "amd64", false: "arm64"}[o.Architecture == "x86_64"])
	o.Version = cmp.Or(o.Version, versionOf(o.Zips))
	o.Clusters, o.Settings = r.clusters(), r.object("settings")
	o = o.withDefaults()
	r.unknown()
	r.problems = append(append(r.problems, o.check()...), o.checkSelfManaged()...)
	return o, errors.Join(r.problems...)
}

// versionOf is the version that zips in a folder were built as; "" where nobody said.
func versionOf(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, "VERSION"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// withDefaults fills in what follows from other options.
func (o Options) withDefaults() Options {
	o.Version, o.Architecture = cmp.Or(o.Version, "dev"), cmp.Or(o.Architecture, "arm64")
	o.LogRetentionDays, o.PlannerMemoryMB = cmp.Or(o.LogRetentionDays, 14), cmp.Or(o.PlannerMemoryMB, 1769)
	o.MaxClusters = cmp.Or(o.MaxClusters, max(10, len(o.Clusters)))
	for i := range o.Clusters {
		o.Clusters[i].Namespace = cmp.Or(o.Clusters[i].Namespace, "joiner")
		o.Clusters[i].IRSAProvider = strings.TrimPrefix(o.Clusters[i].IRSAProvider, "https://")
	}
	return o
}

var (
	clusterName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)
	accountID   = regexp.MustCompile(`^[0-9]{12}$`)
	uuid        = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	roleName    = regexp.MustCompile(`^[\w+=,.@-]{1,64}$`)
	vpcID       = regexp.MustCompile(`^vpc-[0-9a-f]+$`)
	oidc        = regexp.MustCompile(`^[a-z0-9.-]+(/[\w.~-]+)*$`)
	minor       = regexp.MustCompile(`^1\.[0-9]{1,3}$`)

	keyARN       = regexp.MustCompile(`^arn:aws[\w-]*:kms:[\w-]+:[0-9]{12}:key/[\w-]+$`)
	policyARN    = regexp.MustCompile(`^arn:aws[\w-]*:iam::([0-9]{12}|aws):policy/[\w+=,.@/-]+$`)
	topicARN     = regexp.MustCompile(`^arn:aws[\w-]*:sns:[\w-]+:[0-9]{12}:[\w.-]+$`)
	principalARN = regexp.MustCompile(`^arn:aws[\w-]*:(iam|sts)::[0-9]{12}:(root|(role|user|assumed-role)/[\w+=,.@/-]+)$`)

	// Keys of ours are words; those of CDK itself, which it writes down here and there, have signs in them.
	ownKey = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	// Those CloudWatch Logs takes.
	retentions = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
)

// check says what makes no sense, key by key.
func (o Options) check() []error {
	var problems []error
	problem := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	problem(o.Architecture != "arm64" && o.Architecture != "x86_64", "context architecture %q: functions run on arm64 or x86_64", o.Architecture)
	problem(!slices.Contains(retentions, o.LogRetentionDays), "context logRetentionDays %d: CloudWatch Logs takes one of %v", o.LogRetentionDays, retentions)
	problem((len(o.VPCSubnets) == 0) != (len(o.VPCGroups) == 0), "context subnetIds %v and securityGroupIds %v: functions in a VPC need both", o.VPCSubnets, o.VPCGroups)
	problem(o.IsolatedVPC && len(o.VPCSubnets) == 0, "context isolatedVpc: it is for functions in a VPC; give subnetIds and securityGroupIds too")
	problem(o.MaxClusters < max(1, len(o.Clusters)), "context maxClusters %d: it is less than the %d clusters named, or than one", o.MaxClusters, len(o.Clusters))
	problem(o.Batches != 0 && (o.Batches < 2 || o.Batches > 1000), "context batches %d: Lambda takes 2 to 1000; 0 = no bound", o.Batches)
	problem(o.PlannerMemoryMB < 512 || o.PlannerMemoryMB > 10240, "context plannerMemory %d: give MB from 512 to 10240", o.PlannerMemoryMB)
	for _, one := range []struct {
		key, arn string
		of       *regexp.Regexp
		such     string
	}{
		{"kmsKeyArn", o.KMSKeyARN, keyARN, "of a key (not of an alias), such as arn:aws:kms:us-west-2:111111111111:key/ID"},
		{"permissionsBoundary", o.PermissionsBoundary, policyARN, "of a policy, such as arn:aws:iam::111111111111:policy/NAME"},
		{"alarmTopicArn", o.AlarmTopicARN, topicARN, "of a topic, such as arn:aws:sns:us-west-2:111111111111:NAME"},
	} {
		problem(one.arn != "" && !one.of.MatchString(one.arn), "context %s %q: give an ARN %s", one.key, one.arn, one.such)
	}
	for _, arn := range o.Adopters {
		problem(!principalARN.MatchString(arn), "context adopters %q: give ARNs of roles or users, such as arn:aws:iam::111111111111:role/NAME", arn)
	}
	for _, id := range o.VPCSubnets {
		problem(!strings.HasPrefix(id, "subnet-"), "context subnetIds %q: give ids, such as subnet-0123456789abcdef0", id)
	}
	for _, id := range o.VPCGroups {
		problem(!strings.HasPrefix(id, "sg-"), "context securityGroupIds %q: give ids, such as sg-0123456789abcdef0", id)
	}
	problem(o.HubAccount != "" && !accountID.MatchString(o.HubAccount), "context hubAccount %q: give the 12 digits of an account", o.HubAccount)
	for name := range o.Settings {
		known := slices.ContainsFunc(functions(Options{Webhook: true}), func(f function) bool { return slices.Contains(f.Settings, name) })
		problem(!known, "context settings, %s: no function reads it; there are %v", name, settingsOf())
	}
	for _, owner := range o.ImageOwners {
		problem(!accountID.MatchString(owner) && owner != "aws-marketplace", "context imageOwners %q: give the 12 digits of an account, or aws-marketplace", owner)
	}
	seen, ids := map[string]bool{}, map[string]string{}
	for _, c := range o.Clusters {
		problem(!clusterName.MatchString(c.Name), "context clusters, name %q: give the name of an EKS cluster: letters, digits, - and _, at most 100", c.Name)
		problem(seen[c.Name], "context clusters, name %q: it is named twice", c.Name)
		problem(c.Account != "" && !accountID.MatchString(c.Account), "cluster %s, account %q: give the 12 digits of an account", c.Name, c.Account)
		problem(c.Account != "" && o.HubAccount == "", "cluster %s, account %s: name the account of the region's stack by context hubAccount", c.Name, c.Account)
		problem(c.Account == "" && c.ExternalID != "", "cluster %s, externalId %q: it is for a cluster in another account; give clusterAccount too", c.Name, c.ExternalID)
		problem(c.ExternalID != "" && !uuid.MatchString(c.ExternalID), "cluster %s, externalId %q: give the output ExternalID of the cluster's stack in account %s", c.Name, c.ExternalID, c.Account)
		problem(c.ExternalID != "" && ids[c.ExternalID] != "", "cluster %s, externalId %q: cluster %s has the same; each has the one among the outputs of its own stack", c.Name, c.ExternalID, ids[c.ExternalID])
		ids[c.ExternalID] = c.Name
		problem(c.NodeRole != "" && !roleName.MatchString(c.NodeRole), "cluster %s, nodeRole %q: give the name of a role, without path and ARN", c.Name, c.NodeRole)
		problem(c.NodeRoleName != "" && !roleName.MatchString(c.NodeRoleName), "cluster %s, nodeRoleName %q: give a name as roles have, without path and ARN", c.Name, c.NodeRoleName)
		problem(c.NodeRole != "" && c.NodeRoleName != "", "cluster %s, nodeRoleName %q: it names the role that the stack creates, and nodeRole %q names an existing one; give one of them", c.Name, c.NodeRoleName, c.NodeRole)
		problem(c.NodeRole != "" && (c.IPv6 || c.Windows), "cluster %s, nodeRole %q: ipv6 and windows are for roles that the stack creates; give yours these permissions and an access entry of type EC2_WINDOWS, and leave the options out", c.Name, c.NodeRole)
		problem(c.VPC != "" && !vpcID.MatchString(c.VPC), "cluster %s, vpcId %q: give the id of a VPC, such as vpc-0123456789abcdef0", c.Name, c.VPC)
		problem(c.IRSAProvider != "" && !oidc.MatchString(c.IRSAProvider), "cluster %s, irsaProvider %q: give what follows https:// in the cluster's identity.oidc.issuer, such as oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE", c.Name, c.IRSAProvider)
		problem(c.IRSAProvider != "" && c.Account != "", "cluster %s, irsaProvider %q: the watcher of a cluster in another account assumes its roles by Pod Identity; leave irsaProvider or clusterAccount out", c.Name, c.IRSAProvider)
		problem(c.SSMParameters != "" && (!strings.HasPrefix(c.SSMParameters, "/") || strings.ContainsAny(c.SSMParameters, "*?")),
			"cluster %s, ssmParameters %q: give a path that begins with / and has no wildcard", c.Name, c.SSMParameters)
		seen[c.Name] = true
	}
	return problems
}

// settingsOf are the names of all that people may set.
func settingsOf() []string {
	var names []string
	for _, f := range functions(Options{Webhook: true}) {
		names = append(names, f.Settings...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// reader reads the context, whose values are text where the command line gives them and JSON where cdk.json does.
type reader struct {
	from     context
	asked    map[string]bool // keys that something was read by
	problems []error
}

// value is what the context says under a key; nil = nothing.
func (r *reader) value(key string) any {
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[key] = true
	return r.from.TryGetContext(jsii.String(key))
}

// unknown reports keys that nothing was read by: what people misspell would else be as if they had not written it.
func (r *reader) unknown() {
	all, _ := r.from.GetAllContext(nil).(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if ownKey.MatchString(key) && !r.asked[key] {
			r.problems = append(r.problems, fmt.Errorf("context %s: there is no such key; there are %s", key, strings.Join(slices.Sorted(maps.Keys(r.asked)), ", ")))
		}
	}
}

func (r *reader) text(key, otherwise string) string {
	switch value := r.value(key).(type) {
	case nil:
		return otherwise
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	default:
		r.problems = append(r.problems, fmt.Errorf("context %s %v: give text", key, value))
		return otherwise
	}
}

func (r *reader) flag(key string, otherwise bool) bool {
	text := r.text(key, strconv.FormatBool(otherwise))
	if text != "true" && text != "false" {
		r.problems = append(r.problems, fmt.Errorf("context %s %q: give true or false", key, text))
	}
	return text == "true"
}

func (r *reader) number(key string, otherwise int) int {
	text := r.text(key, strconv.Itoa(otherwise))
	value, err := strconv.Atoi(text)
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("context %s %q: give a whole number", key, text))
	}
	return value
}

// object reads a JSON object of texts, or the text of one.
func (r *reader) object(key string) map[string]string {
	value := r.value(key)
	if value == nil {
		return nil
	}
	encoded, err := json.Marshal(value)
	if text, ok := value.(string); ok {
		encoded = []byte(text)
	}
	out := map[string]string{}
	if err == nil {
		err = json.Unmarshal(encoded, &out)
	}
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("context %s %s: give an object of texts: %w", key, encoded, err))
	}
	return out
}

// list reads a JSON list, or text with commas between.
func (r *reader) list(key string) []string {
	var out []string
	if values, ok := r.value(key).([]any); ok {
		for _, value := range values {
			out = append(out, fmt.Sprint(value))
		}
		return out
	}
	for part := range strings.SplitSeq(r.text(key, ""), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// clusters reads cluster and clusters. What the context says of one cluster goes for each that does not say otherwise itself.
func (r *reader) clusters() []Cluster {
	common := Cluster{
		Account: r.text("clusterAccount", ""), ExternalID: r.text("externalId", ""), Relay: r.flag("relay", false), Namespace: r.text("namespace", ""),
		DefaultSpread: r.text("defaultSpread", ""), Paused: r.flag("paused", false), SSMParameters: r.text("ssmParameters", ""),
		NodeRole: r.text("nodeRole", ""), NodeRoleName: r.text("nodeRoleName", ""), Windows: r.flag("windows", false), IPv6: r.flag("ipv6", false),
		VPC: r.text("vpcId", ""), IRSAProvider: r.text("irsaProvider", ""),
		StopAlarms:  r.flag("stopAlarms", false),
		SelfManaged: r.flag("selfManaged", false), Endpoint: r.text("endpoint", ""), CA: r.text("ca", ""),
		Kubernetes: r.text("kubernetes", ""), ServiceCIDR: r.text("serviceCidr", ""),
		ClusterDNS: r.text("clusterDns", ""),
	}
	var out []Cluster
	add := func(value any) {
		c := common
		switch value := value.(type) {
		case string:
			c.Name = value
		default:
			encoded, err := json.Marshal(value)
			if err == nil {
				err = strictly(encoded, &c)
			}
			if err != nil {
				r.problems = append(r.problems, fmt.Errorf("context clusters, %s: %w", encoded, err))
				return
			}
		}
		out = append(out, c)
	}
	if one := r.text("cluster", ""); one != "" {
		add(one)
	} else if r.value("cluster") != nil {
		r.problems = append(r.problems, errors.New(`context cluster "": give the name of an EKS cluster, or leave the key out for the region's stack alone`))
	}
	switch many := r.value("clusters").(type) {
	case nil:
	case []any:
		for _, value := range many {
			add(value)
		}
	case string:
		for _, name := range r.list("clusters") {
			add(name)
		}
	default:
		r.problems = append(r.problems, fmt.Errorf("context clusters %v: give names with commas between, or a list", many))
	}
	return out
}

// strictly decodes an object none of whose fields is unknown.
func strictly(data []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// contextOf is the context of an app.
func contextOf(app awscdk.App) context { return app.Node() }

// checkSelfManaged says what makes no sense of clusters that EKS does not run, or of others with their keys.
func (o Options) checkSelfManaged() []error {
	var problems []error
	for _, c := range o.Clusters {
		problem := func(bad bool, format string, args ...any) {
			if bad {
				problems = append(problems, fmt.Errorf("cluster %s, "+format, append([]any{c.Name}, args...)...))
			}
		}
		if !c.SelfManaged {
			for _, one := range [][2]string{{"endpoint", c.Endpoint}, {"ca", c.CA}, {"kubernetes", c.Kubernetes},
				{"serviceCidr", c.ServiceCIDR}, {"clusterDns", c.ClusterDNS}} {
				problem(one[1] != "",
					"%s %q: it is for clusters that EKS does not run; give selfManaged too, or leave it out",
					one[0], one[1])
			}
			continue
		}
		c.checkPlane(problem)
		problem(c.IRSAProvider == "", "irsaProvider %q: give the cluster's own OIDC provider, by which the watcher "+
			"gets its role; there is no Pod Identity outside of EKS", c.IRSAProvider)
		problem(c.Account != "",
			"account %s: a self-managed cluster is in the account of the region's stack; leave clusterAccount out",
			c.Account)
		problem(c.Windows, "windows: self-managed clusters have no Windows nodes; leave it out")
	}
	return problems
}

// checkPlane says what makes no sense of what EKS would say of a cluster.
func (c Cluster) checkPlane(problem func(bad bool, format string, args ...any)) {
	problem(!strings.HasPrefix(c.Endpoint, "https://"),
		"endpoint %q: give the address of the API server, such as https://api.example.com:6443", c.Endpoint)
	decoded, err := base64.StdEncoding.DecodeString(c.CA)
	block, _ := pem.Decode(decoded)
	problem(err != nil || block == nil,
		"ca %q: give the certificate authority, PEM in base64: base64 -w0 /etc/kubernetes/pki/ca.crt", c.CA)
	problem(!minor.MatchString(c.Kubernetes), "kubernetes %q: give the minor version, such as 1.36", c.Kubernetes)
	_, err = netip.ParsePrefix(c.ServiceCIDR)
	problem(c.ServiceCIDR != "" && err != nil, "serviceCidr %q: give a network, such as 10.96.0.0/12", c.ServiceCIDR)
	_, err = netip.ParseAddr(c.ClusterDNS)
	problem(c.ClusterDNS != "" && err != nil, "clusterDns %q: give an address, such as 10.96.0.10", c.ClusterDNS)
}
