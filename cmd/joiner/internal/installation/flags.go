package installation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
)

// Flags say where an installation is: what every command that reaches the ledger needs. Empty fields are the default.
type Flags struct{ Table, Region, Dir string }

// Register adds the flags of table and region.
func (f *Flags) Register(command *cobra.Command) {
	f.RegisterTable(command)
	command.Flags().StringVar(&f.Region, "region", "",
		"the `REGION` of the installation and its clusters (default: as for every AWS tool)")
	cli.NoFiles(command, "region")
}

// RegisterTable is for commands with a --region of another meaning.
func (f *Flags) RegisterTable(command *cobra.Command) {
	command.Flags().StringVar(&f.Table, "table", os.Getenv("JOINER_TABLE"),
		"the ledger's DynamoDB `TABLE` (default: JOINER_TABLE, else the installation's)")
	cli.NoFiles(command, "table")
}

// RegisterDir is for commands that only read.
func (f *Flags) RegisterDir(command *cobra.Command) {
	command.Flags().StringVar(&f.Dir, "dir", "",
		"`FOLDER` with the bucket's objects and the table's items ("+scanFile+"), instead of the installation")
	cli.Must(command.MarkFlagDirname("dir"))
}

// Now is the time of what is read: the clock's, or when a folder's ledger was written.
func (f *Flags) Now() (time.Time, error) {
	if f.Dir == "" {
		return time.Now(), nil
	}
	info, err := os.Stat(filepath.Join(f.Dir, scanFile))
	if err != nil {
		return time.Time{},
			fmt.Errorf("--dir: the table's items, as \"aws dynamodb scan\" writes them, are needed in it as %s: %w",
				scanFile, err)
	}
	return info.ModTime(), nil
}

// ErrNoRegion says that nothing names a region.
var ErrNoRegion = errors.New("no AWS region is set, by --region, AWS_REGION or the profile")

// Config is the caller's own configuration for AWS; region empty = the one it says, else ErrNoRegion.
func Config(ctx context.Context, region string) (aws.Config, error) {
	// Errors say what went wrong; a line of the SDK's log beside them does not help.
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})}
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	config, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return config, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if config.Region == "" {
		return config, fmt.Errorf("--region: %w", ErrNoRegion)
	}
	return config, nil
}
