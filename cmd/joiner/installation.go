package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// installationParameter is where the region's stack says what it made.
const installationParameter = "/joiner/installation"

// installation is what the region's stack says of itself. The chart takes the same text as its value "installation".
type installation struct {
	Version   string            `json:"version"`
	Account   string            `json:"account"`
	Region    string            `json:"region"`
	Table     string            `json:"table"`
	Bucket    string            `json:"bucket"`
	Queues    map[string]string `json:"queues"`    // URLs by id: plan, catalog, interruption, disruption, notices
	Functions map[string]string `json:"functions"` // ARNs by program
	Roles     map[string]string `json:"roles"`     // ARNs by program
	Stop      string            `json:"stop"`      // name of the stop switch

	text string // as it was read
}

// place is where an installation is: what every command that reaches the ledger needs.
type place struct{ table, region, dir string }

func (p *place) register(command *cobra.Command) {
	p.registerTable(command)
	command.Flags().StringVar(&p.region, "region", "", "the `REGION` of the installation and its clusters (default: as for every AWS tool)")
	must(command.RegisterFlagCompletionFunc("region", cobra.NoFileCompletions))
}

// registerTable is for commands with a --region of another meaning.
func (p *place) registerTable(command *cobra.Command) {
	command.Flags().StringVar(&p.table, "table", os.Getenv("JOINER_TABLE"),
		"the ledger's DynamoDB `TABLE` (default: JOINER_TABLE, else the installation's)")
	must(command.RegisterFlagCompletionFunc("table", cobra.NoFileCompletions))
}

// registerDir is for commands that only read.
func (p *place) registerDir(command *cobra.Command) {
	command.Flags().StringVar(&p.dir, "dir", "", "`FOLDER` with the bucket's objects and the table's items ("+scanFile+"), instead of the installation")
	must(command.MarkFlagDirname("dir"))
}

// now is the time of what is read: the clock's, or when a folder's ledger was written.
func (p *place) now() (time.Time, error) {
	if p.dir == "" {
		return time.Now(), nil
	}
	info, err := os.Stat(filepath.Join(p.dir, scanFile))
	if err != nil {
		return time.Time{}, fmt.Errorf("--dir: the table's items, as \"aws dynamodb scan\" writes them, are needed in it as %s: %w", scanFile, err)
	}
	return info.ModTime(), nil
}

// session is an installation as a command line reaches it.
type session struct {
	installation
	dir    string // of the files that are read instead; empty = AWS
	config aws.Config
	ledger *dynamoledger.Ledger
	unread error // why the installation is not known beyond its table; nil = it is
}

// open finds the ledger, and what the installation says of itself, which may be missing where the table is named.
func (p *place) open(ctx context.Context) (*session, error) {
	if p.dir != "" {
		return p.openDir()
	}
	o, err := p.configure(ctx)
	if err != nil {
		return nil, err
	}
	o.installation, o.unread = readInstallation(ctx, o.config)
	return o, o.use(p.table)
}

// openDir reads a folder in the installation's place.
func (p *place) openDir() (*session, error) {
	at, err := p.now()
	if err != nil {
		return nil, err
	}
	client, err := clientOfScan(filepath.Join(p.dir, scanFile), at)
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	return &session{installation: installation{Table: scanFile, Bucket: dirBucket}, dir: p.dir, ledger: dynamoledger.New(client, scanFile, dynamoledger.Clock(func() time.Time { return at }))}, nil
}

// find finds the ledger, and asks nobody where its table is named.
func (p *place) find(ctx context.Context) (*session, error) {
	if p.table == "" {
		return p.open(ctx)
	}
	o, err := p.configure(ctx)
	if err != nil {
		return nil, err
	}
	o.unread = errors.New("nobody asked")
	return o, o.use(p.table)
}

func (p *place) configure(ctx context.Context) (*session, error) {
	config, err := awsConfig(ctx, p.region)
	if errors.Is(err, errNoRegion) {
		return nil, fmt.Errorf("--region: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return &session{config: config}, nil
}

// use opens the table that is named, else the installation's.
func (o *session) use(table string) error {
	switch o.Table = cmp.Or(table, o.Table); {
	case o.Table == "" && o.unread == nil:
		return fmt.Errorf("parameter %s names no table: name it by --table or JOINER_TABLE", installationParameter)
	case o.Table == "":
		return fmt.Errorf("%s: %w", unreadText(o.unread, o.config.Region), o.unread)
	}
	o.ledger = dynamoledger.New(dynamodb.NewFromConfig(o.config), o.Table)
	return nil
}

// unreadText says why the installation could not be read, and what to do about it.
func unreadText(err error, region string) string {
	var dns *net.DNSError
	text := err.Error()
	switch {
	case errors.Is(err, errNoInstallation):
		return "find the installation: deploy the region's stack (joiner), correct --region, or name the ledger's DynamoDB table by --table or JOINER_TABLE"
	case strings.Contains(text, "get credentials"), strings.Contains(text, "refresh cached credentials"), strings.Contains(text, "get identity"):
		return "find AWS credentials: set AWS_PROFILE, or log in (aws sso login)"
	case errors.As(err, &dns):
		return fmt.Sprintf("find the host %s: check the network, and the region %s", dns.Name, region)
	}
	return "read the installation in " + region
}

// clusters are all that are attached, by name. Of those whose registrations cannot be read warn is called.
func (o *session) clusters(ctx context.Context, warn io.Writer) ([]model.Registration, error) {
	all, err := o.ledger.Clusters(ctx)
	if fault.CodeOf(err) == model.CodeUnreadCluster {
		_, err = fmt.Fprintf(warn, "warning: %v\n", err)
	}
	if err != nil {
		return nil, fmt.Errorf("list the clusters of table %s: %w", o.Table, err)
	}
	return all, nil
}

// attached is the one of all that has the name.
func (o *session) attached(all []model.Registration, cluster string) (model.Registration, error) {
	var names []string
	for _, reg := range all {
		if reg.Cluster == cluster {
			return reg, nil
		}
		names = append(names, reg.Cluster)
	}
	return model.Registration{}, fmt.Errorf("cluster %q is not attached; table %s has %s", cluster, o.Table, cmp.Or(strings.Join(names, ", "), "no cluster"))
}

// errNoInstallation says that no stack has written what readInstallation reads.
var errNoInstallation = errors.New("no installation")

func readInstallation(ctx context.Context, config aws.Config) (installation, error) {
	var in installation
	text, err := ssmswitch.New(ssm.NewFromConfig(config)).Parameter(ctx, installationParameter)
	if fault.Is(err, fault.NotFound) {
		return in, fmt.Errorf("%w: there is no parameter %s in %s", errNoInstallation, installationParameter, config.Region)
	}
	if err != nil {
		return in, err
	}
	in.text = text
	if err := json.Unmarshal([]byte(in.text), &in); err != nil {
		return in, fmt.Errorf("%w: parameter %s is not what the region's stack writes: %w", errNoInstallation, installationParameter, err)
	}
	return in, nil
}
