package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
)

// installationParameter is where the region's stack says what it made.
const installationParameter = "/joiner/installation"

// installation is what the region's stack says of itself. The chart takes the same text as its value "installation".
type installation struct {
	Version    string            `json:"version"`
	Account    string            `json:"account"`
	Region     string            `json:"region"`
	Table      string            `json:"table"`
	Bucket     string            `json:"bucket"`
	Queues     map[string]string `json:"queues"`    // URLs by id: plan, catalog, interruption, disruption, notices
	Functions  map[string]string `json:"functions"` // ARNs by program
	Roles      map[string]string `json:"roles"`     // ARNs by program
	ExternalID string            `json:"externalID"`
	Stop       string            `json:"stop"` // name of the stop switch

	text string // as it was read
}

// place is where an installation is: what every command that reaches the ledger is told.
type place struct{ table, region string }

func (p *place) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&p.table, "table", os.Getenv("JOINER_TABLE"), "the ledger's DynamoDB `TABLE` (default: JOINER_TABLE, else what the parameter "+installationParameter+" says)")
	flags.StringVar(&p.region, "region", "", "the `REGION` of the installation and its clusters (default: as for every AWS tool)")
	for _, flag := range []string{"table", "region"} {
		must(command.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
	}
}

// opened is an installation as a command line reaches it.
type opened struct {
	installation
	config aws.Config
	ledger *dynamoledger.Ledger
	unread error // why the installation is not known beyond its table; nil = it is
}

// open finds the ledger. What the installation says of itself is not needed where the table is named.
func (p *place) open(ctx context.Context) (*opened, error) {
	config, err := awsConfig(ctx, p.region)
	if errors.Is(err, errNoRegion) {
		return nil, errors.New("--region: no AWS region is set, here or in AWS_REGION or in the profile")
	}
	if err != nil {
		return nil, err
	}
	o := &opened{config: config}
	o.installation, o.unread = readInstallation(ctx, config)
	if p.table != "" {
		o.Table = p.table
	}
	if o.Table == "" {
		return nil, fmt.Errorf("--table: the name of the ledger's DynamoDB table is needed, here or in JOINER_TABLE: %w", o.unread)
	}
	o.ledger = dynamoledger.New(dynamodb.NewFromConfig(config), o.Table)
	return o, nil
}

func readInstallation(ctx context.Context, config aws.Config) (installation, error) {
	var in installation
	out, err := ssm.NewFromConfig(config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(installationParameter)})
	var missing *types.ParameterNotFound
	if errors.As(err, &missing) {
		return in, fmt.Errorf("there is no parameter %s in %s: is the region's stack (joiner) deployed there?", installationParameter, config.Region)
	}
	if err != nil {
		return in, fmt.Errorf("read parameter %s: %w", installationParameter, err)
	}
	in.text = aws.ToString(out.Parameter.Value)
	if err := json.Unmarshal([]byte(in.text), &in); err != nil {
		return in, fmt.Errorf("parameter %s is not what the region's stack writes: %w", installationParameter, err)
	}
	return in, nil
}
