package eks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Options say whose clusters they are. The zero value is a working one.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits; "" means 123456789012
	Region  string      // "" means us-west-2
	// Readings are of what EKS leaves open; nil means what the environment says.
	Readings *reading.Set
}

// Cluster is a cluster as EKS describes it. Only Name is required.
type Cluster struct {
	Name                 string
	Version              string // minor, e.g. "1.36"
	Endpoint             string // "https://…"
	CertificateAuthority []byte // PEM
	ServiceCIDR          string // IPv4; "" means 10.100.0.0/16
	RoleARN              string
	VPCID                string
	SubnetIDs            []string
	SecurityGroupIDs     []string
	ClusterGroupID       string // the security group that EKS made for it
	Tags                 map[string]string

	AuthenticationMode string   // "" means API
	IPFamily           string   // "" means ipv4
	NoPublicAccess     bool     // the API server has no public endpoint
	NoPrivateAccess    bool     // nor one within the VPC
	PublicAccessCIDRs  []string // who may use the public one; none means everybody
	AutoMode           bool     // EKS runs nodes, and what nodes run, itself
}

// AccessEntry lets a user or role into a cluster.
type AccessEntry struct {
	Cluster      string
	PrincipalARN string // of an IAM user or role
	// Username may hold {{SessionName}} and, for nodes, {{EC2PrivateDNSName}}.
	// Empty, EKS makes one up.
	Username string
	Groups   []string // Kubernetes groups; sorted
	Type     string   // "" means STANDARD
	Tags     map[string]string
}

// Model is the EKS of one account and region. It is safe for concurrent use.
type Model struct {
	clock   clock.Clock
	account string
	region  string
	reads   *reading.Set

	mu       sync.Mutex
	clusters map[string]*cluster // by name
}

type cluster struct {
	Cluster
	arn     string
	created time.Time
	entries map[string]*entry // by principal ARN

	identities []PodIdentity // by namespace and service account
	addons     map[string]Addon
}

type entry struct {
	AccessEntry
	arn     string
	created time.Time
}

// New returns a model without clusters.
func New(o Options) *Model {
	m := &Model{clock: o.Clock, account: o.Account, region: o.Region, reads: o.Readings, clusters: map[string]*cluster{}}
	if m.clock == nil {
		m.clock = clock.System()
	}
	if m.account == "" {
		m.account = "123456789012"
	}
	if m.region == "" {
		m.region = "us-west-2"
	}
	return m
}

// AddCluster registers a cluster, replacing one of the same name but keeping its
// access entries, and returns its ARN.
func (m *Model) AddCluster(c Cluster) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.ServiceCIDR == "" {
		c.ServiceCIDR = "10.100.0.0/16"
	}
	entries, identities, addons := map[string]*entry{}, []PodIdentity(nil), map[string]Addon{}
	if before := m.clusters[c.Name]; before != nil {
		entries, identities, addons = before.entries, before.identities, before.addons
	}
	arn := fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", m.region, m.account, c.Name)
	m.clusters[c.Name] = &cluster{Cluster: c, arn: arn, created: m.clock.Now(), entries: entries, identities: identities, addons: addons}
	return arn
}

// SetPrivate takes the public endpoint of a cluster away.
func (m *Model) SetPrivate(clusterName string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[clusterName]; c != nil {
		c.NoPublicAccess = true
	}
}

// AddAccessEntry lets a principal in. It fails as CreateAccessEntry would, with
// a *wire.Error.
func (m *Model) AddAccessEntry(e AccessEntry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.addEntry(e)
	return err
}

// RemoveAccessEntry lets a principal in no more; where it was not, nothing happens.
func (m *Model) RemoveAccessEntry(clusterName, principalARN string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[clusterName]; c != nil {
		delete(c.entries, principalARN)
	}
}

// Lookup returns the username and groups a principal has in a cluster. ok is
// false when the cluster does not exist or has no entry for it.
func (m *Model) Lookup(clusterName, principalARN string) (username string, groups []string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clusters[clusterName]
	if c == nil {
		return "", nil, false
	}
	e := c.entries[principalARN]
	if e == nil || m.reads.Takes(reading.AccessEntryLag) && m.clock.Now().Before(e.created.Add(reading.AccessEntryDelay)) {
		return "", nil, false
	}
	return e.Username, slices.Clone(e.Groups), true
}

// Types of access entries.
const (
	standard  = "STANDARD"
	typeLinux = "EC2_LINUX"
)

var entryTypes = []string{standard, typeLinux, "EC2_WINDOWS", "FARGATE_LINUX", "EC2", "HYBRID_LINUX", "HYPERPOD_LINUX"}

var principalARN = regexp.MustCompile(`^arn:aws:iam::(\d{12}):(user|role)/(?:[\w+=,.@/-]*/)?([\w+=,.@-]+)$`)

func (m *Model) addEntry(e AccessEntry) (*entry, error) {
	c, err := m.cluster(e.Cluster)
	if err != nil {
		return nil, err
	}
	if e.Type == "" {
		e.Type = standard
	}
	principal := principalARN.FindStringSubmatch(e.PrincipalARN)
	switch {
	case principal == nil:
		return nil, wire.Errorf("InvalidParameterException", "The principalArn parameter format is not valid")
	case !slices.Contains(entryTypes, e.Type):
		return nil, wire.Errorf("InvalidParameterException", "The specified access entry type is not valid: %s", e.Type)
	case e.Type != standard && (e.Username != "" || len(e.Groups) > 0):
		return nil, wire.Errorf("InvalidParameterException", "The username and kubernetesGroups parameters can be specified for entries of type STANDARD only")
	case c.entries[e.PrincipalARN] != nil:
		return nil, wire.StatusErrorf(409, "ResourceInUseException", "The specified access entry resource is already in use on this cluster.")
	}
	if err := checkNames(e); err != nil {
		return nil, err
	}
	if e.Username == "" {
		e.Username = defaultUsername(e, principal)
	}
	if e.Type != standard {
		e.Groups = []string{"system:nodes"}
	}
	slices.Sort(e.Groups)
	made := &entry{AccessEntry: e, created: m.clock.Now(), arn: fmt.Sprintf("arn:aws:eks:%s:%s:access-entry/%s/%s/%s/%s/%s",
		m.region, m.account, e.Cluster, principal[2], principal[1], principal[3], uuid(e.Cluster+e.PrincipalARN))}
	c.entries[e.PrincipalARN] = made
	return made, nil
}

// checkNames refuses users and groups only the cluster itself may have.
func checkNames(e AccessEntry) error {
	for _, prefix := range []string{"system:", "eks:", "aws:", "amazon:", "iam:"} {
		if strings.HasPrefix(e.Username, prefix) {
			return wire.Errorf("InvalidParameterException", "The username must not begin with '%s'", prefix)
		}
	}
	for _, group := range e.Groups {
		if strings.HasPrefix(group, "system:") {
			return wire.Errorf("InvalidParameterException", "The kubernetes group name %s is invalid, it cannot start with system:", group)
		}
	}
	return nil
}

func defaultUsername(e AccessEntry, principal []string) string {
	switch {
	case e.Type == "FARGATE_LINUX" || e.Type == "HYBRID_LINUX":
		return "system:node:{{SessionName}}"
	case e.Type != standard:
		return "system:node:{{EC2PrivateDNSName}}"
	case principal[2] == "role":
		return "arn:aws:sts::" + principal[1] + ":assumed-role/" + principal[3] + "/{{SessionName}}"
	}
	return e.PrincipalARN
}

// status is what a cluster says of itself.
func (m *Model) status(c *cluster) string {
	if m.reads.Takes(reading.ClusterLag) && m.clock.Now().Before(c.created.Add(reading.ClusterDelay)) {
		return "CREATING"
	}
	return "ACTIVE"
}

func (m *Model) cluster(name string) (*cluster, error) {
	if c := m.clusters[name]; c != nil {
		return c, nil
	}
	return nil, wire.StatusErrorf(404, "ResourceNotFoundException", "No cluster found for name: %s.", name)
}

func (m *Model) entry(clusterName, principal string) (*cluster, *entry, error) {
	c, err := m.cluster(clusterName)
	if err != nil {
		return nil, nil, err
	}
	e := c.entries[principal]
	if e == nil {
		return nil, nil, wire.StatusErrorf(404, "ResourceNotFoundException", "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.")
	}
	return c, e, nil
}

func (m *Model) names() []string { return slices.Sorted(maps.Keys(m.clusters)) }

func uuid(of string) string {
	sum := sha256.Sum256([]byte(of))
	d := hex.EncodeToString(sum[:])
	return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:32]
}
