package stack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// own is a cluster that EKS does not run.
type own struct {
	name, version string // the version of Kubernetes as people say it, such as 1.36
	relay         bool   // functions go by the relay, and the cluster's stack registers it
	cloud         *cloud.Cloud
	ec2           *ec2.Model
}

// What stands in the committed template of a self-managed cluster.
const (
	templatesEndpoint = "https://api.example.com:6443"
	templatesIssuer   = "issuer.example.com"
	templatesVersion  = `"version": "1.36"`
)

// ownPage is the page that self-managed clusters are installed by. What it has of YAML is taken from it.
const ownPage = "docs/tasks/self-managed.md"

// What the page calls things.
const (
	pageAccount = "111122223333"
	pageCluster = "own"
	ownIssuer   = "issuer.own.example.com"
)

var fenced = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// OwnYAML returns the block of YAML of the page of self-managed clusters that has a text, with an account in it.
func OwnYAML(account, text string) (string, error) {
	root, err := sources.Repository()
	if err != nil {
		return "", err
	}
	page, err := os.ReadFile(filepath.Join(root, ownPage))
	if err != nil {
		return "", err
	}
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], text) {
			return strings.ReplaceAll(block[1], pageAccount, account), nil
		}
	}
	return "", fmt.Errorf("page %s has no block of YAML with %q", ownPage, text)
}

// entries are the roles that the page has aws-iam-authenticator map. In relay mode nobody lets in functions.
func (o own) entries() (sts.AccessEntries, error) {
	if o.name != pageCluster {
		return nil, fmt.Errorf("cluster %s: the page's manifests are of a self-managed cluster %s", o.name, pageCluster)
	}
	if o.relay {
		return &sts.Authenticator{ClusterID: o.name}, nil
	}
	text, err := OwnYAML(o.cloud.Account(), "mapRoles")
	if err != nil {
		return nil, err
	}
	return sts.ReadAuthenticator([]byte(text))
}

// configure has a control plane be one of kubeadm with an issuer of its own.
func (o own) configure(options *kube.Options) {
	options.Issuer, options.Kubeadm = "https://"+ownIssuer, true
}

// surround makes what people have made beside the cluster: an OIDC provider for its issuer, as long as running is,
// and images of their own. It returns the name and value of a parameter with a bootstrap token.
func (o own) surround(ctx, running context.Context, plane *kube.ControlPlane) (name, token string, err error) {
	if _, err := o.cloud.STS.AddProvider(sts.Provider{
		Issuer: "https://" + ownIssuer, Audiences: []string{"sts.amazonaws.com"},
		Keys: func() ([]byte, error) { return kube.IssuerKeys(running, plane) },
	}); err != nil {
		return "", "", err
	}
	image := "kubeadm-" + o.version
	for _, architecture := range []string{"x86_64", "arm64"} {
		ec2.AddImageOf(o.ec2, image+"-"+architecture, architecture, "/dev/sda1", map[string]string{"image": image})
	}
	token, err = plane.BootstrapToken(ctx)
	return "/" + o.name + "/bootstrap-token", token, err
}

// parameter reads one as the CLI on an instance does, with the rights of the instance's role.
func (o own) parameter(ctx context.Context, i machine.Instance, name string) (string, error) {
	launched, _ := o.ec2.Lookup(i.ID)
	role := ""
	for _, profile := range o.ec2.InstanceProfiles() {
		if profile.ARN == launched.ProfileARN {
			role = profile.Role
		}
	}
	arn := sts.Role{Name: role, Account: o.cloud.Account(), Path: "/"}.ARN()
	keys, err := o.cloud.STS.Assume(arn, i.ID, sts.DefaultSession)
	if err != nil {
		return "", fmt.Errorf("Unable to locate credentials: %w", err) //nolint:staticcheck // the CLI's words
	}
	out, err := ssm.NewFromConfig(o.cloud.ConfigFor(keys)).GetParameter(ctx,
		&ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	return *out.Parameter.Value, nil
}

// template makes the cluster's template of the committed one's text. In relay mode it registers the cluster, as the
// page has it; otherwise it registers none: roles and queue are there, and whoever starts the stack attaches the
// cluster.
func (o own) template(text string, plane *kube.ControlPlane) (*cloudformation.Template, error) {
	var parts struct {
		Resources map[string]struct {
			Properties struct {
				CA string `json:"ca"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return nil, err
	}
	text = strings.NewReplacer(templatesEndpoint, plane.Endpoint(), templatesIssuer, ownIssuer,
		templatesVersion, `"version": "`+o.version+`"`, parts.Resources["Cluster"].Properties.CA,
		base64.StdEncoding.EncodeToString(plane.CertificateAuthority())).Replace(text)
	t, err := cloudformation.Parse([]byte(text))
	if err != nil || o.relay {
		return t, err
	}
	delete(t.Resources, "Cluster")
	return t, nil
}

// identity is the part of a watcher's environment by which it may become somebody in AWS: it is nobody without the
// token that its chart mounts.
func (o own) identity() []string {
	// The SDK's exchange of tokens does not look at the endpoint of all services.
	nobody := append(o.cloud.Environment(sts.Credentials{}), "AWS_ENDPOINT_URL_STS="+o.cloud.Endpoint())
	return slices.DeleteFunc(nobody, func(e string) bool {
		return strings.HasPrefix(e, "AWS_ACCESS_KEY_ID=") || strings.HasPrefix(e, "AWS_SECRET_ACCESS_KEY=")
	})
}

// ownValues are the chart's for the watcher of a self-managed cluster.
func ownValues(values map[string]any, outputs map[string]string) {
	values["serviceAccount"] = map[string]any{"roleARN": outputs["WatcherRoleARN"]}
}
