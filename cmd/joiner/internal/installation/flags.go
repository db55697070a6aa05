package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
)

// Flags say where an installation is: what every command that reaches the ledger needs. Empty fields are the default.
type Flags struct{ Table, Region, Profile, Dir string }

// Register adds the flags of table, region and profile.
func (f *Flags) Register(command *cobra.Command) {
	command.Flags().StringVar(&f.Table, "table", os.Getenv("JOINER_TABLE"),
		"the ledger's DynamoDB `TABLE` (default: JOINER_TABLE, else the installation's)")
	command.Flags().StringVar(&f.Region, "region", "",
		"the `REGION` of the installation and its clusters (default: as for every AWS tool)")
	cli.NoFiles(command, "table", "region")
	RegisterProfile(command, &f.Profile)
}

// RegisterProfile adds the flag of the profile.
func RegisterProfile(command *cobra.Command, profile *string) {
	command.Flags().StringVar(profile, "profile", "", "the `PROFILE` of your AWS configuration (default: AWS_PROFILE)")
	cli.Must(command.RegisterFlagCompletionFunc("profile",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return profiles(), cobra.ShellCompDirectiveNoFileComp
		}))
}

var profileHead = regexp.MustCompile(`(?m)^\[(?:profile )?([^\]\s]+)\]`)

// profiles are the names that the files of the AWS configuration have, sorted.
func profiles() []string {
	var out []string
	for _, file := range []string{
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), awsconfig.DefaultSharedConfigFilename()),
		cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), awsconfig.DefaultSharedCredentialsFilename()),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // there may be none
		}
		for _, found := range profileHead.FindAllSubmatch(text, -1) {
			out = append(out, string(found[1]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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

// Config is the caller's own configuration for AWS: region and profile empty = those it says. Without a region it is
// ErrNoRegion.
func Config(ctx context.Context, region, profile string) (aws.Config, error) {
	// Errors say what went wrong; a line of the SDK's log beside them does not help.
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})}
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(profile))
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
