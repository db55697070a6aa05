package doctor

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
)

// cdkFile is where a checkout of the project keeps the options of its deployment.
const cdkFile = "infra/cdk/cdk.json"

var preflightLong = `Checks, before anything is deployed, the account, the region and the cluster for what would make a deployment or a
launch fail, and names the command that fixes it: CDK's bootstrap stack, whether the region is enabled, stacks that
failed, names that are taken, quotas of Lambda's concurrency and of vCPUs, the service-linked role for spot, the
policy of a KMS key, and of the cluster its version, authentication mode, endpoint access, add-on for Pod Identity,
subnets and security groups, the role of nodes, and remains of Karpenter.

It reads the options of the deployment from ` + cdkFile + `, if it exists, and -c KEY=VALUE as
cdk deploy takes them. After the deployment joiner doctor checks what still
matters of this.

It uses your own permissions and writes nothing. What you may not read is reported, and the other checks go on. In AWS
it needs
  ` + wrapped(preflight.Permissions, 118) + `
and in the cluster, through --kubeconfig or your access entry, listing
  ` + wrapped(preflight.ClusterPermissions, 118) + `.

Exit status: 0 if all checks pass; 1 if something needs attention; 2 if something would fail, or nothing can be
read.`

// wrapped joins words with commas into lines of at most so many characters.
func wrapped(words []string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range words {
		if i > 0 {
			out.WriteString(",")
			if column++; column+len(word) > width-4 {
				out.WriteString("\n  ")
				column = 0
			} else {
				out.WriteString(" ")
				column++
			}
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}

// preflightFlags are what the command line says.
type preflightFlags struct {
	region, profile, file string
	options               []string
	reach                 apiserver.Flags // how the API server is reached
	output                string
}

// NewPreflight returns the command preflight.
func NewPreflight() *cobra.Command {
	f := &preflightFlags{reach: apiserver.Flags{OwnRights: true}}
	command := &cobra.Command{
		Use:   "preflight CLUSTER",
		Short: "Check what would make a deployment fail, before it starts, and show how to fix it",
		Long:  preflightLong,
		Example: `  joiner preflight shop
  joiner preflight shop -c relay=true -c kmsKeyArn=arn:aws:kms:eu-central-1:111111111111:key/ID
  joiner preflight shop --kubeconfig ~/.kube/config -o json`,
		Args: cli.OneArg("CLUSTER"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	flags := command.Flags()
	flags.StringVar(&f.region, "region", "", "the `REGION` of the cluster (default: as for every AWS tool)")
	flags.StringArrayVarP(&f.options, "option", "c", nil, "an option of the deployment, `KEY=VALUE`; may be repeated")
	flags.StringVar(&f.file, "cdk-json", "",
		"`FILE` with the options of the deployment (default: "+cdkFile+", if it exists)")
	f.reach.Register(command)
	cli.OutputFlag(command, &f.output, "output format")
	cli.NoFiles(command, "region", "option")
	installation.RegisterProfile(command, &f.profile)
	cli.Must(command.MarkFlagFilename("cdk-json"))
	return command
}

func (f *preflightFlags) run(command *cobra.Command, cluster string) error {
	file := f.file
	if _, err := os.Stat(cdkFile); file == "" && err == nil {
		file = cdkFile
	}
	plan, err := preflight.Parse(cluster, file, f.options)
	if err != nil {
		return err
	}
	ctx, stop := cli.Context(command)
	defer stop()
	config, err := installation.Config(ctx, f.region, f.profile)
	if err != nil {
		return err
	}
	caller, err := account.New(ctx, config)
	if err != nil {
		return err
	}
	checker := preflight.New(caller, plan, (&apiserver.Clients{Flags: &f.reach, Config: config}).Open)
	return printFindings(command, check.Run(ctx, checker.Checks(), check.Settings{}), f.output)
}
