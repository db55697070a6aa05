package eks

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Handler serves a Model on the wire protocol of EKS.
type Handler struct{ *wire.RESTJSON }

// NewHandler serves m.
func NewHandler(m *Model) *Handler {
	h := &Handler{wire.NewRESTJSON(&m.mu)}
	h.Handle("ListClusters", "GET /clusters", m.listClusters)
	h.Handle("DescribeCluster", "GET /clusters/{name}", m.describeCluster)
	h.Handle("ListAccessEntries", "GET /clusters/{name}/access-entries", m.listAccessEntries)
	h.Handle("CreateAccessEntry", "POST /clusters/{name}/access-entries", m.createAccessEntry)
	h.Handle("DescribeAccessEntry", "GET /clusters/{name}/access-entries/{principalArn}", m.describeAccessEntry)
	h.Handle("DeleteAccessEntry", "DELETE /clusters/{name}/access-entries/{principalArn}", m.deleteAccessEntry)
	h.Handle("CreateAddon", "POST /clusters/{name}/addons", m.createAddon)
	h.Handle("DescribeAddon", "GET /clusters/{name}/addons/{addon}", m.describeAddon)
	h.Handle("ListPodIdentityAssociations", "GET /clusters/{name}/pod-identity-associations", m.listPodIdentities)
	return h
}

type clusterView struct {
	Name                 string            `json:"name"`
	ARN                  string            `json:"arn"`
	CreatedAt            wire.Epoch        `json:"createdAt"`
	Version              string            `json:"version"`
	Endpoint             string            `json:"endpoint"`
	RoleARN              string            `json:"roleArn,omitempty"`
	VPC                  vpcView           `json:"resourcesVpcConfig"`
	Network              networkView       `json:"kubernetesNetworkConfig"`
	Status               string            `json:"status"`
	CertificateAuthority caView            `json:"certificateAuthority"`
	PlatformVersion      string            `json:"platformVersion"`
	Tags                 map[string]string `json:"tags"`
	Health               healthView        `json:"health"`
	Access               accessView        `json:"accessConfig"`
	Upgrade              upgradeView       `json:"upgradePolicy"`
	Compute              computeView       `json:"computeConfig"`
}

type computeView struct {
	Enabled bool `json:"enabled"`
}

type vpcView struct {
	SubnetIDs             []string `json:"subnetIds"`
	SecurityGroupIDs      []string `json:"securityGroupIds"`
	ClusterGroupID        string   `json:"clusterSecurityGroupId,omitempty"`
	VPCID                 string   `json:"vpcId"`
	EndpointPublicAccess  bool     `json:"endpointPublicAccess"`
	EndpointPrivateAccess bool     `json:"endpointPrivateAccess"`
	PublicAccessCIDRs     []string `json:"publicAccessCidrs"`
}

type networkView struct {
	ServiceIPv4CIDR string `json:"serviceIpv4Cidr"`
	IPFamily        string `json:"ipFamily"`
}

type caView struct {
	Data []byte `json:"data"` // base64 of the PEM
}

type healthView struct {
	Issues []string `json:"issues"`
}

type accessView struct {
	AuthenticationMode string `json:"authenticationMode"`
}

type upgradeView struct {
	SupportType string `json:"supportType"`
}

func (m *Model) describeCluster(r *http.Request) (any, error) {
	c, err := m.cluster(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return map[string]clusterView{"cluster": {
		Name: c.Name, ARN: c.arn, CreatedAt: wire.Epoch{Time: c.created}, Version: c.Version, Endpoint: c.Endpoint, RoleARN: c.RoleARN,
		VPC: vpcView{SubnetIDs: list(c.SubnetIDs), SecurityGroupIDs: list(c.SecurityGroupIDs), VPCID: c.VPCID, ClusterGroupID: c.ClusterGroupID,
			EndpointPublicAccess: !c.NoPublicAccess, EndpointPrivateAccess: !c.NoPrivateAccess, PublicAccessCIDRs: publicCIDRs(c)},
		Network: networkView{c.ServiceCIDR, cmp.Or(c.IPFamily, "ipv4")}, Compute: computeView{c.AutoMode}, Status: m.status(c), CertificateAuthority: caView{c.CertificateAuthority},
		PlatformVersion: "eks.1", Tags: tags(c.Tags), Health: healthView{[]string{}}, Access: accessView{cmp.Or(c.AuthenticationMode, "API")}, Upgrade: upgradeView{"STANDARD"},
	}}, nil
}

func (m *Model) listClusters(r *http.Request) (any, error) {
	names, next, err := page(r, m.names())
	if err != nil {
		return nil, err
	}
	return struct {
		Clusters  []string `json:"clusters"`
		NextToken string   `json:"nextToken,omitempty"`
	}{names, next}, nil
}

type entryView struct {
	ClusterName      string            `json:"clusterName"`
	PrincipalARN     string            `json:"principalArn"`
	KubernetesGroups []string          `json:"kubernetesGroups"`
	AccessEntryARN   string            `json:"accessEntryArn"`
	CreatedAt        wire.Epoch        `json:"createdAt"`
	ModifiedAt       wire.Epoch        `json:"modifiedAt"`
	Tags             map[string]string `json:"tags"`
	Username         string            `json:"username"`
	Type             string            `json:"type"`
}

func viewEntry(e *entry) any {
	return map[string]entryView{"accessEntry": {
		ClusterName: e.Cluster, PrincipalARN: e.PrincipalARN, KubernetesGroups: list(e.Groups), AccessEntryARN: e.arn,
		CreatedAt: wire.Epoch{Time: e.created}, ModifiedAt: wire.Epoch{Time: e.created}, Tags: tags(e.Tags), Username: e.Username, Type: e.Type,
	}}
}

func (m *Model) createAccessEntry(r *http.Request) (any, error) {
	var in struct {
		PrincipalARN     string            `json:"principalArn"`
		KubernetesGroups []string          `json:"kubernetesGroups"`
		Tags             map[string]string `json:"tags"`
		Username         string            `json:"username"`
		Type             string            `json:"type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, wire.Errorf("InvalidRequestException", "request document: %v", err)
	}
	e, err := m.addEntry(AccessEntry{Cluster: r.PathValue("name"), PrincipalARN: in.PrincipalARN, Username: in.Username,
		Groups: in.KubernetesGroups, Type: in.Type, Tags: in.Tags})
	if err != nil {
		return nil, err
	}
	return viewEntry(e), nil
}

func (m *Model) describeAccessEntry(r *http.Request) (any, error) {
	_, e, err := m.entry(r.PathValue("name"), r.PathValue("principalArn"))
	if err != nil {
		return nil, err
	}
	return viewEntry(e), nil
}

func (m *Model) deleteAccessEntry(r *http.Request) (any, error) {
	c, e, err := m.entry(r.PathValue("name"), r.PathValue("principalArn"))
	if err != nil {
		return nil, err
	}
	delete(c.entries, e.PrincipalARN)
	return struct{}{}, nil
}

func (m *Model) listAccessEntries(r *http.Request) (any, error) {
	c, err := m.cluster(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	arns, next, err := page(r, slices.Sorted(maps.Keys(c.entries)))
	if err != nil {
		return nil, err
	}
	return struct {
		AccessEntries []string `json:"accessEntries"`
		NextToken     string   `json:"nextToken,omitempty"`
	}{arns, next}, nil
}

const maxPage = 100

// page returns the sorted names after the token of r, as many as it wants.
func page(r *http.Request, names []string) (out []string, next string, err error) {
	size := maxPage
	if s := r.URL.Query().Get("maxResults"); s != "" {
		if size, err = strconv.Atoi(s); err != nil || size < 1 || size > maxPage {
			return nil, "", wire.Errorf("InvalidParameterException", "maxResults must be between 1 and %d", maxPage)
		}
	}
	if token := r.URL.Query().Get("nextToken"); token != "" {
		after, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			return nil, "", wire.Errorf("InvalidParameterException", "nextToken is not valid")
		}
		names = slices.DeleteFunc(names, func(name string) bool { return strings.Compare(name, string(after)) <= 0 })
	}
	if len(names) > size {
		names = names[:size]
		next = base64.StdEncoding.EncodeToString([]byte(names[size-1]))
	}
	return list(names), next, nil
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func tags(t map[string]string) map[string]string {
	if t == nil {
		return map[string]string{}
	}
	return t
}
