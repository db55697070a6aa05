package eks_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

const role = "arn:aws:iam::123456789012:role/path/to/joiner"

func serve(t *testing.T) (*eks.Model, *sdk.Client) {
	t.Helper()
	m := eks.New(eks.Options{Clock: clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Readings: reading.Strict(reading.Delays()...)})
	server := httptest.NewServer(eks.NewHandler(m))
	t.Cleanup(server.Close)
	return m, sdk.New(sdk.Options{Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
}

func TestDescribeClusterShowsWhatWasRegistered(t *testing.T) {
	m, c := serve(t)
	arn := m.AddCluster(eks.Cluster{Name: "dev", Version: "1.36", Endpoint: "https://127.0.0.1:6443", CertificateAuthority: []byte("PEM"),
		ServiceCIDR: "10.96.0.0/12", VPCID: "vpc-1", SubnetIDs: []string{"subnet-1"}, Tags: map[string]string{"team": "a"}})
	out, err := c.DescribeCluster(t.Context(), &sdk.DescribeClusterInput{Name: aws.String("dev")})
	if err != nil {
		t.Fatal(err)
	}
	got := out.Cluster
	ca, err := base64.StdEncoding.DecodeString(*got.CertificateAuthority.Data)
	if err != nil || string(ca) != "PEM" || *got.Arn != arn || *got.Version != "1.36" || *got.Endpoint != "https://127.0.0.1:6443" ||
		got.Status != types.ClusterStatusActive || *got.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.96.0.0/12" ||
		got.AccessConfig.AuthenticationMode != types.AuthenticationModeApi || got.Tags["team"] != "a" || *got.ResourcesVpcConfig.VpcId != "vpc-1" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = c.DescribeCluster(t.Context(), &sdk.DescribeClusterInput{Name: aws.String("other")})
	if missing := new(types.ResourceNotFoundException); !errors.As(err, &missing) {
		t.Errorf("unknown cluster: %v", err)
	}
}

func TestClustersAreListedInPages(t *testing.T) {
	m, c := serve(t)
	for _, name := range []string{"c", "a", "b"} {
		m.AddCluster(eks.Cluster{Name: name})
	}
	var names []string
	pages := sdk.NewListClustersPaginator(c, &sdk.ListClustersInput{MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, page.Clusters...)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("listed %v", names)
	}
}

func TestAccessEntriesDecideWhoMayEnter(t *testing.T) {
	m, c := serve(t)
	m.AddCluster(eks.Cluster{Name: "dev"})
	if _, _, ok := m.Lookup("dev", role); ok {
		t.Error("a role without an entry may enter")
	}
	created, err := c.CreateAccessEntry(t.Context(), &sdk.CreateAccessEntryInput{ClusterName: aws.String("dev"), PrincipalArn: aws.String(role), KubernetesGroups: []string{"z", "a"}})
	if err != nil {
		t.Fatal(err)
	}
	const user = "arn:aws:sts::123456789012:assumed-role/joiner/{{SessionName}}"
	username, groups, ok := m.Lookup("dev", role)
	if !ok || username != user || !slices.Equal(groups, []string{"a", "z"}) || *created.AccessEntry.Username != user {
		t.Errorf("looked up %q %v %v", username, groups, ok)
	}
	if _, _, ok := m.Lookup("other", role); ok {
		t.Error("the entry holds in another cluster too")
	}
	described, err := c.DescribeAccessEntry(t.Context(), &sdk.DescribeAccessEntryInput{ClusterName: aws.String("dev"), PrincipalArn: aws.String(role)})
	if err != nil || *described.AccessEntry.AccessEntryArn != *created.AccessEntry.AccessEntryArn || *described.AccessEntry.Type != "STANDARD" {
		t.Errorf("described %+v, %v", described, err)
	}
	listed, err := c.ListAccessEntries(t.Context(), &sdk.ListAccessEntriesInput{ClusterName: aws.String("dev")})
	if err != nil || !slices.Equal(listed.AccessEntries, []string{role}) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if _, err := c.DeleteAccessEntry(t.Context(), &sdk.DeleteAccessEntryInput{ClusterName: aws.String("dev"), PrincipalArn: aws.String(role)}); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := m.Lookup("dev", role); ok {
		t.Error("the role may still enter")
	}
}

func TestNodesEnterUnderTheirOwnName(t *testing.T) {
	m, _ := serve(t)
	m.AddCluster(eks.Cluster{Name: "dev"})
	if err := m.AddAccessEntry(eks.AccessEntry{Cluster: "dev", PrincipalARN: role, Type: "EC2_LINUX"}); err != nil {
		t.Fatal(err)
	}
	if username, groups, ok := m.Lookup("dev", role); !ok || username != "system:node:{{EC2PrivateDNSName}}" || !slices.Equal(groups, []string{"system:nodes"}) {
		t.Errorf("looked up %q %v %v", username, groups, ok)
	}
}

func TestAccessEntriesRefuse(t *testing.T) {
	m, c := serve(t)
	m.AddCluster(eks.Cluster{Name: "dev"})
	if err := m.AddAccessEntry(eks.AccessEntry{Cluster: "dev", PrincipalARN: role}); err != nil {
		t.Fatal(err)
	}
	other := aws.String("arn:aws:iam::123456789012:role/other")
	tests := map[string]struct {
		in   sdk.CreateAccessEntryInput
		want error
	}{
		"the same principal twice": {sdk.CreateAccessEntryInput{PrincipalArn: aws.String(role)}, new(types.ResourceInUseException)},
		"what is no principal":     {sdk.CreateAccessEntryInput{PrincipalArn: aws.String("arn:aws:sts::123456789012:assumed-role/a/b")}, new(types.InvalidParameterException)},
		"a group of the system":    {sdk.CreateAccessEntryInput{PrincipalArn: other, KubernetesGroups: []string{"system:masters"}}, new(types.InvalidParameterException)},
		"a user of the system":     {sdk.CreateAccessEntryInput{PrincipalArn: other, Username: aws.String("system:admin")}, new(types.InvalidParameterException)},
		"an unknown type":          {sdk.CreateAccessEntryInput{PrincipalArn: other, Type: aws.String("TOASTER")}, new(types.InvalidParameterException)},
		"groups for a node":        {sdk.CreateAccessEntryInput{PrincipalArn: other, Type: aws.String("EC2_LINUX"), KubernetesGroups: []string{"a"}}, new(types.InvalidParameterException)},
	}
	for name, tt := range tests {
		tt.in.ClusterName = aws.String("dev")
		_, err := c.CreateAccessEntry(t.Context(), &tt.in)
		var got interface{ ErrorCode() string }
		if !errors.As(err, &got) || got.ErrorCode() != tt.want.(interface{ ErrorCode() string }).ErrorCode() {
			t.Errorf("%s: %v, want %T", name, err, tt.want)
		}
	}
}

func TestRequestsAreNamedAfterTheirAction(t *testing.T) {
	h := eks.NewHandler(eks.New(eks.Options{}))
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/clusters", "ListClusters"},
		{"GET", "/clusters/dev", "DescribeCluster"},
		{"POST", "/clusters/dev/access-entries", "CreateAccessEntry"},
		{"GET", "/clusters/dev/access-entries/arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fjoiner", "DescribeAccessEntry"},
		{"POST", "/clusters/dev/updates", ""},
	} {
		if got := h.ActionName(httptest.NewRequest(tt.method, tt.path, http.NoBody)); got != tt.want {
			t.Errorf("%s %s is called %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestPodIdentitiesAreListedByServiceAccount(t *testing.T) {
	m, c := serve(t)
	m.AddCluster(eks.Cluster{Name: "dev"})
	for _, p := range []eks.PodIdentity{{Cluster: "dev", Namespace: "joiner", ServiceAccount: "joiner-watcher", RoleARN: role}, {Cluster: "dev", Namespace: "a", ServiceAccount: "b", RoleARN: role}} {
		if err := m.AddPodIdentity(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.AddPodIdentity(eks.PodIdentity{Cluster: "other"}); err == nil {
		t.Error("an association of no cluster was made")
	}
	for want, in := range map[int]sdk.ListPodIdentityAssociationsInput{
		2: {}, 1: {Namespace: aws.String("joiner"), ServiceAccount: aws.String("joiner-watcher")}, 0: {Namespace: aws.String("joiner"), ServiceAccount: aws.String("b")},
	} {
		in.ClusterName = aws.String("dev")
		out, err := c.ListPodIdentityAssociations(t.Context(), &in)
		if err != nil || len(out.Associations) != want {
			t.Errorf("%d associations, want %d, %v", len(out.Associations), want, err)
		}
	}
}

func TestAddonsAndAccessAreDescribed(t *testing.T) {
	m, c := serve(t)
	m.AddCluster(eks.Cluster{Name: "dev", AuthenticationMode: "CONFIG_MAP", IPFamily: "ipv6", PublicAccessCIDRs: []string{"192.0.2.0/24"}, AutoMode: true, ClusterGroupID: "sg-1"})
	out, err := c.DescribeCluster(t.Context(), &sdk.DescribeClusterInput{Name: aws.String("dev")})
	if err != nil {
		t.Fatal(err)
	}
	d := out.Cluster
	if d.AccessConfig.AuthenticationMode != types.AuthenticationModeConfigMap || d.KubernetesNetworkConfig.IpFamily != types.IpFamilyIpv6 ||
		!slices.Equal(d.ResourcesVpcConfig.PublicAccessCidrs, []string{"192.0.2.0/24"}) || !aws.ToBool(d.ComputeConfig.Enabled) || aws.ToString(d.ResourcesVpcConfig.ClusterSecurityGroupId) != "sg-1" {
		t.Errorf("%+v", d)
	}
	m.AddCluster(eks.Cluster{Name: "dev", NoPublicAccess: true})
	if out, err = c.DescribeCluster(t.Context(), &sdk.DescribeClusterInput{Name: aws.String("dev")}); err != nil || out.Cluster.ResourcesVpcConfig.EndpointPublicAccess || len(out.Cluster.ResourcesVpcConfig.PublicAccessCidrs) > 0 {
		t.Errorf("%+v %v", out, err)
	}
	addon := sdk.DescribeAddonInput{ClusterName: aws.String("dev"), AddonName: aws.String("eks-pod-identity-agent")}
	var none *types.ResourceNotFoundException
	if _, err := c.DescribeAddon(t.Context(), &addon); !errors.As(err, &none) {
		t.Errorf("an add-on that is not there: %v", err)
	}
	create := sdk.CreateAddonInput{ClusterName: aws.String("dev"), AddonName: aws.String("eks-pod-identity-agent"), AddonVersion: aws.String("v1.3.4-eksbuild.1")}
	if _, err := c.CreateAddon(t.Context(), &create); err != nil {
		t.Fatal(err)
	}
	var again *types.ResourceInUseException
	if _, err := c.CreateAddon(t.Context(), &create); !errors.As(err, &again) {
		t.Errorf("the same add-on twice: %v", err)
	}
	if got, err := c.DescribeAddon(t.Context(), &addon); err != nil || got.Addon.Status != types.AddonStatusActive || aws.ToString(got.Addon.AddonVersion) != "v1.3.4-eksbuild.1" {
		t.Errorf("%+v %v", got, err)
	}
	m.RemoveAddon("dev", "eks-pod-identity-agent")
	if _, err := c.DescribeAddon(t.Context(), &addon); !errors.As(err, &none) {
		t.Errorf("an add-on that was taken away: %v", err)
	}
}
