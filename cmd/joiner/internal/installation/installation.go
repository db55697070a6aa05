package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Parameter is where the region's stack says what it made.
const Parameter = "/joiner/installation"

// Installation is what the region's stack says of itself. The chart takes the same text as its value "installation".
type Installation struct {
	Version   string            `json:"version"`
	Account   string            `json:"account"`
	Region    string            `json:"region"`
	Table     string            `json:"table"`
	Bucket    string            `json:"bucket"`
	Queues    map[string]string `json:"queues"`    // URLs by id: plan, catalog, interruption, disruption, notices
	Functions map[string]string `json:"functions"` // ARNs by program
	Roles     map[string]string `json:"roles"`     // ARNs by program
	Stop      string            `json:"stop"`      // name of the stop switch
}

// Session is an installation as a command line reaches it.
type Session struct {
	Installation
	dir    string // of the files that are read instead; empty = AWS
	Config aws.Config
	Ledger *dynamoledger.Ledger
	Unread error // why the installation is not known beyond its table; nil = it is
}

// Open finds the ledger, and what the installation says of itself, which may be missing where the table is named.
func (f *Flags) Open(ctx context.Context) (*Session, error) {
	if f.Dir != "" {
		return f.openDir()
	}
	o, err := f.configure(ctx)
	if err != nil {
		return nil, err
	}
	o.Installation, o.Unread = readParameter(ctx, o.Config)
	return o, o.use(f.Table)
}

// openDir reads a folder in the installation's place.
func (f *Flags) openDir() (*Session, error) {
	at, err := f.Now()
	if err != nil {
		return nil, err
	}
	client, err := clientOfScan(filepath.Join(f.Dir, scanFile), at)
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	ledger := dynamoledger.New(client, scanFile, dynamoledger.Clock(func() time.Time { return at }))
	return &Session{Installation: Installation{Table: scanFile, Bucket: FolderBucket}, dir: f.Dir, Ledger: ledger}, nil
}

// Find finds the ledger, and asks nobody where its table is named.
func (f *Flags) Find(ctx context.Context) (*Session, error) {
	if f.Table == "" {
		return f.Open(ctx)
	}
	o, err := f.configure(ctx)
	if err != nil {
		return nil, err
	}
	o.Unread = errors.New("nobody asked")
	return o, o.use(f.Table)
}

func (f *Flags) configure(ctx context.Context) (*Session, error) {
	config, err := Config(ctx, f.Region, f.Profile)
	return &Session{Config: config}, err
}

// use opens the table that is named, else the installation's.
func (o *Session) use(table string) error {
	switch o.Table = cmp.Or(table, o.Table); {
	case o.Table == "" && o.Unread == nil:
		return fmt.Errorf("parameter %s names no table: name it by --table or JOINER_TABLE", Parameter)
	case o.Table == "":
		return fmt.Errorf("%s: %w", unreadText(o.Unread, o.Config.Region), o.Unread)
	}
	o.Ledger = dynamoledger.New(dynamodb.NewFromConfig(o.Config), o.Table)
	return nil
}

// unreadText says why the installation could not be read, and what to do about it.
func unreadText(err error, region string) string {
	var dns *net.DNSError
	text := err.Error()
	switch {
	case errors.Is(err, errNoInstallation):
		return "find the installation: deploy the region's stack (joiner), correct --region, or name the ledger's " +
			"DynamoDB table by --table or JOINER_TABLE"
	case strings.Contains(text, "get credentials"), strings.Contains(text, "refresh cached credentials"),
		strings.Contains(text, "get identity"):
		return "find AWS credentials: set AWS_PROFILE, or log in (aws sso login)"
	case errors.As(err, &dns):
		return fmt.Sprintf("find the host %s: check the network, and the region %s", dns.Name, region)
	}
	return "read the installation in " + region
}

// Clusters are all that are attached, by name. Of those whose registrations cannot be read warn is called.
func (o *Session) Clusters(ctx context.Context, warn io.Writer) ([]model.Registration, error) {
	all, err := o.Ledger.Clusters(ctx)
	if fault.CodeOf(err) == model.CodeUnreadCluster {
		_, err = fmt.Fprintf(warn, "warning: %v\n", err)
	}
	if err != nil {
		return nil, fmt.Errorf("list the clusters of table %s: %w", o.Table, err)
	}
	return all, nil
}

// Stops returns what stops voluntary disruption of a cluster: the stops of people, and alarms that NodePools name, as
// joiner-disrupt found them last.
func (o *Session) Stops(ctx context.Context, reg model.Registration) ([]model.Stop, error) {
	stops, err := o.Ledger.Stops(ctx, reg)
	if err != nil {
		return nil, err
	}
	_, notes, _, err := o.Ledger.Peek(ctx, reg.Cluster)
	return model.WithAlarms(stops, notes.Alarms), err
}

// Attached is the one of all that has the name.
func (o *Session) Attached(all []model.Registration, cluster string) (model.Registration, error) {
	var names []string
	for _, reg := range all {
		if reg.Cluster == cluster {
			return reg, nil
		}
		names = append(names, reg.Cluster)
	}
	return model.Registration{}, fmt.Errorf("cluster %q is not attached; table %s has %s", cluster, o.Table,
		cmp.Or(strings.Join(names, ", "), "no cluster"))
}

// State is how a cluster stands: active, paused or leaving.
func State(reg *model.Registration) string {
	switch {
	case reg.WasPaused != nil:
		return "leaving"
	case reg.Paused:
		return "paused"
	}
	return "active"
}

// ProgramRole is a function and the role by which it acts for a cluster; "" = unknown.
type ProgramRole struct{ Program, Role string }

// ProgramRoles are the roles of the functions for a cluster: its own, else the installation's.
func (o *Session) ProgramRoles(reg *model.Registration) []ProgramRole {
	out := []ProgramRole{
		{"provision", reg.Roles.Provision}, {"interruption", reg.Roles.Interruption}, {"catalog", reg.Roles.Catalog},
		{"disrupt", reg.Roles.Disrupt},
	}
	for i := range out {
		out[i].Role = cmp.Or(out[i].Role, o.Roles[out[i].Program])
	}
	return out
}

// Objects reaches the installation's S3.
func (o *Session) Objects() *s3.Client {
	if o.dir != "" {
		return FolderClient(o.dir)
	}
	return s3.NewFromConfig(o.Config, func(options *s3.Options) { options.UsePathStyle = options.BaseEndpoint != nil })
}

// Snapshots returns a store of snapshots and records that has nothing in memory.
func (o *Session) Snapshots() *s3snapshot.Store { return s3snapshot.New(o.Objects(), o.Bucket) }

// errNoInstallation says that no stack has written what readParameter reads.
var errNoInstallation = errors.New("no installation")

func readParameter(ctx context.Context, config aws.Config) (Installation, error) {
	var in Installation
	text, err := ssmswitch.New(ssm.NewFromConfig(config)).Parameter(ctx, Parameter)
	if fault.Is(err, fault.NotFound) {
		return in, fmt.Errorf("%w: there is no parameter %s in %s", errNoInstallation, Parameter, config.Region)
	}
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return in, fmt.Errorf("%w: parameter %s is not what the region's stack writes: %w", errNoInstallation,
			Parameter, err)
	}
	return in, nil
}
